"""A trained project of which every text steers a terminal: skill, tasks, commits, recorded rollouts and events."""

import json
import re
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillopt.rollouts import Message, Rollout, ToolCall
from skillopt.storage.ledger import pack_answer, unpack_answer
from skillopt.storage.schema import row_digest
from tests.fakes.projects import FAST, git, make_project, train

_HOSTILE = (
    " \x1b]8;;http://evil.invalid\x07click\x1b]8;;\x07 \x1b[2J\x1b[31mred \x9b31m \x1b]0;title\x07 \x08\x08 \u202egnp"
)
STEERING = re.compile("\x1b\\]|\x1b\\[2J|\x1b\\[31mred|[\x07\x08\x80-\x9f\u202e]")
"""What is of the project: the commands themselves colour a difference, and draw progress."""

_SAID = {"rationale", "reason", "memory", "summary"}


def make_hostile(folder: Path) -> Path:
    """Make the project."""
    project = make_project(folder)
    suite, skill = project / "suites" / "rows.jsonl", project / "skills" / "rows" / "SKILL.md"
    tasks = [json.loads(line) for line in suite.read_text(encoding="utf-8").splitlines()]
    told = [{**task, "prompt": task["prompt"] + _HOSTILE, "tags": [_HOSTILE]} for task in tasks]
    suite.write_text("".join(json.dumps(task) + "\n" for task in told), encoding="utf-8")
    skill.write_text(skill.read_text(encoding="utf-8") + f"- Follow{_HOSTILE}.\n", encoding="utf-8")
    git(project, "-c", f"user.name=A{_HOSTILE}", "commit", "--quiet", "--all", "-m", f"Add{_HOSTILE}")
    train(project, *FAST)
    with closing(sqlite3.connect(project / ".skillopt" / "ledger.db")) as database:
        _steer_rollouts(database)
        _steer_events(database)
        database.commit()
    return project


def _steer_rollouts(database: sqlite3.Connection) -> None:
    rows = database.execute("SELECT key, payload FROM calls WHERE kind = 'rollout'").fetchall()
    for key, payload in rows:
        found = unpack_answer(payload, Rollout)
        said = Message("assistant", _HOSTILE, (ToolCall(f"Bash{_HOSTILE}", _HOSTILE, _HOSTILE),))
        trajectory = replace(found.trajectory, messages=(said,), answer=_HOSTILE, files_changed=(f"a{_HOSTILE}.csv",))
        score = found.score and replace(found.score, feedback=found.score.feedback + _HOSTILE)
        hostile = replace(found, trajectory=trajectory, score=score, reason=_HOSTILE)
        database.execute("UPDATE calls SET payload = ? WHERE key = ?", (pack_answer(hostile), key))


def _steer_events(database: sqlite3.Connection) -> None:
    for *key, kind, payload, at in database.execute("SELECT run, seq, kind, payload, at FROM events").fetchall():
        told = json.dumps(_steered(json.loads(payload)))
        digest = row_digest((*key, kind, told, at))
        database.execute("UPDATE events SET payload = ?, digest = ? WHERE run = ? AND seq = ?", (told, digest, *key))


def _steered(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        return [_steered(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {
        name: each + _HOSTILE if name in _SAID and isinstance(each, str) else _steered(each)
        for name, each in value.items()
    }
