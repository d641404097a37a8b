"""Pareto front of versions over score, tokens, dollars and turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from skillopt.rollouts import Rollout

__all__ = ["Worth", "front", "known_losses", "measured_worth"]


@dataclass(frozen=True, slots=True)
class Worth:
    """What is wanted of a skill; `None` is not known."""

    score: float
    tokens: float
    usd: float | None = None
    turns: float | None = None

    @property
    def costs(self) -> tuple[float | None, ...]:
        """What is to be kept small beside the score's loss."""
        return (self.tokens, self.usd, self.turns)


def measured_worth(score: float, tokens: float, rollouts: Sequence[Rollout]) -> Worth:
    """Put together what is known of a skill; its costs are those of the target, without what judging took."""
    spent = [rollout.trajectory.usage for rollout in rollouts if rollout.score is not None]
    dollars = [usage.usd for usage in spent if usage.usd is not None]
    usd = fmean(dollars) if len(dollars) == len(spent) else None
    return Worth(score, tokens, usd, fmean(usage.calls for usage in spent))


def known_losses(worths: Sequence[Worth]) -> list[tuple[float, ...]]:
    """Write each worth as numbers to keep small, leaving out what is not known of all.

    An objective that is left out for some only would let what is not known look cheap.
    """
    columns = zip(*((1.0 - worth.score, *worth.costs) for worth in worths), strict=True)
    known = [[number for number in column if number is not None] for column in columns]
    return list(zip(*(column for column in known if len(column) == len(worths)), strict=True))


def front(losses: Sequence[Sequence[float]]) -> tuple[int, ...]:
    """Return the places of those that no other is as good as: at most as great in every number; of equals the first."""
    kept: list[int] = []
    # Whoever beats another comes before it, and is kept or beaten by one that is.
    for at in sorted(range(len(losses)), key=lambda place: tuple(losses[place])):
        if not any(_covers(losses[other], losses[at]) for other in kept):
            kept.append(at)
    return tuple(sorted(kept))


def _covers(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(mine <= its for mine, its in zip(one, other, strict=True))
