"""The classes of attacks, each tried in a process of its own, and the table of what became of them."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Final

HELD_OUT: Final = "TRUST_HELD_OUT"
"""The variable that names a folder of cases by somebody who did not see the code, in the files that the project has."""

_COLUMNS = ("class", "tried", "through", "lost", "paid twice", "false alarms", "made again", "held out: through")


@dataclass(frozen=True, slots=True)
class ClassResult:
    """What became of the attacks of a class."""

    name: str
    tried: int
    through: int
    lost: int = 0
    paid_twice: int = 0
    false_alarms: str = "—"
    again: str = "—"
    held_out: str = "—"


Found = tuple[tuple[ClassResult, ...], list[str]]
"""Rows of the table, and a line for each attack that had its effect, or each control that failed."""


Attack = Callable[..., Found]
"""Tries a class, all of it or with `quick=True` a slice."""


def held_out_cases(name: str) -> Path | None:
    """Return the file of held-out cases with a name, None where there is none."""
    path = Path(os.environ.get(HELD_OUT, ""), name)
    return path if os.environ.get(HELD_OUT) and path.is_file() else None


def trust_table(rows: Sequence[ClassResult]) -> str:
    """Write the classes as a Markdown table."""
    cells = [[cell if isinstance(cell, str) else f"{cell:,}" for cell in astuple(row)] for row in rows]
    return "\n".join(f"| {' | '.join(row)} |" for row in (_COLUMNS, ["---"] * len(_COLUMNS), *cells))


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
