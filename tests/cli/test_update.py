"""`update`: what was learned moves to a new upstream text, is ablated and measured there; nothing else is touched."""

from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.loop.events import VersionAccepted
from skillopt.versions.repository import Repository
from tests.fakes.drafts import accepted, run_events
from tests.fakes.projects import SKILL, as_json, git, make_project, skillopt

pytestmark = pytest.mark.process

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD; numeric dates are day first."
NEW = SKILL.replace("- Trim", "- Keep the order of columns.\n- Trim")


@pytest.fixture
def learned(folder: Path) -> Path:
    """Return the project after two versions, the second one with a rule more."""
    run_events(folder, version(EMAIL))
    run_events(folder, version(EMAIL, DATES), seed=1)
    return folder


def version(*rules: str) -> VersionAccepted:
    """Accept rules that cite tasks which there are."""
    event = accepted(*rules)
    changes = (replace(one, edit=replace(one.edit, tasks=("train0", "train1"))) for one in event.changes)
    return replace(event, changes=tuple(changes))


def upstream(folder: Path, text: str = NEW) -> str:
    place = folder.parent / "vendor"
    place.mkdir(exist_ok=True)
    (place / "SKILL.md").write_text(text, encoding="utf-8")
    return str(place)


def test_what_tasks_need_becomes_a_version_on_top_of_the_new_upstream(learned: Path) -> None:
    tip = git(learned, "rev-parse", "skillopt/rows")
    onto = upstream(learned, NEW + f"- {EMAIL}\n- Leave out notes.\n")
    found = as_json(learned, "update", "rows", "--onto", onto)
    assert [one["fate"] for one in found["edits"]] == ["already there", "kept"]
    assert found["edits"][1]["reason"].startswith("needed by ")
    version, start, *older = Repository.find(learned).versions("rows")
    assert (version.sha, start.parent, older[0].sha) == (found["version"], tip, tip)
    assert version.trailer("Upstream") == start.trailer("Upstream") == found["upstream"]
    assert (version.trailer("Grade"), version.trailer("Grade-Against")) == ("proven here", "old version")
    assert version.trailer("Val-After") == "16 of 16"
    text = git(learned, "show", "skillopt/rows:skills/rows/SKILL.md")
    assert (text.count(EMAIL), text.count(DATES), "Leave out notes" in text) == (1, 1, True)
    assert git(learned, "status", "--porcelain") == ""
    assert DATES in git(learned, "show", f"{tip}:skills/rows/SKILL.md")
    assert "nothing lost, shown here" in skillopt(learned, "log", "rows").stdout
    again = skillopt(learned, "update", "rows", "--onto", onto)
    assert (again.returncode, "already, or builds on it" in again.stderr) == (2, True)


def test_edits_move_on_from_one_upstream_to_the_next_and_no_text_is_left_of_what_is_not_needed(learned: Path) -> None:
    reworded = "- All e-mail addresses: write in lower case."
    found = as_json(learned, "update", "rows", "--onto", upstream(learned, NEW + reworded + "\n"))
    assert [(one["fate"], one["alike"]) for one in found["edits"]] == [("already there", reworded), ("kept", "")]
    assert EMAIL not in git(learned, "show", "skillopt/rows:skills/rows/SKILL.md")
    found = as_json(learned, "update", "rows", "--onto", upstream(learned, NEW + f"{reworded}\n- Leave out notes.\n"))
    assert [(one["fate"], one["commit"]) for one in found["edits"]] == [("kept", found["old"])]


def test_a_dry_run_runs_nothing(learned: Path) -> None:
    ended = skillopt(learned, "update", "rows", "--onto", upstream(learned), "--dry-run")
    assert [line.split()[2:] for line in ended.stdout.splitlines()[1:4:2]] == [["applied"], ["applied"]]
    assert "nothing was executed" in ended.stdout
    assert "recorded: 0 rollouts" in skillopt(learned, "status").stdout


def test_with_few_tasks_it_is_a_draft_that_a_person_can_take(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "few", tasks=4)
    run_events(folder, accepted(EMAIL, DATES, "Keep comments."))
    ended = skillopt(folder, "update", "rows", "--onto", upstream(folder))
    assert "kept: no task that it cites can tell" in ended.stdout
    assert "draft on branch skillopt-draft/rows: not shown to lose nothing: " in ended.stdout
    said = " ".join(git(folder, "log", "-1", "--format=%b", "skillopt-draft/rows").split())
    assert "too few tasks for a verdict; new upstream → this text: " in said
    assert "(0 new, " in skillopt(folder, "update", "rows", "--onto", upstream(folder)).stdout
    assert skillopt(folder, "take", "rows").returncode == 0
    assert git(folder, "log", "--format=%s", "main..skillopt/rows").splitlines() == [
        "rows: take the draft, new upstream, add 3 rules",
        "rows: the new upstream text",
        "rows: add 3 rules",
    ]
    assert skillopt(folder, "update", "rows", "--onto", upstream(folder)).returncode == 2


def test_a_new_upstream_in_the_work_tree_is_told_and_one_that_main_has_merges_without_conflict(learned: Path) -> None:
    assert "skillopt update" not in skillopt(learned, "status").stdout
    (learned / "skills" / "rows" / "SKILL.md").write_text(NEW, encoding="utf-8")
    assert "skillopt update rows --onto skills/rows keeps what was learned" in skillopt(learned, "status").stdout
    assert "skillopt update rows --onto skills/rows" in skillopt(learned, "optimize", "rows").stderr
    git(learned, "commit", "-qam", "New upstream")
    found = as_json(learned, "update", "rows", "--onto", "skills/rows")
    assert found["upstream"] == git(learned, "rev-parse", "main")
    git(learned, "merge", "--quiet", "--ff-only", "skillopt/rows")
    assert DATES in (learned / "skills" / "rows" / "SKILL.md").read_text(encoding="utf-8")
    assert "skillopt update" not in skillopt(learned, "status").stdout


def test_lines_that_people_wrote_on_the_branch_are_never_dropped_without_a_word(learned: Path) -> None:
    git(learned, "switch", "--quiet", "skillopt/rows")
    document = learned / "skills" / "rows" / "SKILL.md"
    document.write_text(document.read_text(encoding="utf-8") + "- By hand.\n", encoding="utf-8")
    git(learned, "commit", "-qam", "By hand")
    git(learned, "switch", "--quiet", "main")
    said = skillopt(learned, "update", "rows", "--onto", upstream(learned)).stdout
    assert "By hand: merge it by hand" in said
    assert "what people changed is not carried over\nused" in said
    assert "draft on branch skillopt-draft/rows" in said


def test_dropped_edits_stay_away(learned: Path) -> None:
    assert skillopt(learned, "decline", "rows", "3").returncode == 0
    found = as_json(learned, "update", "rows", "--onto", upstream(learned), "--dry-run")
    assert [one["edit"]["content"] for one in found["edits"]] == [f"- {EMAIL}"]


@pytest.mark.parametrize("command", ["decline", "rollback"])
def test_an_update_that_people_take_back_leaves_the_old_version_and_all_that_it_learned(
    learned: Path, command: str
) -> None:
    old = git(learned, "show", "skillopt/rows:skills/rows/SKILL.md")
    tip = git(learned, "rev-parse", "skillopt/rows")
    as_json(learned, "update", "rows", "--onto", upstream(learned, f"{NEW}- {EMAIL}\n"))
    assert skillopt(learned, command, "rows", *([tip] if command == "rollback" else [])).returncode == 0
    assert git(learned, "show", "skillopt/rows:skills/rows/SKILL.md") == old
    found = as_json(learned, "update", "rows", "--onto", upstream(learned), "--dry-run")
    assert {one["edit"]["content"]: one["fate"] for one in found["edits"]} == {
        f"- {rule}": "applied" for rule in (EMAIL, DATES)
    }
    assert found["lost"] == []


def test_new_rights_of_an_upstream_wait_for_a_person(learned: Path) -> None:
    onto = upstream(learned, NEW + "- Ask https://example.net/x first.\n")
    ended = skillopt(learned, "update", "rows", "--onto", onto, "--set", "review=always")
    assert "a person must look at it first: " in ended.stdout
    assert "example.net" in ended.stdout
    assert len(Repository.find(learned).versions("rows")) == 2


def test_a_cap_too_small_is_refused_and_one_that_ends_the_search_leaves_all_for_the_next_time(learned: Path) -> None:
    ended = skillopt(learned, "update", "rows", "--onto", upstream(learned), "--max-rollouts", "79")
    assert (ended.returncode, "at least 80 to update with 16 tasks" in ended.stderr) == (2, True)
    ended = skillopt(learned, "update", "rows", "--onto", upstream(learned), "--max-rollouts", "80")
    assert "nothing was published" in ended.stdout
    ended = skillopt(learned, "update", "rows", "--onto", upstream(learned))
    assert "on branch skillopt/rows" in ended.stdout


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SKILL, "already, or builds on it"),
        (NEW.replace("name: rows", "name: columns"), "found the name 'columns'"),
        (None, "expected a file 'SKILL.md'"),
        ("\udcff", "expected UTF-8"),
    ],
)
def test_texts_that_are_no_new_upstream_are_refused(learned: Path, text: str | None, said: str) -> None:
    place = Path(upstream(learned))
    if text is None:
        (place / "SKILL.md").unlink()
    else:
        (place / "SKILL.md").write_bytes(text.encode("utf-8", "surrogateescape"))
    ended = skillopt(learned, "update", "rows", "--onto", str(place))
    assert (ended.returncode, said in ended.stderr) == (2, True), ended.stderr


def test_a_skill_without_versions_and_a_place_that_is_nowhere_are_refused(folder: Path) -> None:
    assert "nothing was learned yet" in skillopt(folder, "update", "rows", "--onto", upstream(folder)).stderr
    run_events(folder, accepted(EMAIL))
    ended = skillopt(folder, "update", "rows", "--onto", "nowhere")
    assert (ended.returncode, "expected a skill folder or a revision" in ended.stderr) == (2, True)
