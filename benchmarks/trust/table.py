"""The table of attacks by class."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Protocol

__all__ = ["Attack", "ClassResult", "Found", "sum_rows", "trust_table"]

_COLUMNS = ("class", "tried", "through", "lost", "paid twice", "false alarms")


@dataclass(frozen=True, slots=True)
class ClassResult:
    """What became of the attacks of a class."""

    name: str
    tried: int
    through: int
    lost: int = 0
    paid_twice: int = 0
    false_alarms: str = "—"


Found = tuple[tuple[ClassResult, ...], list[str]]
"""Rows of the table, and a line for each attack that had its effect, or each control that failed."""


class Attack(Protocol):
    """Tries a class."""

    def __call__(self, *, quick: bool) -> Found:
        """Try it all, or a slice of it."""


def trust_table(rows: Sequence[ClassResult]) -> str:
    """Write the classes as a Markdown table."""
    cells = [_COLUMNS, tuple("---" for _ in _COLUMNS), *(tuple(map(_shown, astuple(row))) for row in rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def _shown(cell: int | str) -> str:
    return cell if isinstance(cell, str) else f"{cell:,}"


def sum_rows(name: str, rows: Sequence[ClassResult]) -> ClassResult:
    """Add rows to one."""
    counted = [tuple(map(int, row.false_alarms.split(" of "))) for row in rows if " of " in row.false_alarms]
    alarms, honest = (sum(column) for column in zip((0, 0), *counted, strict=True))
    return ClassResult(
        name,
        sum(row.tried for row in rows),
        sum(row.through for row in rows),
        sum(row.lost for row in rows),
        sum(row.paid_twice for row in rows),
        f"{alarms} of {honest}" if counted else "—",
    )
