"""What is shown on the very tasks that were run: a gain (`proven here`), or that a change does worse.

The claim is about these tasks and no others, so repeats are what is sampled, each pair of runs is a unit, and there is
a look after each round. Passed and failed outcomes are tested by random signs, joint over the looks: tasks may differ
as they like, for pairs whose chances to win and to lose even out over the tasks only make the test stricter. A gain in
partial scores is tested by a bet on their mean. A change does worse where more runs are worse than better: a mean would
hide a little harm in many tasks behind one that did well by chance. What is lost on new tasks at most is a limit beside
it, by a bet on the mean.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import Outcome, Pairs, Verdict, compare_pairs, task_gains
from skillopt.gate.judge_noise import EXPLAINED, is_explained
from skillopt.gate.mean_bet import bet_on_repeats, lower_limit
from skillopt.gate.sign_flips import SignWalk, is_pass_fail, sign_p_value
from skillopt.settings import GateRule, Settings
from skillopt.tasks import Task

_WEIGHTS: Final = (0.7, 0.85, 0.95)
"""Shares of the error used up after each round but the last: most of what is shown at all is shown by the first."""

HERE_ROUNDS: Final = len(_WEIGHTS) + 1
"""Most rounds of paired repeats."""


class HereTest:
    """Follows the rounds of one draft."""

    def __init__(self, error: float, rounds: int = HERE_ROUNDS) -> None:
        self._error = error
        self._rounds: list[list[float]] = []
        self.walk = SignWalk(error, [*_WEIGHTS[: rounds - 1], 1.0])
        self._found = False

    @property
    def over(self) -> bool:
        """Whether the incumbent did as well by now, so that no further round is worth running."""
        return math.fsum(gain for one in self._rounds for gain in one) <= 0

    def look(self, gains: Sequence[float | None]) -> bool:
        """Take in a round, and say whether a gain on these tasks is shown."""
        self._rounds.append([gain for gain in gains if gain is not None])
        pairs = [gain for one in self._rounds for gain in one]
        if not is_pass_fail(pairs):
            return bet_on_repeats(pairs) * self._error >= 1
        self._found = self._found or self.walk.look(self._rounds[-1])
        if len(self._rounds) > 1 and all(one == self._rounds[0] for one in self._rounds):
            # The target is deterministic: repeats tell nothing new, so each task counts once.
            return sign_p_value(self._rounds[0]) <= self._error
        return self._found


_WHOLE_REPEATS_OF: Final = 48
"""Rollouts of each text that whole repeats may come to before only tasks that came out differently are repeated."""

_EXTRA: Final = 3
"""Most repeats of all tasks, then of only those that came out differently: a matter of size, not of sign."""

MOST_REPEATS: Final = 2 * _EXTRA


def whole_repeats(tasks: int) -> int:
    """Return how often all tasks are run: once, and more often where they are few.

    >>> [whole_repeats(tasks) for tasks in (8, 24, 60)]
    [3, 2, 1]
    """
    return max(1, min(_EXTRA, _WHOLE_REPEATS_OF // max(1, tasks)))


def can_show_harm(tasks: int, error: float) -> bool:
    """Return whether so many tasks, all broken in every repeat, would show harm; one task says nothing of others.

    >>> [can_show_harm(tasks, 0.1) for tasks in (1, 2)]
    [False, True]
    """
    return tasks > 1 and 0.5 ** (tasks * (whole_repeats(tasks) + _EXTRA)) <= error


@dataclass(frozen=True, slots=True)
class MeasuredHarm:
    """What was run of both sides, the verdict, and what the true gain on new tasks exceeds by the whole repeats."""

    pairs: Pairs
    verdict: Verdict
    lowest: float


def measure_harm(
    order: Sequence[Task], settings: Settings, run: Callable[[Sequence[Task], int], Pairs], error: float, place: str
) -> MeasuredHarm:
    """Run tasks with both sides, all of them and then those that came out differently, until the second is worse."""
    whole, pairs = whole_repeats(len(order)), Pairs()
    later = whole + _EXTRA - 1
    # Most of the error is for the first look, the rest is spread evenly.
    weights = [0.4 + 0.6 * at / later for at in range(later)]
    test = SignWalk(error, [*weights, 1.0])
    tasks, looks, shown = list(order), 0, False
    while tasks and not shown:
        newest = run(tasks, looks)
        pairs.add(newest)
        looks += 1
        gains = pairs.gains(order, settings.metric)
        shown = test.look([-gain for task in newest.gains(order, settings.metric) for gain in task])
        if looks >= whole:
            lost = looks < whole + _EXTRA and math.fsum(gain for task in gains for gain in task) < 0
            tasks = [task for task, found in zip(order, gains, strict=True) if lost and any(found)]
    verdict = compare_pairs(pairs, settings, GateRule.STRICT, place)
    losses = [-gain for gain in task_gains(pairs.before, pairs.after, settings.metric).values()]
    explained = shown and is_explained(losses, pairs.rollouts)
    outcome = Outcome.REJECT if shown and not explained else Outcome.INCONCLUSIVE
    pass_fail = is_pass_fail([gain for task in gains for gain in task])
    harm = "worse on these tasks" if pass_fail else "more runs of these tasks are worse than better"
    reason = f"{harm}{f', but {EXPLAINED}' if explained else ''}" if shown else "not shown to be worse"
    means = [fmean(task[:whole]) if task else None for task in gains]
    limit = lower_limit(means, len(means), 1.0 - settings.confidence)
    return MeasuredHarm(pairs, replace(verdict, outcome=outcome, reason=reason, confidence=test.confidence), limit)
