"""Contrast: which waiting edits a train rollout leaves out, so that what each is worth can be told apart.

Owns the random draw, and which edits have turned out to carry tokens without effect. Does not own what an edit is
worth (credit) or applying edits without some of them (drafts).
"""

from collections.abc import Collection, Sequence
from random import Random
from typing import Final

from skillopt.credit import Credit
from skillopt.edits import Edit

__all__ = ["draw_left_out", "find_idle"]

_LEAST_ROLLOUTS: Final = 4
"""Rollouts without which nothing is known of an edit: its standard error rests on the noise of all of them."""


def draw_left_out(edits: Sequence[Edit], task: str, share: float, seed: str) -> frozenset[str]:
    """Draw the edits that a rollout of a task leaves out, each with the same chance.

    Only edits that cite the task are drawn: a rollout tells of no others, and all others stay as they are.

    Args:
        edits: Those that wait.
        task: Id of the task.
        share: Chance of each to be left out, in [0, 1].
        seed: Of the draw, together with the task.
    """
    draw = Random(f"{seed}/{task}")
    return frozenset(edit.id for edit in edits if task in edit.tasks and draw.random() < share)


def find_idle(found: Collection[Credit], least: float) -> tuple[Credit, ...]:
    """Give the edits whose estimate, and one standard error more, is a gain of less than `least`."""
    return tuple(one for one in found if one.rollouts >= _LEAST_ROLLOUTS and one.gain + one.error < least)
