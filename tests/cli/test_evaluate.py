"""`evaluate` with several targets, one of them the demo that reads sixteen sentences, and of all skills."""

import json
from pathlib import Path
from typing import Any

import pytest

from skillopt.execution.runner import RecordedRunner
from tests.fakes.projects import SKILL, as_json, git, make_project, skillopt

pytestmark = pytest.mark.process

BOTH = ("--harness", "demo", "--harness", "demo/hasty")
TRAIN = ("optimize", "rows", "--set", "confidence=0.7", "--set", "seed=1")
FILLER = "".join(f"- Think of the reader, part {number}.\n" for number in range(16))


def rewrite(folder: Path, before: str, after: str) -> None:
    path = folder / "skills" / "rows" / "SKILL.md"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    git(folder, "commit", "-qam", "Change the skill")


def crowd(folder: Path) -> None:
    """Make a skill in which a sentence that is added moves a rule out of the sixteen that hasty reads."""
    first = FILLER[: FILLER.index("- Think of the reader, part 14")]
    rewrite(folder, "- Trim spaces", f"{first}\n## Always\n\n- Lower-case every email address.\n- Trim spaces")


def trained(folder: Path, *arguments: str) -> dict[str, Any]:
    return as_json(folder, *TRAIN, *arguments)


def test_a_text_that_is_no_worse_with_a_further_harness_becomes_the_same_version(folder: Path, tmp_path: Path) -> None:
    alone = trained(make_project(tmp_path / "alone"), *BOTH[:2])
    both = trained(folder, *BOTH)
    assert (len(both["versions"]), both["headline"]) == (len(alone["versions"]), alone["headline"])
    trees = {git(one, "rev-parse", "skillopt/rows^{tree}") for one in (folder, tmp_path / "alone")}
    assert len(trees) == 1


def test_a_text_that_is_worse_with_a_further_harness_stays_a_draft_that_needs_a_person(folder: Path) -> None:
    crowd(folder)
    ended = trained(folder, *BOTH, "--set", "gate=sequential", "--set", "accept=here")
    assert (ended["versions"], ended["draft"]["commit"] != "") == ([], True)
    assert ended["draft"]["marks"][0].startswith("with demo/hasty: shown")
    assert ended["why_nothing"] == ended["draft"]["marks"][0]
    assert (ended["draft"]["grading"]["grade"], ended["draft_headline"]["passed_after"]) == ("proven here", 7.75)
    found = as_json(folder, "evaluate", "rows", "--of", "worktree", "--of", "draft", *BOTH)["targets"]
    gains = [one["subjects"][1]["against_first"] for one in found]
    assert [(len(one["fixed"]), len(one["broken"])) for one in gains] == [(4, 0), (0, 4)]


@pytest.mark.process
def test_a_run_interrupted_in_a_further_harness_has_a_draft_and_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = RecordedRunner.rollouts

    def interrupted(self: RecordedRunner, requests: Any) -> Any:  # noqa: ANN401 - handed through
        if "hasty" in self._drivers.harness.identity:
            raise KeyboardInterrupt
        return real(self, requests)

    with monkeypatch.context() as patch:
        patch.setattr(RecordedRunner, "rollouts", interrupted)
        assert skillopt(folder, *TRAIN, *BOTH).returncode == 130
    assert "skillopt/rows" not in git(folder, "branch", "--format=%(refname:short)").splitlines()
    assert as_json(folder, "log", "rows")["edits"]
    goes_on = trained(folder, *BOTH)
    assert (goes_on["resumed"], bool(goes_on["versions"]), goes_on["draft"]) == (True, True, None)


def test_a_list_in_the_file_means_the_same_and_no_harness_stands_in_it_twice(folder: Path) -> None:
    config = folder / "skillopt.toml"
    config.write_text(config.read_text().replace('harness = "demo"', 'harness = ["demo", "demo/hasty"]'))
    assert len(as_json(folder, "evaluate", "rows")["targets"]) == 2
    rows = as_json(folder, "doctor")["checks"]
    assert [row["found"] for row in rows if row["name"] == "target rows"] == ["demo-1 seed=0", "demo-1 hasty seed=0"]
    ended = skillopt(folder, "optimize", "rows", *BOTH, "--harness", "demo")
    assert (ended.returncode, "expected different harnesses" in ended.stderr) == (2, True)


GOOD = SKILL + "- Write e-mail addresses in lower case.\n- Write dates in ISO form, YYYY-MM-DD.\n"
ALL = ("evaluate", "--all", "--of", "none")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a skill that its tasks need, one that says nothing, one without tasks, one whose suite breaks."""
    folder = make_project(tmp_path / "pröject", tasks=24)
    (folder / "skills" / "rows" / "SKILL.md").write_text(GOOD, encoding="utf-8")
    tasks = [json.loads(line) for line in (folder / "suites" / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    easy = [{**task, "files": [{"path": "input.csv", "text": task["verifier"]["files"][0]["text"]}]} for task in tasks]
    for name, suite in (("polite", "\n".join(map(json.dumps, easy)).encode()), ("new", b""), ("broken", b"{]\n")):
        skill = folder / "skills" / name
        skill.mkdir()
        text = f"---\nname: {name}\ndescription: Höflich.\n---\n# Notes\n\n- Be kind.\n"
        (skill / "SKILL.md").write_text(text, encoding="utf-8")
        if suite:
            (folder / "suites" / f"{name}.jsonl").write_bytes(suite)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add skills")
    return folder


def found(folder: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    ended = skillopt(folder, *ALL, "-q", "--json", *arguments)
    assert ended.returncode == 0, ended.stderr
    return {row["skill"]: row for row in json.loads(ended.stdout)}


def test_every_skill_has_an_effect_and_a_reason_and_a_second_look_costs_nothing(project: Path) -> None:
    rows = found(project)
    effects = {name: row["effect"] for name, row in rows.items()}
    assert effects == {"rows": "helps", "polite": "idle", "new": "cannot tell", "broken": "cannot tell"}
    assert "24 of 24" in rows["polite"]["passed"]
    assert "10%" in rows["polite"]["reason"]
    assert "skillopt write-tasks" in rows["new"]["reason"]
    assert "broken.jsonl" in rows["broken"]["reason"]
    assert found(project, "--max-rollouts", "1") == rows


def test_a_cap_that_ends_it_leaves_what_was_measured(project: Path) -> None:
    assert skillopt(project, *ALL, "--max-rollouts", "1").returncode == 3
    effects = {name: row for name, row in found(project, "--max-rollouts", "60").items() if row["passed"]}
    assert len(effects) == 1


@pytest.mark.parametrize("words", [("evaluate", "--all"), (*ALL, "--of", "main"), (*ALL, "rows")])
def test_it_is_about_all_skills_against_none(project: Path, words: tuple[str, ...]) -> None:
    assert skillopt(project, *words).returncode == 2
