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

CLASSES: Final = {
    "texts": "texts:try_texts",
    "cheats": "cheats:try_cheats",
    "acts": "acts:try_acts",
    "repositories": "repositories:try_repositories",
    "messages": "messages:try_messages",
    "network": "network:try_network",
    "kills-training": "kills:try_kills_of_training",
    "kills-nights": "kills:try_kills_of_nights",
    "kills-mcp": "kills:try_kills_of_mcp",
    "disk": "disk:try_disk",
}
"""What tries each class, as `module:function`, in the order of the table."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of a class."""

    name: str
    rows: tuple[ClassResult, ...]
    failures: tuple[str, ...]
    seconds: float


def try_classes(names: Sequence[str], processes: int, *, quick: bool) -> Iterator[Tried]:
    """Try classes in new processes, so many at a time; what takes longest begins first."""
    ordered = sorted(names, key=lambda name: not name.startswith("kills"))
    with get_context("spawn").Pool(processes, maxtasksperchild=1) as pool:
        for tried in pool.imap_unordered(partial(_try_class, quick=quick), ordered):
            sys.stderr.write(f"{tried.name}: {tried.seconds:.0f} s\n")
            yield tried


def load_class(name: str) -> Attack:
    """Import what tries a class."""
    module, _, function = CLASSES[name].partition(":")
    attack: Attack = getattr(import_module(f"benchmarks.trust.{module}"), function)
    return attack


def _try_class(name: str, *, quick: bool) -> Tried:
    begun = time.monotonic()
    rows, failures = load_class(name)(quick=quick)
    return Tried(name, rows, tuple(failures), time.monotonic() - begun)
