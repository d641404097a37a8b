"""Who is compared, and a run of each.

Owns the registry and playing runs of one of them in one world. Does not own how it trains (its adapter)
or where (environments, processes).
"""

import ast
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Final, cast

from benchmarks.peers.arena import Figures, SimulatedArena
from benchmarks.peers.environments import interpreter
from benchmarks.peers.exchange import Arena, BudgetSpentError
from benchmarks.peers.ours import measure
from benchmarks.peers.processes import PeerProcess

__all__ = ["CONTESTANTS", "Batch", "Contestant", "play"]

_OURS: Final = "ours"


@dataclass(frozen=True, slots=True)
class Contestant:
    """An optimizer in one configuration.

    Args:
        adapter: Module in this package that drives it; several configurations can share one.
        environment: Of the peers' environments; empty when it runs in this interpreter.
        package: That it comes from, when it has an environment.
        gated: Whether it has a gate, whose accepts can be wrong.
    """

    adapter: str
    environment: str = ""
    package: str = ""
    gated: bool = True

    @property
    def module(self) -> str:
        """Name the adapter in full."""
        return f"{__package__}.{self.adapter}"

    @property
    def choices(self) -> str:
        """Give what the adapter says of itself, without importing it."""
        source = Path(__file__).with_name(f"{self.adapter}.py").read_text("utf-8")
        return ast.get_docstring(ast.parse(source)) or ""


_GEPA = Contestant("gepa_peer", "gepa", "gepa")
_SKILLOPT = Contestant("skillopt_peer", "skillopt", "skillopt")
_SIMBA = Contestant("simba_peer", "dspy", "dspy", gated=False)

CONTESTANTS: Final[dict[str, Contestant]] = {
    "our default": Contestant(_OURS),
    "our paper": Contestant(_OURS),
    "our paper, longer": Contestant(_OURS),
    "gepa": _GEPA,
    "gepa, one edit": _GEPA,
    "gepa, tuned": _GEPA,
    "skillopt 0.2.0": _SKILLOPT,
    "skillopt 0.2.0, longer": _SKILLOPT,
    "simba": _SIMBA,
    "simba, rules only": _SIMBA,
    "textgrad-style": Contestant("textgrad_style"),
    "one-shot rewrite": Contestant("one_shot", gated=False),
    "no gate": Contestant("no_gate", gated=False),
}
"""Every optimizer that can be compared, by the name it has in the results."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Runs of one optimizer in one world, a process for all of them.

    Args:
        world: Its name.
        peer: Name of the optimizer.
        seeds: One run each.
        rollouts: What each is allowed.
    """

    world: str
    peer: str
    seeds: range
    rollouts: int


def play(batch: Batch) -> list[Figures]:
    """Play a batch."""
    return list(_runs(batch))


def _runs(batch: Batch) -> Iterator[Figures]:
    contestant = CONTESTANTS[batch.peer]
    if contestant.adapter == _OURS:
        yield from (measure(batch.world, batch.peer, seed, batch.rollouts) for seed in batch.seeds)
        return
    python = interpreter(contestant.environment)
    with PeerProcess(python, contestant.module) if contestant.environment else nullcontext() as process:
        train = process.play if process else _trainer(contestant)
        for seed in batch.seeds:
            arena, began = SimulatedArena(batch.world, batch.peer, seed, batch.rollouts), time.perf_counter()
            with suppress(BudgetSpentError):
                train(arena)
            yield arena.figures(time.perf_counter() - began, gated=contestant.gated)


def _trainer(contestant: Contestant) -> Callable[[Arena], None]:
    # an adapter's `train` has this type; its module is named by a string
    return cast("Callable[[Arena], None]", import_module(contestant.module).train)
