"""Who is compared, and the runs of each in one world.

GEPA is installed into a folder of this checkout that git ignores; everything else is part of the checkout.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Final, cast

from benchmarks.peers.arena import BudgetSpentError, Figures, SimulatedArena, failures
from benchmarks.peers.small_loops import SMALL_LOOPS

_VERSION: Final = "0.1.4"
_FOLDER: Final = Path(__file__).resolve().parents[2] / ".bench-venvs" / f"gepa-{_VERSION}"
GEPA: Final = ("gepa", "gepa, tuned")
NO_GATE: Final = "no gate"
_STEP, _EDITS = 12, 4


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs of one optimizer in one world, one for each seed."""

    world: str
    peer: str
    seeds: range
    rollouts: int


def is_ready() -> bool:
    """Whether GEPA is installed."""
    return (_FOLDER / "gepa").is_dir()


def make_ready() -> None:
    """Make GEPA importable; install it, which needs no other package, unless it is there, as pip is set up."""
    if not is_ready():
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-qq", "install", "--no-deps"]
        subprocess.run([*pip, "--target", str(_FOLDER), f"gepa=={_VERSION}"], check=True)
    if str(_FOLDER) not in sys.path:
        sys.path.append(str(_FOLDER))


def play(batch: Batch) -> list[Figures]:
    """Play the runs of a batch."""
    return list(_runs(batch))


def _runs(batch: Batch) -> Iterator[Figures]:
    alone = {NO_GATE: _train_without_gate, **SMALL_LOOPS}
    train = alone.get(batch.peer) or _gepa()
    for seed in batch.seeds:
        arena = SimulatedArena(batch.world, batch.peer, seed, batch.rollouts)
        with suppress(BudgetSpentError):
            train(arena)
        yield arena.figures()


def _gepa() -> Callable[[SimulatedArena], None]:
    make_ready()
    # its `train` has this type; the module is named by a string, since what it imports may not be installed
    return cast("Callable[[SimulatedArena], None]", import_module("benchmarks.peers.gepa_peer").train)


def _train_without_gate(arena: SimulatedArena) -> None:
    """Keep every proposal: 12 train tasks a step, at most 4 edits from those that failed, `val` is never run.

    Where nothing does harm this is the fastest way to every rule, at the price of a document full of useless lines.
    """
    text, order, draw = arena.start, list(arena.train), Random(arena.seed)
    size = min(_STEP, len(order))
    while True:
        draw.shuffle(order)
        for at in range(0, len(order) - size + 1, size):
            if failing := failures(arena.run(text, order[at : at + size])):
                text = arena.propose(text, failing, _EDITS)
                arena.returns(text)
