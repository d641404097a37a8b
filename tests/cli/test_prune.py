"""`skillopt clean --records` removes old recorded answers that no run, version or draft needs."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from skillopt.rollouts import Message, Reply, Rollout, Score, Status, Stream, Trajectory
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import encode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.notes import mark_unreported
from tests.fakes.projects import skillopt

SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Cleans.\n---\n# Rows\n"))
NOW = datetime.now(UTC)


def rollout(task: str, skill: str, stream: Stream) -> Rollout:
    trajectory = Trajectory((Message("user", "Clean it."),), "done")
    return Rollout(task, skill, stream.repeat(0), trajectory, Status.OK, Score(1.0, passed=True))


def add_run(root: Path, name: str, days_ago: int, *, state: str = "finished", skill: str = "rows") -> None:
    """Record a run that learnt from one rollout, compared by another, and asked one reply."""
    at = (NOW - timedelta(days=days_ago)).isoformat(timespec="seconds")
    with closing(Ledger.open(root, now=lambda: at)) as ledger:
        ledger.begin_run(RunRecord(name, skill, "", '[{}, "demo"]', "c", "s", encode_skill(SKILL), "", 0))
        pairs = [(f"{name}-{s.name}", rollout("t", f"text of {name}", s)) for s in (Stream.LEARNING, Stream.LOOP)]
        ledger.store_rollouts(name, pairs, "demo")
        ledger.store_replies(name, [(f"{name}-reply", Reply("edit"))], "model")
        if state != "running":
            ledger.end_run(name, state, "")


def left(root: Path) -> set[str]:
    with closing(sqlite3.connect(root / ".skillopt" / "ledger.db")) as database:
        return {key for (key,) in database.execute("SELECT key FROM calls")}


def prune(root: Path, *options: str) -> dict[str, Any]:
    ended = skillopt(root, "clean", "--records", "--json", *(options or ("--yes",)))
    assert ended.returncode == 0, ended.stderr
    return dict(json.loads(ended.stdout))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "skillopt.toml").write_text("", encoding="utf-8")
    add_run(tmp_path, "old", 400)
    add_run(tmp_path, "new", 10)
    return tmp_path


def test_prune_removes_what_an_old_run_learnt_from_and_keeps_what_gates_compared(root: Path) -> None:
    before = left(root)
    answers = prune(root)["answers"]
    assert (answers["rollouts"], answers["replies"]) == (1, 1)
    assert before - left(root) == {"old-LEARNING", "old-reply"}
    with closing(Ledger.open(root, read_only=True)) as ledger:
        assert {run.id for run in ledger.runs()} == {"old", "new"}


@pytest.mark.parametrize("state", ["running", "stopped", "failed", "not shown"])
def test_nothing_goes_of_a_skill_that_has_a_run_which_can_go_on_or_was_not_shown_yet(root: Path, state: str) -> None:
    if state == "not shown":
        mark_unreported(root, "old")
    else:
        add_run(root, "cut", 300, state=state)
    before = left(root)
    prune(root)
    assert left(root) == before


def test_old_records_are_removed_with_yes_alone_where_nobody_can_be_asked(root: Path) -> None:
    add_run(root, "newest", 0)
    before = left(root)
    assert skillopt(root, "clean", "--records", "--days", "5").returncode == 2
    assert left(root) == before
    assert "removed 2 rollouts" in skillopt(root, "clean", "--records", "--days", "5", "--yes").stdout
    assert len(left(root)) < len(before)
