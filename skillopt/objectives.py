"""More than the score: the tokens of a skill, what its rollouts cost, and what of it is worth what.

Owns the loss that joins several objectives in one number, and which of several things are beaten by none on every
objective. Does not own hard limits of hosts (validation) or the gate's
test (betting).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from skillopt.rollouts import Rollout

__all__ = ["Scalarization", "Worth", "front", "known_losses", "measured_worth"]

_AUGMENTATION: Final = 0.05
"""How much the mean of all terms counts beside the greatest one, as in Knowles 2006 (ParEGO)."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What is wanted of a skill; `None` is not known.

    Args:
        score: Of a task, in [0, 1]; more is better.
        tokens: Of SKILL.md, estimated; as of all below, less is better.
        usd: US dollars that the target takes for a task.
        turns: Model calls that the target makes for a task.
    """

    score: float
    tokens: float
    usd: float | None = None
    turns: float | None = None

    @property
    def costs(self) -> tuple[float | None, ...]:
        """Give what is to be kept small beside the score's loss."""
        return (self.tokens, self.usd, self.turns)


@dataclass(frozen=True, slots=True)
class Scalarization:
    """The loss of a task: the augmented weighted Chebyshev distance from doing it perfectly for nothing.

    It is the greatest of `1 - score` and `progress * cost / worst` of each cost, the latter share at most 1, and 5% of
    their mean on top, divided so that it lies in [0, 1]. Unlike a weighted sum, the maximum can reach every point of a
    front that bends inwards; the mean lets a saving count where another objective is the greatest. Costs count little
    at first, while it is still open what the score could be, and in full at the end.

    Args:
        tokens: Tokens of a skill that are as bad as failing the task; 0 does not count them, as with all below.
        usd: US dollars that are.
        turns: Model calls that are.
        progress: How far the run is, in [0, 1]: the weight of each cost, where the score has 1.

    Source:
        Steuer and Choo 1983; weights annealed over a search as in MOCHA.
    """

    tokens: float = 0.0
    usd: float = 0.0
    turns: float = 0.0
    progress: float = 1.0

    @property
    def counted(self) -> tuple[str, ...]:
        """Name the costs that count; none when the score alone does."""
        worst = {"tokens": self.tokens, "US dollars": self.usd, "turns": self.turns}
        return tuple(name for name, amount in worst.items() if amount > 0 and self.progress > 0)

    def gain(self, before: Worth, after: Worth) -> float:
        """Give how much smaller the second one's loss is, in [-1, 1].

        A cost that is not known of one counts for neither. Where no cost counts it is the difference of the scores.
        """
        worst = (self.tokens, self.usd, self.turns)
        costs = [
            (self._term(old, amount), self._term(new, amount))
            for old, new, amount in zip(before.costs, after.costs, worst, strict=True)
            if amount > 0 and self.progress > 0 and old is not None and new is not None
        ]
        if not costs:
            return after.score - before.score
        old_loss = self._loss([1.0 - before.score, *(old for old, _ in costs)])
        return old_loss - self._loss([1.0 - after.score, *(new for _, new in costs)])

    def _term(self, cost: float, worst: float) -> float:
        return self.progress * min(1.0, cost / worst)

    def _loss(self, terms: Sequence[float]) -> float:
        """Join terms, the first with weight 1 and the others with that of the progress."""
        mean = sum(terms) / (1.0 + self.progress * (len(terms) - 1))
        return min(1.0, (max(terms) + _AUGMENTATION * mean) / (1.0 + _AUGMENTATION))


def measured_worth(score: float, tokens: float, rollouts: Sequence[Rollout]) -> Worth:
    """Put together what is known of a skill; its costs are those of the target, without what judging took.

    Args:
        score: In [0, 1].
        tokens: Of its SKILL.md, estimated.
        rollouts: Those that the costs are taken from; only the ones with a score count, and one must.
    """
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
    """Give the places of those that no other is as good as: at most as great in every number; of equals the first.

    Args:
        losses: What is to be kept small, the same objectives in each.
    """
    kept: list[int] = []
    # Whoever beats another comes before it, and is kept or beaten by one that is.
    for at in sorted(range(len(losses)), key=lambda place: tuple(losses[place])):
        if not any(_covers(losses[other], losses[at]) for other in kept):
            kept.append(at)
    return tuple(sorted(kept))


def _covers(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(mine <= its for mine, its in zip(one, other, strict=True))
