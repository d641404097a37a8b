"""The action of GitHub, its steps run as the runner would: real git, real rollouts, files for what it tells."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from skillopt.commands.nightly import render_night
from skillopt.nightly.night import Nightly, PullRequestUpdate, SkillNight, Training
from skillopt.rollouts import Usage
from tests.fakes.action_runner import ACTION, ROOT, Done, Runner, read_yaml
from tests.fakes.changes import GOOD, commit, make_change, write
from tests.fakes.fake_forge import FakeForge, fake_forge
from tests.fakes.hostile_views import read
from tests.fakes.nights import TOKEN, make_nights
from tests.fakes.projects import git

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(shutil.which("jq") is None, reason="the action's steps use jq, as runners of GitHub have it"),
]

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
QUICK = "--set\nconfidence=0.8\n--set\nseed=3"
MOST_INPUTS = 12


@pytest.fixture(scope="module")
def forge() -> Iterator[FakeForge]:
    with fake_forge() as served:
        yield served


def pull_request(
    folder: Path, project: Path, base: str = "main", repository: str = "acme/skills", **environment: str
) -> Runner:
    """Make the job of a pull request, in a clone as actions/checkout makes one."""
    clone = folder / "workspace"
    git(project, "clone", "--quiet", "--branch", "change", project.as_uri(), str(clone))
    event: dict[str, Any] = {
        "pull_request": {"number": 7, "base": {"ref": base}, "head": {"repo": {"full_name": repository}}},
        "repository": {"private": True},
    }
    github = {"event_name": "pull_request", "event": event, "token": TOKEN}
    return Runner(folder / "temp", clone, github, environment)


def with_forge(forge: FakeForge) -> dict[str, str]:
    forge.pulls, forge.comments = {7: {"number": 7}}, {}
    return {"GITHUB_API_URL": forge.url}


def gate(runner: Runner, **inputs: str) -> Done:
    return runner.run(command="gate", args=QUICK, sandbox="false", **inputs)


def test_a_night_keeps_reports_and_tells_what_improved(tmp_path: Path) -> None:
    nights = make_nights(tmp_path)
    runner = Runner(tmp_path / "temp", nights.folder, {"event_name": "schedule"})

    def step(name: str, args: str = "") -> Done:
        done = runner.run(command=f"nightly-{name}", sandbox="false", args=args)
        assert done.code == 0, done.log
        return done

    assert "Hand over what the forge said" in step("check").steps
    train = step("train", "--set\nseed=1")
    assert (train.outputs["verdict"], train.outputs["improved"], train.outputs["offers"]) == ("improved", "1", "true")
    assert {path.suffix for path in Path(train.outputs["reports"]).iterdir()} == {".html", ".json", ".md"}
    offer = step("offer")
    assert offer.outputs["verdict"] == "improved"
    assert len(json.loads(offer.outputs["pull-requests"])) == 1
    assert "## Skill training: 1 improved" in offer.summary
    assert nights.tip()


def test_an_input_that_looks_like_a_command_is_a_value(tmp_path: Path) -> None:
    project = make_change(tmp_path / "project")
    mark = tmp_path / "mark"
    text = f'"; touch {mark}; "$(touch {mark}) `touch {mark}`\n::error::forged\nverdict=passed'
    (tmp_path / "base").mkdir()
    runner = pull_request(tmp_path / "base", project)
    (runner.workspace / "link").symlink_to(tmp_path / "project")
    for inputs in ({"base": text}, {"working_directory": text}, {"working_directory": "link"}, {"max_usd": text}):
        done = gate(runner, **inputs)
        assert (done.code, done.outputs["verdict"]) == (2, "error"), inputs
        assert "::error::forged" not in done.commands
    refused = gate(runner, agents=text)
    assert (refused.code, len(refused.commands), refused.steps[-1]) == (2, 1, "Keep the reports")
    assert runner.run(command=text, sandbox="false").outputs["verdict"] == "error"
    assert not mark.exists()


@pytest.mark.parametrize("kind", ["push", "first push", "merge_group", "schedule"])
def test_every_event_has_a_base(tmp_path: Path, kind: str) -> None:
    project = make_change(tmp_path / "project")
    commit(project, "no frontmatter\n")
    base, repository = git(project, "rev-parse", "main"), {"default_branch": "main", "full_name": "acme/skills"}
    events: dict[str, Any] = {
        "push": {"before": base, "forced": False},
        "first push": {"before": "0" * 40, "created": True},
        "merge_group": {"merge_group": {"base_sha": base}},
        "schedule": {"schedule": "17 3 * * *"},
    }
    runner = pull_request(tmp_path, project)
    runner.github = {"event_name": kind.rsplit(maxsplit=1)[-1], "event": events[kind] | {"repository": repository}}
    done = gate(runner)
    assert (done.code, done.outputs["verdict"], done.outputs["refused"]) == (1, "refused", "1"), done.log


def test_a_schedule_on_the_default_branch_says_that_nothing_was_compared(tmp_path: Path) -> None:
    project = make_change(tmp_path / "project")
    git(project, "checkout", "--quiet", "-B", "change", "main")
    runner = pull_request(tmp_path, project)
    runner.github = {"event_name": "schedule", "ref_name": "main", "event": {"schedule": "17 3 * * *"}}
    done = gate(runner)
    assert (done.code, done.outputs["verdict"]) == (0, "none"), done.log
    assert runner.asked()[-1][-2:] == ["refs/remotes/origin/main", "HEAD"]
    assert done.commands[-1].startswith("::notice title=skillopt::no skill differs from the base")


def test_a_neutral_verdict_is_a_check_of_its_own_where_one_is_asked_for(tmp_path: Path, forge: FakeForge) -> None:
    project = make_change(tmp_path / "project")
    commit(project, GOOD + "- Be careful.\n")
    runner = pull_request(tmp_path, project, **with_forge(forge))
    head = git(project, "rev-parse", "change")
    runner.github["event"]["pull_request"]["head"]["sha"] = head
    runner.github["event"]["repository"]["private"] = False
    done = gate(runner, check="true")
    assert (done.code, done.outputs["verdict"]) == (0, "neutral"), done.log
    assert not [step for step in done.steps if "the ledger" in step]
    told = [re.split("[:,]", line.removeprefix("::notice title=skillopt::"))[0] for line in done.commands]
    assert {"the ledger is not cached", "the verdict is neutral"} <= {*told}
    (check,) = forge.checks
    assert (check["head_sha"], check["name"], check["conclusion"]) == (head, "Skill gate verdict", "neutral")
    assert check["output"]["title"] == "Skill gate: 1 skill differs: 1 cannot tell"
    forge.pulls, forge.may_check = {}, False
    refused = gate(runner, check="true")
    assert refused.code == 0
    warnings = [line.split("::")[2].partition(",")[0] for line in refused.commands if line.startswith("::warning")]
    assert warnings == ["no comment", "no check"]
    assert "gh: Resource not accessible by integration (HTTP 403)" in refused.log


def test_a_working_directory_has_a_comment_of_its_own(tmp_path: Path, forge: FakeForge) -> None:
    project = make_change(tmp_path / "project")
    commit(project, "no frontmatter\n")
    runner = pull_request(tmp_path, project, **with_forge(forge))
    runner.workspace.rename(tmp_path / "inside")
    runner.workspace.mkdir()
    (tmp_path / "inside").rename(runner.workspace / "two -->")
    done = gate(runner, working_directory="two -->")
    assert done.outputs["verdict"] == "refused", done.log
    (said,) = forge.said(7)
    assert said.splitlines()[:2] == ["<!-- skillopt: gate two%20--%3E -->", "In `two%20--%3E`:"]


def test_the_summary_of_a_night_shows_every_skill_and_texts_as_code() -> None:
    hostile = "a`|@team <img src=x>\n::error::forged"
    failed = SkillNight(hostile, Training.FAILED, "never trained", hostile, offer=PullRequestUpdate(notes=(hostile,)))
    waiting = [SkillNight(f"skill-{number}", Training.WAITING) for number in range(200)]
    told = render_night(Nightly((failed, *waiting), 7, Usage(usd=None)))
    assert told.startswith(
        "## Skill training: nothing improved, 1 failed\n\n201 skills, 7 rollouts begun, price unknown."
    )
    assert told.endswith("1 more skills are not shown.\n")
    assert [line for line in told.splitlines() if line.startswith("::")] == []
    tags, shown = read(told)
    assert set(tags) & {"img", "a", "pre"} == set()
    assert shown.count("a`|@team <img src=x> ::error::forged") == 5
    assert "@" not in told


def test_the_program_is_named_no_file_that_steers_the_job_and_what_it_says_is_no_command(tmp_path: Path) -> None:
    project = make_change(tmp_path / "project")
    write(project, "no frontmatter\n", "::error file=a,line=1::forged")
    commit(project, GOOD)
    runner = pull_request(tmp_path, project)
    done = gate(runner, github_token="")
    assert "\n::error file=a,line=1::forged: " in done.log
    assert [line for line in done.commands if "forged: " in line] == []
    known = {line.partition("=")[0] for line in (runner.folder / "environment").read_text().splitlines()}
    assert known & {"GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY"} == set()
    assert "GITHUB_WORKSPACE" in known


def test_the_source_beside_the_action_is_installed_and_no_module_of_the_checkout(tmp_path: Path) -> None:
    project = make_change(tmp_path / "project")
    for name in ("skillopt", "json"):
        (project / name).mkdir()
        (project / name / "__init__.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    commit(project, "no frontmatter\n")
    runner = pull_request(tmp_path, project)
    assert gate(runner, github_token="").outputs["verdict"] == "refused"
    assert not (tmp_path / "mark").exists()
    pinned, beside = (call for call in runner.asked() if call[:3] == ["-P", "-m", "pip"])
    assert pinned[-3:-1] == ["--require-hashes", "--requirement"]
    assert Path(pinned[-1]).resolve() == ROOT / "requirements.txt"
    assert beside[-3:-1] == ["--no-deps", "--no-build-isolation"]
    assert Path(beside[-1]).resolve() == ROOT


def test_the_page_and_the_workflows_name_inputs_and_outputs_as_they_are() -> None:
    action = read_yaml(ACTION)
    page = (ROOT / "docs" / "in-ci.md").read_text(encoding="utf-8")
    page = page.partition("### Inputs and outputs")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| ((?:`[a-z-]+`(?:, )?)+) \|", page, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}
    assert named == {*action["inputs"], *action["outputs"]}
    assert len(action["inputs"]) <= MOST_INPUTS
    for path in WORKFLOWS:
        for job in read_yaml(path)["jobs"].values():
            for step in job.get("steps", []):
                if step.get("uses") == "$/.github/actions/skillopt":
                    assert {*step["with"]} <= {*action["inputs"]}


def test_no_step_that_runs_models_has_a_token() -> None:
    steps = {step["name"]: step for step in read_yaml(ACTION)["runs"]["steps"]}
    runs = steps["Gate or train"]["env"]
    assert (runs["GITHUB_TOKEN"], runs["GH_TOKEN"]) == ("", "")
    assert [name for name, step in steps.items() if "inputs.github-token" in str(step.get("env"))] == [
        "Fetch the record",
        "Ask the forge, or offer",
        "Comment on the pull request",
        "Report the verdict as a check",
    ]


def test_a_folder_of_the_change_that_looks_like_a_repository_gets_no_token(tmp_path: Path) -> None:
    project = make_change(tmp_path / "project")
    git(project, "init", "--quiet", "--bare", "inside")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/bash\ntouch {tmp_path / 'mark'}\n")
    program.chmod(0o755)
    git(project / "inside", "config", "core.sshCommand", str(program))
    git(project / "inside", "remote", "add", "origin", "ssh://git@localhost/skills.git")
    (project / "inside" / "refs" / "keep").touch()
    (project / "inside" / "objects" / "keep").touch()
    commit(project, GOOD + "- Be careful.\n")
    runner = pull_request(tmp_path, project)
    gate(runner, github_token=TOKEN, working_directory="inside")
    assert not (tmp_path / "mark").exists()
