"""Edit budget (the textual learning rate): how many edits and how many changed tokens a step may make."""

import math
from collections.abc import Sequence

from skillopt.skills.edits import Change

__all__ = ["clip", "scheduled_edits"]


def scheduled_edits(step: int, steps: int, most: int, least: int) -> int:
    """Return the edits allowed in one step: half a cosine from the first step to the last.

    >>> [scheduled_edits(step, 8, 4, 2) for step in range(1, 9)]
    [4, 4, 3, 3, 3, 2, 2, 2]

    Source:
        The schedule of the published loop.
    """
    share = (1.0 + math.cos(math.pi * step / steps)) / 2.0
    return math.floor(least + (most - least) * share + 0.5)


def clip(ranked: Sequence[Change], edits: int, tokens: int) -> tuple[Change, ...]:
    """Keep the best-ranked changes that fit both budgets; a change that is too large is passed over."""
    kept: list[Change] = []
    for change in ranked:
        used = sum(other.tokens for other in kept)
        if len(kept) < edits and (tokens == 0 or used + change.tokens <= tokens):
            kept.append(change)
    return tuple(kept)
