"""Candidate patches of one step: what each looks for, and its advantage in the group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from types import MappingProxyType
from typing import Final, TypeVar

from skillopt.loop.citation_support import NOTHING_SAID
from skillopt.skills.edits import Op

__all__ = ["PlannedReading", "advantages", "plan_readings", "rotate", "value_of"]

T = TypeVar("T")

_OPS: Final = (Op.ADD, Op.REPLACE, Op.DELETE)
"""Kinds of edit in the order in which a group looks for them."""

_FOCUS: Final = MappingProxyType(
    {
        Op.ADD: "In this reading, look first for rules that are missing, and prefer edits that add.",
        Op.REPLACE: "In this reading, look first for text that is wrong, vague or too narrow, and prefer edits that "
        "replace it.",
        Op.DELETE: "In this reading, look first for text that is in the way or that nothing needs, and prefer edits "
        "that delete.",
    }
)


@dataclass(frozen=True, slots=True)
class PlannedReading:
    """One of several readings of the same evidence."""

    name: str
    focus: str
    turn: float


def plan_readings(groups: int) -> tuple[PlannedReading, ...]:
    """Return what each reading of a group looks for; a single one looks for whatever helps."""
    if groups == 1:
        return (PlannedReading("any", "", 0.0),)
    return tuple(
        PlannedReading(_OPS[number % len(_OPS)].value, _FOCUS[_OPS[number % len(_OPS)]], number / groups)
        for number in range(groups)
    )


def rotate(items: Sequence[T], turn: float) -> tuple[T, ...]:
    """Move a share of items from the front to the end, so that others meet in a minibatch."""
    at = int(len(items) * turn)
    return (*items[at:], *items[:at])


def value_of(edits: Sequence[str], numbers: Mapping[str, float]) -> float:
    """Return what a patch is worth before anything is run: how far its edits are supported beyond nothing said."""
    return sum(numbers[edit] - NOTHING_SAID for edit in edits)


def advantages(values: Sequence[float]) -> tuple[float, ...]:
    """Return the advantage of each member of a group: its distance from the mean in standard deviations.

    >>> advantages([1.0, 2.0, 3.0])
    (-1.224744871391589, 0.0, 1.224744871391589)
    >>> advantages([0.4, 0.4])
    (0.0, 0.0)

    Source:
        Group-relative advantage over several candidates of one state: GRPO (arXiv:2402.03300), used on skill
        revisions by Skill-R1 (arXiv:2605.09359). Here it orders edits and trains nothing.
    """
    mean = fmean(values)
    spread = sqrt(fmean((value - mean) ** 2 for value in values))
    return tuple((value - mean) / spread if spread > 1e-9 else 0.0 for value in values)  # noqa: PLR2004 - what rounding leaves
