"""The files of the action and its workflows: which step and which job has a token, and what it may do."""

from tests.fakes.action_runner import ACTION, ROOT, read_yaml


def test_no_step_that_runs_models_has_a_token() -> None:
    steps = {step["name"]: step for step in read_yaml(ACTION)["runs"]["steps"]}
    for name in ("Run skillopt", "Train"):
        assert (steps[name]["env"]["GITHUB_TOKEN"], steps[name]["env"]["GH_TOKEN"]) == ("", "")
    assert [name for name, step in steps.items() if "inputs.github-token" in str(step)] == [
        "Ask the forge",
        "Offer",
        "Comment on the pull request",
        "Report the verdict as a check",
    ]


def test_the_job_that_trains_may_write_nothing_and_keeps_no_credentials() -> None:
    jobs = read_yaml(ROOT / ".github" / "workflows" / "skillopt-nightly.yml")["jobs"]
    assert jobs["train"]["permissions"] == {"contents": "read"}
    assert "write" not in str(jobs["check"]["permissions"])
    for job in jobs.values():
        checkout, use = job["steps"]
        assert checkout["with"]["persist-credentials"] is False
        assert (use["with"]["github-token"] == "") == (job is jobs["train"])
        assert ("ANTHROPIC_API_KEY" in use.get("env", {})) == (job is jobs["train"])


def test_comments_are_acted_on_for_people_who_may_write_and_nothing_of_the_change_is_checked_out() -> None:
    path = ROOT / ".github" / "workflows" / "skillopt-comment.yml"
    (job,) = read_yaml(path)["jobs"].values()
    assert "github.event.comment.author_association" in job["if"]
    assert "github.event.issue.pull_request" in job["if"]
    assert job["uses"] == "$/.github/workflows/skillopt-nightly.yml"
    assert "steps" not in job
