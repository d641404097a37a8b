"""One text for two demo targets, of which `demo/hasty` reads only the first sixteen sentences of a skill."""

from pathlib import Path
from typing import Any

import pytest

from skillopt.execution.runner import RecordedRunner
from tests.fakes.projects import as_json, git, make_project, recorded_view, skillopt

BOTH = ("--harness", "demo", "--harness", "demo/hasty")
TRAIN = ("optimize", "rows", "--set", "confidence=0.7", "--set", "seed=1")
FILLER = "".join(f"- Think of the reader, part {number}.\n" for number in range(16))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


def rewrite(project: Path, before: str, after: str) -> None:
    path = project / "skills" / "rows" / "SKILL.md"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    git(project, "commit", "-qam", "Change the skill")


def trained(project: Path, *arguments: str) -> dict[str, Any]:
    return as_json(project, *TRAIN, *arguments)


def test_a_text_that_serves_both_becomes_a_version_and_report_and_commit_say_what_each_did(project: Path) -> None:
    assert trained(project, *BOTH)["versions"]
    message = git(project, "log", "-1", "--format=%B", "skillopt/rows")
    assert "Harness: demo-1 seed=1 | demo-1 hasty seed=1" in message
    assert "Tasks passed by target: demo: " in message.replace("\n", " ")
    view = recorded_view(project)
    assert {row.task.partition("@")[2] for row in view.heat} == {"demo", "demo/hasty"}
    page = skillopt(project, "report", "rows", "-f", "markdown").stdout
    header = next(line for line in page.splitlines() if "better / equal / worse" in line)
    assert header.endswith("| confidence | <code>demo</code> | <code>demo&#x2f;hasty</code> |")
    assert [one.tasks for one in view.gates[-1].verdict.targets] == [8, 8]


def test_a_text_that_takes_a_rule_from_one_target_is_refused_though_the_other_gains(project: Path) -> None:
    """A sentence that is added moves the rule that trims spaces out of the sixteen that hasty reads."""
    first, needed = FILLER[: FILLER.index("- Think of the reader, part 14")], "- Lower-case every email address.\n"
    rewrite(project, "- Trim spaces", f"{first}\n## Always\n\n{needed}- Trim spaces")
    assert trained(project, "--harness", "demo")["versions"]
    assert not trained(project, *BOTH, "--start", "worktree")["versions"]
    found = as_json(project, "evaluate", "rows", "--of", "worktree", "--of", "skillopt/rows", *BOTH)["targets"]
    gains = [one["subjects"][1]["against_first"] for one in found]
    assert [(len(one["fixed"]), len(one["broken"])) for one in gains] == [(4, 0), (0, 4)]


@pytest.mark.process
def test_a_run_for_two_targets_that_was_interrupted_goes_on_and_ends_as_one_that_was_not(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = trained(make_project(tmp_path / "whole"), *BOTH)
    real, batches = RecordedRunner.rollouts, iter(range(100))

    def interrupted(self: RecordedRunner, requests: Any) -> Any:  # noqa: ANN401 - handed through
        if next(batches) == 3:
            raise KeyboardInterrupt
        return real(self, requests)

    with monkeypatch.context() as patch:
        patch.setattr(RecordedRunner, "rollouts", interrupted)
        assert skillopt(project, *TRAIN, *BOTH).returncode == 130
    goes_on = trained(project, *BOTH)
    assert (goes_on["resumed"], goes_on["rollouts"]) == (True, whole["rollouts"])
    assert 0 < goes_on["paid_rollouts"] < whole["paid_rollouts"]
    assert len({git(one, "rev-parse", "skillopt/rows^{tree}") for one in (project, tmp_path / "whole")}) == 1


def test_evaluate_prints_versions_by_targets_and_takes_up_what_each_target_did_alone(project: Path) -> None:
    rewrite(project, "## Values\n", f"## Values\n\n{FILLER}")
    alone = as_json(project, "evaluate", "rows", "--of", "worktree", "--harness", "demo")
    asked = ("evaluate", "rows", "--of", "none", "--of", "worktree", *BOTH)
    found = as_json(project, *asked)
    assert [one["target"] for one in found["targets"]] == ["demo", "demo/hasty"]
    assert found["paid_rollouts"] == 24, "eight of 32 were recorded for demo alone"
    assert found["targets"][0]["subjects"][1]["tally"] == alone["subjects"][0]["tally"]
    head, *rows = skillopt(project, *asked).stdout.splitlines()[1:4]
    assert head.split() == ["tasks", "passed", "demo", "demo/hasty"]
    assert [(row.split()[0], row.count("of 8 (")) for row in rows] == [("none", 2), ("worktree", 2)]


def test_a_list_in_the_file_means_the_same_and_no_harness_stands_in_it_twice(project: Path) -> None:
    config = project / "skillopt.toml"
    config.write_text(config.read_text().replace('harness = "demo"', 'harness = ["demo", "demo/hasty"]'))
    assert len(as_json(project, "evaluate", "rows")["targets"]) == 2
    rows = as_json(project, "doctor")["checks"]
    assert [row["found"] for row in rows if row["name"] == "target rows"] == ["demo-1 seed=0", "demo-1 hasty seed=0"]
    git(project, "commit", "-qam", "Two targets")
    rewrite(project, "- Trim", "- Also trim")
    assert skillopt(project, "gate", "HEAD~1", "--quiet").returncode == 0


def test_estimate_counts_the_rollouts_of_each_target_and_tasks_once(project: Path) -> None:
    one, two = (as_json(project, "estimate", "rows", *names) for names in (BOTH[:2], BOTH))
    assert two["likely"]["rollouts"]["median"] > 1.5 * one["likely"]["rollouts"]["median"]
    assert two["tasks"] == one["tasks"]
    ended = skillopt(project, "optimize", "rows", *BOTH, "--harness", "demo")
    assert (ended.returncode, "expected different harnesses" in ended.stderr) == (2, True)
