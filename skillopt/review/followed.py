"""Followed or not: of each criterion that a judge marks, how many results meet it under two texts."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from skillopt.gate.judge_noise import share_interval
from skillopt.rollouts import Rollout


@dataclass(frozen=True, slots=True)
class FollowedCriterion:
    """A criterion, and results that meet it, of how many, under the text before and after."""

    criterion: str
    before: tuple[int, int]
    after: tuple[int, int]

    def __str__(self) -> str:
        """Say it with the 95% interval of the newer share.

        >>> str(FollowedCriterion("Has a prefix", (2, 20), (18, 20)))
        'Has a prefix: 2 of 20 → 18 of 20 (70% to 97%)'
        """
        low, high = share_interval(self.after[0] / max(1, self.after[1]), max(1, self.after[1]))
        (met, size), (now, own) = self.before, self.after
        return f"{self.criterion}: {met} of {size} → {now} of {own} ({low:.0%} to {high:.0%})"


def followed_criteria(before: Iterable[Rollout], after: Iterable[Rollout]) -> tuple[FollowedCriterion, ...]:
    """List the criteria that were marked under both texts, the least followed first."""
    old, new = _counted(before), _counted(after)
    found = [FollowedCriterion(text, old[text], new[text]) for text in new if text in old]
    return tuple(sorted(found, key=lambda one: one.after[0] / one.after[1]))


def _counted(rollouts: Iterable[Rollout]) -> dict[str, tuple[int, int]]:
    marks: dict[str, Counter[str]] = {}
    for one in rollouts:
        judged = one.score.judgement if one.score else None
        if judged is not None and judged.readings and not judged.addressed:
            for text, mark in zip(judged.criteria, judged.readings[-1], strict=False):
                marks.setdefault(text, Counter())[mark] += 1
    return {text: (count["y"], size) for text, count in marks.items() if (size := count["y"] + count["n"])}
