"""The classes of attacks, each tried in a process of its own."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from typing import Final

from benchmarks.trust.table import Attack, ClassResult

__all__ = ["CLASSES", "AttackClass", "Tried", "try_classes"]

_TEXTS: Final = "hostile edits"
_ATTACKS: Final = "hostile rollouts and repositories"
_KILLS: Final = "kills, faults of disk and clock"


@dataclass(frozen=True, slots=True)
class AttackClass:
    """A class of attacks."""

    place: str
    group: str

    def load(self) -> Attack:
        """Import what tries it."""
        module, _, function = self.place.partition(":")
        attack: Attack = getattr(import_module(f"benchmarks.trust.{module}"), function)
        return attack


CLASSES: Final = {
    "texts": AttackClass("texts:try_texts", _TEXTS),
    "cheats": AttackClass("cheats:try_cheats", _ATTACKS),
    "repositories": AttackClass("repositories:try_repositories", _ATTACKS),
    "kills-training": AttackClass("kills:try_kills_of_training", _KILLS),
    "kills-nights": AttackClass("kills:try_kills_of_nights", _KILLS),
    "kills-mcp": AttackClass("kills:try_kills_of_mcp", _KILLS),
    "disk": AttackClass("disk:try_disk", _KILLS),
}
"""The classes by name, in the order of the table."""

_LONGEST: Final = ("kills-training", "kills-nights", "kills-mcp")


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a class."""

    name: str
    rows: tuple[ClassResult, ...]
    failures: tuple[str, ...]
    seconds: float


def try_classes(names: Sequence[str], processes: int, *, quick: bool) -> Iterator[Tried]:
    """Try classes in new processes, so many at a time; what takes longest begins first."""
    ordered = sorted(names, key=lambda name: name not in _LONGEST)
    with get_context("spawn").Pool(processes, maxtasksperchild=1) as pool:
        for tried in pool.imap_unordered(partial(_try_class, quick=quick), ordered):
            sys.stderr.write(f"{tried.name}: {tried.seconds:.0f} s\n")
            yield tried


def _try_class(name: str, *, quick: bool) -> Tried:
    begun = time.monotonic()
    rows, failures = CLASSES[name].load()(quick=quick)
    return Tried(name, rows, tuple(failures), time.monotonic() - begun)
