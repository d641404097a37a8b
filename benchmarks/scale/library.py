"""How long the commands of a large library take, and what a recorded rollout takes on disk.

The repository is generated (`tools.skill_repository`), its ledger filled with rollouts of about 3 kB of JSON, as the
demo's are, of 100 tasks a skill, by the code that records them. Each command is its own process and runs twice, so what
it prints is read from a warm file cache; the second is taken.
"""

import json
import os
import subprocess
import sys
import time
import zlib
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from pydantic import TypeAdapter

from skillopt.execution.recording import config_of
from skillopt.rollouts import Message, Rollout, Score, Status, ToolCall, Trajectory, Usage
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import encode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from tools.skill_repository import make_many

__all__ = ["Library", "markdown", "measure"]

_LIMIT: Final = 2.0
_TASKS: Final = 100
_COMMANDS: Final = {
    "--version, for comparison: the start alone": ("--version",),
    "status": ("status", "--json"),
    "log of one skill": ("log", "skill-0001", "--json"),
    "report of one skill": ("report", "skill-0001"),
    "export to JSON lines (all rollouts)": ("export", "all.jsonl"),
    "prune --dry-run (all rollouts)": ("prune", "--dry-run", "--days", "0"),
}
_WHOLE: Final = ("export", "prune")
"""What reads every rollout, and so has no limit."""


@dataclass(frozen=True, slots=True)
class Library:
    """What was measured.

    Args:
        skills: Of the repository.
        versions: Accepted ones of each.
        rollouts: In the ledger.
        seconds: Of each command, its start included.
        alone: Mean bytes of a rollout's record, compressed by itself.
        stored: The same, as it is stored.
        ledger: Bytes of the ledger a rollout.
    """

    skills: int
    versions: int
    rollouts: int
    seconds: Mapping[str, float]
    alone: float
    stored: float
    ledger: float


def measure(quick: bool) -> Library:  # noqa: FBT001 - as every measurement of this package
    """Measure the commands in a generated library.

    Args:
        quick: 20 skills of 2 versions and 400 rollouts in place of 1,000 of 20 and 100,000.
    """
    skills, versions, rollouts = (20, 2, 400) if quick else (1_000, 20, 100_000)
    with TemporaryDirectory() as scratch:
        root = make_many(Path(scratch) / "library", skills, versions, 1)
        alone, stored = _fill(root, skills, rollouts)
        ledger = (root / ".skillopt" / "ledger.db").stat().st_size
        seconds = {name: _seconds(root, command) for name, command in _COMMANDS.items()}
    return Library(skills, versions, rollouts, seconds, alone, stored, ledger / rollouts)


def markdown(result: Library) -> str:
    """Write what was measured as Markdown."""
    size = f"{result.skills:,} skills of {result.versions} versions, a ledger of {result.rollouts:,} rollouts"
    lines = [f"{size}. The limit is {_LIMIT:.0f} s.", "", "| command | seconds | within the limit |", "|---|---|---|"]
    for name, seconds in result.seconds.items():
        kept = "no limit: reads everything" if name.startswith(_WHOLE) else "yes" if seconds <= _LIMIT else "**no**"
        lines.append(f"| {name} | {seconds:.2f} | {kept} |")
    lines += [
        "",
        (
            f"A rollout's record takes {result.stored:.0f} bytes compressed against the first ones of its target, and "
            f"{result.alone:.0f} compressed by itself. The ledger takes {result.ledger:.0f} bytes a rollout, with its "
            "indexes."
        ),
    ]
    return "\n".join(lines)


def _fill(root: Path, skills: int, rollouts: int) -> tuple[float, float]:
    """Record rollouts; give the mean bytes of a record compressed by itself, and as it is stored."""
    alone, adapter = 0, TypeAdapter(Rollout)
    with closing(Ledger.open(root)) as ledger:
        share = rollouts // skills
        for number in range(skills):
            name = f"skill-{number:04}"
            skill = Skill(name, SkillDocument(f"---\nname: {name}\ndescription: Cleans.\n---\n# Rules\n"))
            run = f"{number:012x}"
            ledger.begin_run(
                RunRecord(
                    run,
                    name,
                    f"skills/{name}",
                    config_of(Settings(), ("demo", "model")),
                    "c",
                    "s",
                    encode_skill(skill),
                    "",
                    0,
                )
            )
            made = [_rollout(Random(f"{number}-{one}"), skill.digest, one) for one in range(share)]
            ledger.store_rollouts(run, [(f"{number}-{at}", one) for at, one in enumerate(made)], "demo")
            ledger.end_run(run, "finished", "")
            alone += sum(len(zlib.compress(adapter.dump_json(one), 1)) for one in made)
        database = ledger._database  # noqa: SLF001 - the size of what is stored is no question of the product
        (stored,) = database.execute("SELECT AVG(length(payload)) FROM calls").fetchone()
    return alone / (share * skills), stored


def _rollout(random: Random, skill: str, number: int) -> Rollout:
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
    score = Score(0.5, passed=random.random() < 0.5, feedback=said)  # noqa: PLR2004 - a coin
    usage = Usage(3, 2_000, 300, 0.004)
    return Rollout(
        f"task-{number % _TASKS:03}",
        skill,
        number // _TASKS,
        Trajectory(messages, "done", (), Status.OK, "", usage),
        Status.OK,
        score,
    )


def _seconds(root: Path, command: tuple[str, ...]) -> float:
    """Give the seconds of the second of two runs of a command."""
    taken = 0.0
    for _ in range(2):
        begun = time.perf_counter()
        arguments = [sys.executable, "-m", "skillopt", *command]
        ended = subprocess.run(arguments, cwd=root, capture_output=True, text=True, check=False, env={**os.environ})
        taken = time.perf_counter() - begun
        if ended.returncode != 0:
            raise RuntimeError(f"expected {command} to end well, found {ended.returncode}: {ended.stderr}")
    return taken
