"""`update`: a new upstream text is merged with what was learned and put to the change gate; nothing else is touched."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skillopt.loop.events import VersionAccepted
from skillopt.versions.repository import Repository
from tests.fakes.drafts import accepted, run_events
from tests.fakes.projects import SKILL, git, skillopt

pytestmark = pytest.mark.process

EMAIL, DATES = "Write e-mail addresses in lower case.", "Write dates as YYYY-MM-DD; numeric dates are day first."
HARMFUL = "Write column headers in snake case, and rename the column `email` to `mail`."
NEW = SKILL.replace("# Rows\n", "# Rows\n\nKeep the order of columns.\n")


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


def updated(folder: Path, onto: str, *, expect: int = 0) -> dict[str, Any]:
    ended = skillopt(folder, "update", "rows", "--onto", onto, "--json")
    assert ended.returncode == expect, ended.stderr
    return dict(json.loads(ended.stdout))


def text_on(folder: Path, branch: str) -> str:
    return git(folder, "show", f"{branch}:skills/rows/SKILL.md")


def test_the_merged_text_is_measured_and_waits_as_a_draft_that_a_person_takes(learned: Path) -> None:
    tip = git(learned, "rev-parse", "skillopt/rows")
    found = updated(learned, upstream(learned))
    assert found["standing"] in {"passed", "cannot tell"}
    assert git(learned, "rev-parse", "skillopt-draft/rows") == found["draft"]
    text = text_on(learned, "skillopt-draft/rows")
    assert all(line in text for line in (EMAIL, DATES, "Keep the order of columns."))
    assert (git(learned, "rev-parse", "skillopt/rows"), git(learned, "status", "--porcelain")) == (tip, "")
    assert skillopt(learned, "take", "rows").returncode == 0
    newest, start, *older = Repository.find(learned).versions("rows")
    assert (start.parent, older[0].sha) == (tip, tip)
    assert newest.trailer("Upstream") == start.trailer("Upstream")


def test_where_both_changed_the_same_lines_nothing_is_run(learned: Path) -> None:
    onto = upstream(learned, SKILL + "- Leave out notes.\n")
    ended = skillopt(learned, "update", "rows", "--onto", onto)
    assert (ended.returncode, "SKILL.md" in ended.stderr) == (2, True)
    assert "recorded: 0 rollouts" in skillopt(learned, "status").stdout


def test_text_that_people_protected_is_not_changed_by_a_new_upstream(folder: Path) -> None:
    region = "<!-- skillopt:begin keep -->\nNever drop a total.\n<!-- skillopt:end keep -->\n"
    kept = SKILL.replace("# Rows\n", f"# Rows\n\n{region}\n")
    (folder / "skills" / "rows" / "SKILL.md").write_text(kept, encoding="utf-8")
    git(folder, "commit", "-qam", "Keep a rule")
    run_events(folder, replace(version(EMAIL), text=f"{kept}- {EMAIL}\n"))
    place = upstream(folder, kept.replace("Never drop", "Always drop"))

    ended = skillopt(folder, "update", "rows", "--onto", place)

    assert ended.returncode == 2
    assert "'keep'" in ended.stderr


def test_a_new_upstream_in_the_work_tree_is_told(learned: Path) -> None:
    (learned / "skills" / "rows" / "SKILL.md").write_text(NEW, encoding="utf-8")
    assert "update rows --onto skills/rows" in skillopt(learned, "status").stdout


def test_a_text_that_does_harm_is_refused_and_stays_a_draft(learned: Path) -> None:
    onto = upstream(learned, SKILL.replace("# Rows\n", f"# Rows\n\n{HARMFUL}\n"))
    found = updated(learned, onto, expect=1)
    assert found["standing"] == "refused"
    assert git(learned, "rev-parse", "skillopt-draft/rows") == found["draft"]


def test_what_is_no_new_upstream_and_a_skill_without_versions_are_refused(folder: Path) -> None:
    assert "nothing was learned yet" in skillopt(folder, "update", "rows", "--onto", upstream(folder)).stderr
    run_events(folder, accepted(EMAIL))
    for place, told in (("nowhere", "expected a skill folder"), (upstream(folder, SKILL), "already, or builds on it")):
        ended = skillopt(folder, "update", "rows", "--onto", place)
        assert (ended.returncode, told in ended.stderr) == (2, True), ended.stderr
