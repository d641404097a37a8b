"""A skill that is trained on one demo target and used with `demo/hasty`, which reads its first sixteen sentences."""

from pathlib import Path
from typing import Any

import pytest

from skillopt.execution.runner import RecordedRunner
from tests.fakes.projects import as_json, git, make_project, skillopt

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


def crowd(project: Path) -> None:
    """Make a skill in which a sentence that is added moves a rule out of the sixteen that hasty reads."""
    first = FILLER[: FILLER.index("- Think of the reader, part 14")]
    rewrite(project, "- Trim spaces", f"{first}\n## Always\n\n- Lower-case every email address.\n- Trim spaces")


def trained(project: Path, *arguments: str) -> dict[str, Any]:
    return as_json(project, *TRAIN, *arguments)


def test_the_first_harness_is_trained_on_and_a_text_that_is_no_worse_with_the_other_becomes_the_same_version(
    project: Path, tmp_path: Path
) -> None:
    alone = trained(make_project(tmp_path / "alone"), *BOTH[:2])
    both = trained(project, *BOTH)
    assert (len(both["versions"]), both["headline"]) == (len(alone["versions"]), alone["headline"])
    trees = {git(one, "rev-parse", "skillopt/rows^{tree}") for one in (project, tmp_path / "alone")}
    assert len(trees) == 1


def test_a_text_that_is_worse_with_a_further_harness_stays_a_draft_that_needs_a_person(project: Path) -> None:
    crowd(project)
    ended = trained(project, *BOTH, "--set", "gate=sequential", "--set", "accept=here")
    assert (ended["versions"], ended["draft"]["commit"] != "") == ([], True)
    assert ended["draft"]["marks"][0].startswith("with demo/hasty: shown")
    assert ended["why_nothing"] == ended["draft"]["marks"][0]
    assert (ended["draft"]["grading"]["grade"], ended["draft_headline"]["passed_after"]) == ("proven here", 8)
    found = as_json(project, "evaluate", "rows", "--of", "worktree", "--of", "draft", *BOTH)["targets"]
    gains = [one["subjects"][1]["against_first"] for one in found]
    assert [(len(one["fixed"]), len(one["broken"])) for one in gains] == [(4, 0), (0, 4)]


@pytest.mark.process
def test_a_run_that_was_interrupted_while_the_further_harness_measured_has_a_draft_and_goes_on(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = RecordedRunner.rollouts

    def interrupted(self: RecordedRunner, requests: Any) -> Any:  # noqa: ANN401 - handed through
        if "hasty" in self._drivers.harness.identity:
            raise KeyboardInterrupt
        return real(self, requests)

    with monkeypatch.context() as patch:
        patch.setattr(RecordedRunner, "rollouts", interrupted)
        assert skillopt(project, *TRAIN, *BOTH).returncode == 130
    assert "skillopt/rows" not in git(project, "branch", "--format=%(refname:short)").splitlines()
    assert as_json(project, "log", "rows")["edits"]
    goes_on = trained(project, *BOTH)
    assert (goes_on["resumed"], bool(goes_on["versions"]), goes_on["draft"]) == (True, True, None)


def test_a_list_in_the_file_means_the_same_and_no_harness_stands_in_it_twice(project: Path) -> None:
    config = project / "skillopt.toml"
    config.write_text(config.read_text().replace('harness = "demo"', 'harness = ["demo", "demo/hasty"]'))
    assert len(as_json(project, "evaluate", "rows")["targets"]) == 2
    rows = as_json(project, "doctor")["checks"]
    assert [row["found"] for row in rows if row["name"] == "target rows"] == ["demo-1 seed=0", "demo-1 hasty seed=0"]
    ended = skillopt(project, "optimize", "rows", *BOTH, "--harness", "demo")
    assert (ended.returncode, "expected different harnesses" in ended.stderr) == (2, True)
