"""`skillopt gate` where the accepted text has a record, which a night made and a clone fetches by name."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.changes import GOOD, write
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import SKILL, git, skillopt

pytestmark = pytest.mark.process
REF = "refs/skillopt/record/rows"


@pytest.fixture
def recorded(tmp_path: Path) -> Nights:
    """Return a project whose text on main is good, and has a record on the remote."""
    nights = make_nights(tmp_path)
    write(nights.folder, GOOD)
    git(nights.folder, "commit", "--quiet", "-am", "A good text")
    git(nights.folder, "push", "--quiet", "origin", "main")
    row = nights.run("--record", "only")["rows"]
    assert row["recorded"].startswith("record: ")
    assert row["versions"] == 0
    return nights


def gated(folder: Path, *options: str) -> tuple[int, Any]:
    ended = skillopt(folder, "gate", "main", "--json", *options)
    (change,) = json.loads(ended.stdout)["changes"]
    return ended.returncode, change


def test_a_fresh_clone_judges_by_the_record_and_a_harm_rests_on_fresh_runs(recorded: Nights) -> None:
    clone = recorded.clone("other").folder
    git(clone, "checkout", "--quiet", "-b", "change")
    write(clone, GOOD + "\nMore words.\n")
    git(clone, "commit", "--quiet", "-am", "Harmless")
    code, harmless = gated(clone)
    assert (code, harmless["standing"]) == (0, "passed"), harmless["reason"]
    assert harmless["judged"]["verdict"] is None
    assert harmless["rollouts"] < 2 * harmless["tasks"]

    write(clone, GOOD.replace("- Write e-mail addresses in lower case.\n", ""))
    git(clone, "commit", "--quiet", "-am", "Harmful")
    code, harmful = gated(clone)
    assert (code, harmful["standing"]) == (1, "refused"), harmful
    assert harmful["judged"]["verdict"]["losses"] > 0


def test_a_margin_runs_both_texts_as_without_a_record(recorded: Nights) -> None:
    git(recorded.folder, "checkout", "--quiet", "-b", "change")
    write(recorded.folder, GOOD + "\nMore words.\n")
    git(recorded.folder, "commit", "--quiet", "-am", "Harmless")
    code, change = gated(recorded.folder, "--margin", "0.5")
    assert code in (0, 1)
    assert change["judged"]["watched"] is None


def test_a_record_is_made_once(recorded: Nights) -> None:
    again = recorded.run("--record", "only")["rows"]
    assert (again["rollouts"], again["recorded"]) == (0, "")


def test_a_record_that_the_target_does_not_keep_any_more_refuses_nothing(recorded: Nights) -> None:
    """The record says that a weak text passed all tasks; today it fails most, and so does what was changed in it."""
    folder = recorded.folder
    write(folder, SKILL)
    git(folder, "commit", "--quiet", "-am", "A weak text")
    git(folder, "push", "--quiet", "origin", "main")
    recorded.run("--record", "only")
    lines = [json.loads(line) for line in git(folder, "cat-file", "-p", REF).splitlines()]
    lines[-1]["tasks"] = {key: [8, 8] for key in lines[-1]["tasks"]}
    (folder / "lines").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    git(folder, "update-ref", REF, git(folder, "hash-object", "-w", "lines"))
    git(folder, "push", "--quiet", "--force", "origin", REF)
    clone = recorded.clone("other").folder
    git(clone, "checkout", "--quiet", "-b", "change")
    write(clone, SKILL + "\nMore words.\n")
    git(clone, "commit", "--quiet", "-am", "Harmless")
    code, change = gated(clone)
    assert (code, change["judged"]["watched"]["tasks"]) == (0, change["tasks"])
    assert change["standing"] in ("passed", "cannot tell")
