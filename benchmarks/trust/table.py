"""The table of attacks by class."""

import os
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
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
