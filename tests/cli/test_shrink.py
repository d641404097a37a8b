"""`skillopt shrink`: what no task needs goes, what was kept is named with its tasks, and nothing is lost unsaid."""

import re
from pathlib import Path

import pytest

from skillopt.runs.history import needed_lines
from skillopt.versions.repository import Repository
from tests.fakes.projects import as_json, git, make_project, skillopt

pytestmark = pytest.mark.process

HEAD = (
    "---\nname: rows\ndescription: Cleans small vendor tables. Use for any table for the house format.\n---\n# Rows\n\n"
)
NEEDED = [
    "- Trim spaces around every value.",
    "- Write dates as YYYY-MM-DD.",
    "- Write e-mail addresses in lower case.",
]
BLOAT = [f"- Remember that care pays off, reason {number}." for number in range(9)]


def project(folder: Path, tasks: int = 12) -> Path:
    root = make_project(folder / "project", tasks)
    text = HEAD + "## Values\n\n" + "\n".join([*BLOAT[:5], *NEEDED, *BLOAT[5:]]) + "\n"
    (root / "skills/rows/SKILL.md").write_text(text)
    git(root, "commit", "-qam", "A long skill")
    return root


def text_of(root: Path, branch: str = "skillopt/rows") -> str:
    return git(root, "show", f"{branch}:skills/rows/SKILL.md")


def test_bloat_goes_as_a_version_that_names_the_tasks_which_need_the_rest(tmp_path: Path) -> None:
    root = project(tmp_path)
    found = as_json(root, "shrink", "rows")
    assert found["version"] == git(root, "rev-parse", "skillopt/rows")
    assert text_of(root) == HEAD + "## Values\n\n" + "\n".join(NEEDED)
    assert found["headline"]["tasks"] == 24
    assert re.search(r"(10|15|20) points is ruled out", found["reason"])
    kept = {one["text"]: one["tasks"] for one in found["units"] if one["kept"]}
    assert kept.keys() == {*NEEDED}
    assert found["tokens_after"] < 0.6 * found["tokens_before"]
    needed = needed_lines(Repository.find(root), "rows")
    assert {text: list(needed[text]) for text in NEEDED} == kept
    assert as_json(root, "suite", "check", "rows")["noticed"] == [1, 1]
    report = skillopt(root, "report", "rows", "--format", "markdown").stdout
    assert ("## Text and the tasks" in report, "skillopt shrink rows" in report) == (True, True)


def test_the_same_command_again_runs_nothing_and_comes_to_the_same(tmp_path: Path) -> None:
    root = project(tmp_path)
    first = as_json(root, "shrink", "rows", "--start", "worktree")
    tip = git(root, "rev-parse", "skillopt/rows")
    git(root, "update-ref", "-d", "refs/heads/skillopt/rows")
    again = as_json(root, "shrink", "rows", "--start", "worktree")
    assert (again["paid_rollouts"], again["units"]) == (0, first["units"])
    assert git(root, "rev-parse", "skillopt/rows") == tip


def test_a_search_that_a_cap_ends_is_paid_for_once(tmp_path: Path) -> None:
    root = project(tmp_path)
    capped = as_json(root, "shrink", "rows", "--max-rollouts", "96")
    assert (bool(capped["version"]), "max_rollouts 96" in capped["reason"]) == (False, True)
    whole = as_json(root, "shrink", "rows")
    assert whole["paid_rollouts"] == whole["rollouts"] - capped["paid_rollouts"]


def test_a_dry_run_says_what_can_be_shown_and_runs_nothing(tmp_path: Path) -> None:
    root = project(tmp_path)
    said = skillopt(root, "shrink", "rows", "--dry-run").stdout
    assert "12 units of text" in said
    assert "15% of tasks passed" in said
    assert max(map(len, said.splitlines())) <= 160
    assert not (root / ".skillopt" / "ledger.db").exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--max-rollouts", "95"], "expected max_rollouts of at least 96 to shrink with 24 tasks"),
        (["--max-rollouts", "0"], "leave it out for no cap"),
        (["--sections"], "No such option"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_is_run(tmp_path: Path, arguments: list[str], told: str) -> None:
    root = project(tmp_path)
    ended = skillopt(root, "shrink", "rows", *arguments)
    assert ended.returncode == 2
    assert told in ended.stderr
    assert not (root / ".skillopt" / "ledger.db").exists()


def test_a_skill_without_text_and_bytes_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    root = project(tmp_path)
    for text in (HEAD.replace("# Rows\n\n", "").encode(), HEAD.encode() + b"- Caf\xe9.\n"):
        (root / "skills/rows/SKILL.md").write_bytes(text)
        assert skillopt(root, "shrink", "rows").returncode == 2
