"""A ledger of up to 10^6 rollouts in seconds: some are recorded as the product does, the rest are copies of them.

The copies have keys, texts, tasks, runs and times of their own, and payloads of those that were recorded, so sizes and
indexes are those of a real ledger.
"""

import json
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Final

from pydantic import TypeAdapter

from skillopt.execution.recording import config_of
from skillopt.gate.comparison import Outcome, Tally, Verdict
from skillopt.loop.events import BaselineMeasured, Event, RunStarted, TrainMeasured, VersionAccepted, encode_event
from skillopt.rollouts import Message, Rollout, Score, Status, Stream, ToolCall, Trajectory, Usage
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import encode_skill
from skillopt.storage.ledger import Ledger, RunRecord

__all__ = ["DAYS", "IDENTITY", "TASKS", "Filled", "fill_ledger", "run_id", "text_of"]

TASKS: Final = 100
DAYS: Final = 30
"""From one run of a skill to the next."""

IDENTITY: Final = "demo"
_SAMPLES: Final = 2_000
_BATCH: Final = 500
_HALF: Final = 0.5
_CALL: Final = "INSERT INTO calls VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_RUN: Final = "INSERT INTO runs VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
_INDEXES: Final = "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'calls' AND sql IS NOT NULL"


@dataclass(frozen=True, slots=True)
class Filled:
    """What was recorded.

    Args:
        alone: Mean bytes of a rollout's record, compressed by itself.
        stored: The same, as it is stored.
        size: Bytes of the ledger.
    """

    alone: float
    stored: float
    size: int


def run_id(skill: int, version: int) -> str:
    """Give the id of the run that made a version of a skill."""
    return f"{skill:06x}{version:06x}"


def text_of(skill: int, version: int) -> Skill:
    """Give a version of a skill."""
    name = f"skill-{skill:04}"
    rules = "- Trim the spaces around every value.\n" * (version + 1)
    return Skill(name, SkillDocument(f"---\nname: {name}\ndescription: Cleans.\n---\n# Rules\n\n{rules}"))


def fill_ledger(root: Path, skills: int, versions: int, rollouts: int) -> Filled:
    """Record one run for each version of each skill, every second of them accepted, and the rollouts of each.

    Args:
        root: The project.
        skills: How many, ≥ 1.
        versions: Of each, ≥ 1.
        rollouts: In all; a multiple of skills times versions.
    """
    with closing(Ledger.open(root)) as ledger:
        made = [_rollout(Random(number), number) for number in range(min(_SAMPLES, rollouts))]
        for start in range(0, len(made), _BATCH):
            pairs = [(f"{number:064x}", one) for number, one in enumerate(made[start : start + _BATCH], start)]
            ledger.store_rollouts(run_id(0, 0), pairs, IDENTITY)
        path = ledger.path
    adapter = TypeAdapter(Rollout)
    alone = sum(len(zlib.compress(adapter.dump_json(one), 6)) for one in made) / len(made)
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        payloads = [payload for (payload,) in database.execute("SELECT payload FROM calls")]
        database.executescript("PRAGMA synchronous = OFF; PRAGMA cache_size = -1000000; DELETE FROM calls; BEGIN")
        indexes = database.execute(_INDEXES).fetchall()
        for name, _ in indexes:
            database.execute(f"DROP INDEX {name}")
        for skill in range(skills):
            _add_runs(database, skill, versions)
        database.executemany(_CALL, _calls((skills, versions, rollouts), made, payloads))
        for _, sql in indexes:
            database.execute(sql)
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return Filled(alone, sum(map(len, payloads)) / len(payloads), path.stat().st_size)


def _add_runs(database: sqlite3.Connection, skill: int, versions: int) -> None:
    config, name = config_of(Settings(), (IDENTITY, "model")), f"skill-{skill:04}"
    for version in range(versions):
        at, start = _at(versions, version), text_of(skill, version)
        record = RunRecord(run_id(skill, version), name, f"skills/{name}", config, "c", "s", encode_skill(start), "", 0)
        values = [getattr(record, field) for field in RunRecord.__dataclass_fields__][:-4]
        database.execute(_RUN, [*values, "finished", "", at, at])
        events = [encode_event(one) for one in _events(skill, version)]
        rows = [(record.id, seq, kind, payload, at) for seq, (kind, payload) in enumerate(events)]
        database.executemany("INSERT INTO events VALUES (?,?,?,?,?)", rows)


def _events(skill: int, version: int) -> Iterator[Event]:
    start = text_of(skill, version)
    yield RunStarted(start.name, start.digest, "tasks", "s", 8)
    yield BaselineMeasured(Tally(0.7, 0.25, 8, 0), 0.05, 0.1)
    yield TrainMeasured(1, Tally(0.7, 0.25, 8, 0))
    if version % 2 == 0:
        verdict = Verdict(Outcome.ACCEPT, "better", 0.5, 0.75, 0.97, 5, 3, 1, ("task-000",), (), 1)
        yield VersionAccepted(1, 1, 1, "edits", text_of(skill, version + 1).text, (), verdict, TASKS)


def _calls(
    size: tuple[int, int, int], made: list[Rollout], payloads: list[bytes]
) -> Iterator[tuple[str | int | float | bytes | None, ...]]:
    """Yield the rows in the order of their keys, which says nothing of what they are."""
    skills, versions, rollouts = size
    random = Random(23)
    keys = sorted(f"{random.getrandbits(256):064x}" for _ in range(rollouts))
    cells = list(range(rollouts))
    random.shuffle(cells)
    times = [_at(versions, version) for version in range(versions)]
    # Every second rollout of a run is of its draft, which only a run that brings a version refers to.
    texts = [
        [(text_of(skill, version).digest, text_of(skill, versions + version + 1).digest) for version in range(versions)]
        for skill in range(skills)
    ]
    for key, cell in zip(keys, cells, strict=True):
        rest, skill = divmod(cell, skills)
        number, version = divmod(rest, versions)
        one = made[cell % len(made)]
        passed = one.score is not None and one.score.passed
        repeat, task = divmod(number + version * (rollouts // (skills * versions)), TASKS)
        text = texts[skill][version][number % 2]
        of_run = run_id(skill, version), f"task-{task:03}", text, Stream.LEARNING.repeat(repeat)
        usage = one.trajectory.usage
        cost = usage.input_tokens, usage.output_tokens, usage.usd, times[version]
        row = (*of_run, 0.5, int(passed), *cost, payloads[cell % len(payloads)])
        yield (key, "rollout", *row, IDENTITY, 0, 0, 0.0)


def _at(versions: int, version: int) -> str:
    return (datetime.now(UTC) - timedelta(days=DAYS * (versions - 1 - version))).isoformat(timespec="seconds")


def _rollout(random: Random, number: int) -> Rollout:
    rows = "".join(
        f"shp-{random.randrange(1000)},{random.randrange(1, 29)} Aug 2026,{random.choice(('GLS', 'DHL', 'UPS'))},"
        f"{random.random() * 99:.2f},{random.random() * 999:.2f}\n"
        for _ in range(12)
    )
    read = ToolCall(
        "read_file", json.dumps({"path": "input.csv"}), f"shipment_id,shipped_on,carrier,weight,cost\n{rows}"
    )
    wrote = ToolCall("write_file", json.dumps({"path": "output.csv", "text": rows.upper()}), "done")
    asked = "We need this shipment log in house format before it can be imported. Read input.csv, write output.csv."
    messages = (Message("user", asked), Message("assistant", "I read it first.", (read, wrote)))
    said = f'output.csv row {random.randrange(12)} column "cost": expected "1.00", found "{random.random():.2f}"'
    score = Score(0.5, passed=random.random() < _HALF, feedback=said)
    trajectory = Trajectory(messages, "done", (), Status.OK, "", Usage(3, 2_000, 300, 0.004))
    return Rollout(f"task-{number % TASKS:03}", "", number // TASKS, trajectory, Status.OK, score)
