"""More than the score: the tokens of a skill, and what is worth what.

Owns the price that a longer skill must earn, the choice between edits that mend the same tasks, and which versions
are beaten by none on every objective. Does not own hard limits of hosts (validation) or the gate's test (betting).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from skillopt.documents import SkillDocument, estimate_tokens

__all__ = ["Worth", "chebyshev", "front", "leave_out_doubles", "price_of_growth"]

T = TypeVar("T")
_MOST_MARGIN = 0.95


@dataclass(frozen=True, slots=True)
class Worth:
    """What is wanted of a skill; unknown money is `None`.

    Args:
        score: Mean score of a task, in [0, 1]; more is better.
        tokens: Of the skill, estimated; as all below, less is better.
        usd: US dollars of a task.
        turns: Requests of a task to the target.
    """

    score: float
    tokens: float
    usd: float | None = None
    turns: float | None = None

    @property
    def losses(self) -> tuple[float, ...]:
        """Give each objective as something to keep small; what is unknown counts nothing."""
        return (1.0 - self.score, self.tokens, self.usd or 0.0, self.turns or 0.0)


def front(worths: Sequence[Worth]) -> tuple[int, ...]:
    """Give the places of those that no other beats: at least as good in everything and better in something."""
    return tuple(at for at, one in enumerate(worths) if not any(_beats(other.losses, one.losses) for other in worths))


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    pairs = list(zip(one, other, strict=True))
    return all(mine <= its for mine, its in pairs) and any(mine < its for mine, its in pairs)


def chebyshev(worths: Sequence[Worth], weights: Sequence[float], progress: float = 1.0) -> int:
    """Choose by the weighted Chebyshev distance from the best of each objective, ties by the sum.

    Unlike a weighted sum it can reach every point of a front that bends inwards. Weights are annealed: at progress 0
    the first objective alone counts, at 1 all do as given.

    Args:
        worths: Whom to choose from, at least one.
        weights: Of score, tokens, usd and turns, each >= 0.
        progress: Share of the way, in [0, 1].

    Returns:
        The place of the choice; the earliest of equals.

    Source:
        Steuer and Choo 1983; annealing over a search as in MOCHA.
    """
    losses = [worth.losses for worth in worths]
    best, worst = ([pick(column) for column in zip(*losses, strict=True)] for pick in (min, max))
    scale = [weights[0], *(weight * progress for weight in weights[1:])]

    def distance(at: int) -> tuple[float, float]:
        parts = [
            weight * (loss - least) / (most - least) if most > least else 0.0
            for weight, loss, least, most in zip(scale, losses[at], best, worst, strict=True)
        ]
        return max(parts), sum(parts)

    return min(range(len(worths)), key=distance)


def price_of_growth(before: SkillDocument, after: SkillDocument, price: float) -> float:
    """Give the gain that a longer body must exceed, in points of score; one that is shorter need not earn anything.

    Args:
        before: The incumbent.
        after: The candidate.
        price: Points of score for every 1,000 tokens.
    """
    grown = estimate_tokens(after.body) - estimate_tokens(before.body)
    return min(_MOST_MARGIN, max(0.0, price * grown / 1000))


def leave_out_doubles(found: Sequence[tuple[T, frozenset[str], int]]) -> list[T]:
    """Drop edits that mend nothing beyond what a better one mends: score first, tokens as tie-breaker.

    Args:
        found: Edits with the tasks that each mends alone, and its tokens.

    Returns:
        The others, in the order in which they came; an edit that mends no known task stays.
    """
    ranked = sorted(range(len(found)), key=lambda at: (-len(found[at][1]), found[at][2], at))
    kept: list[int] = []
    for at in ranked:
        tasks = found[at][1]
        if not tasks or not any(tasks <= found[other][1] for other in kept):
            kept.append(at)
    return [found[at][0] for at in sorted(kept)]
