"""How much a step may change.

Owns the edit budget (the textual learning rate): so many edits and so many changed tokens a step. Does
not own what a run may consume (loop.caps, execution.budget).
"""

import math
from collections.abc import Sequence
from typing import assert_never

from skillopt.settings import Schedule
from skillopt.skills.edits import Change

__all__ = ["clip", "scheduled_edits"]


def scheduled_edits(schedule: Schedule, step: int, steps: int, most: int, least: int) -> int:
    """Give the edits allowed in one step.

    >>> [scheduled_edits(Schedule.COSINE, step, 8, 4, 2) for step in range(1, 9)]
    [4, 4, 3, 3, 3, 2, 2, 2]

    Args:
        schedule: The curve.
        step: 1 to `steps`.
        steps: Steps in the run, ≥ 1.
        most: Edits at the start, ≥ `least`.
        least: Edits at the end, ≥ 1.
    """
    done = step / steps
    match schedule:
        case Schedule.CONSTANT:
            share = 1.0
        case Schedule.LINEAR:
            share = 1.0 - done
        case Schedule.COSINE:
            share = (1.0 + math.cos(math.pi * done)) / 2.0
        case _:
            assert_never(schedule)
    return math.floor(least + (most - least) * share + 0.5)


def clip(ranked: Sequence[Change], edits: int, tokens: int) -> tuple[Change, ...]:
    """Keep the best-ranked changes that fit both budgets; a change that is too large is passed over.

    Args:
        ranked: Changes, best first.
        edits: Most changes to keep, ≥ 0.
        tokens: Most changed tokens in all, 0 for no limit.
    """
    kept: list[Change] = []
    for change in ranked:
        used = sum(other.tokens for other in kept)
        if len(kept) < edits and (tokens == 0 or used + change.tokens <= tokens):
            kept.append(change)
    return tuple(kept)
