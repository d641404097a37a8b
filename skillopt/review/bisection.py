"""Bisection: which of several texts of a skill broke a task, by binary search among noisy rollouts.

Each answer is a sequential paired comparison of two texts on the one task, repeat by repeat. The claim is about this
task, so here repeats are what is sampled. A text in the middle is compared with the last good one and the first bad
one, and whichever difference shows first says on which side the task broke. Each middle belongs to one pair of ends
only, so all comparisons that could ever be made are known beforehand and share the error allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, conclude, observe
from skillopt.loop.caps import BudgetReached
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout, Stream
from skillopt.settings import Metric
from skillopt.skills.document import Skill
from skillopt.tasks import Task

__all__ = ["Bisection", "Found", "Probe"]

_BATCH: Final = 4


@dataclass(frozen=True, slots=True)
class Probe:
    """A text that was measured: its index, its repeats, how many passed, and its mean score."""

    text: int
    repeats: int
    passed: int
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """How a search ended.

    Args:
        good: Index of the last text for which the task is shown to do better than for `bad`.
        bad: Index of the first text for which it is shown to do worse.
        conclusive: Whether `bad` follows on `good`, so that it is what broke the task.
        shown: Whether the first text is shown to do better than the last one at all.
        reason: Why the search ended, in words.
        probes: The texts that were measured, by index.
    """

    good: int
    bad: int
    conclusive: bool
    shown: bool
    reason: str
    probes: tuple[Probe, ...]


class Bisection:
    """Searches among texts, oldest first.

    Args:
        texts: At least two.
        task: What broke.
        metric: What is compared.
        runner: Runs rollouts.
        confidence: That what is found is so, in (0, 1).
        repeats: Most runs of the task with one text, ≥ 1.
    """

    def __init__(
        self, texts: Sequence[Skill], task: Task, runner: Runner, metric: Metric, confidence: float, repeats: int
    ) -> None:
        self._texts = texts
        self._task = task
        self._runner = runner
        self._metric = metric
        self._repeats = repeats
        comparisons = 1 + 2 * max(0, len(texts) - 2)
        self._plan = SequentialPlan(repeats, 1.0 - (1.0 - confidence) / comparisons)
        self._rollouts: dict[int, list[Rollout]] = {}

    def search(self) -> Found:
        """Search until the first bad text is found, or no answer comes.

        Raises:
            InvalidMeasurementError: The task could not be measured with a text.
        """
        good, bad, shown = 0, len(self._texts) - 1, False
        try:
            shown = self._differ([(good, bad)]) is not None
            if not shown:
                return self._found(good, bad, "no loss between the first and the last text is shown", shown=False)
            while bad - good > 1:
                middle = (good + bad) // 2
                side = self._differ([(good, middle), (middle, bad)])
                if side is None:
                    told = f"text {middle + 1} is not shown to differ from the good one or from the bad one"
                    return self._found(good, bad, told, shown=True)
                good, bad = side
        except BudgetReached as reached:
            return self._found(good, bad, str(reached), shown=shown)
        return self._found(good, bad, "found", shown=True)

    def _differ(self, pairs: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        """Give the first pair of which the second text is shown to do worse, None when none is."""
        open_ = {pair: SequentialTest(self._plan) for pair in pairs}
        for start in range(0, self._repeats, _BATCH):
            count = min(_BATCH, self._repeats - start)
            needed = sorted({text for pair in open_ for text in pair})
            self._run([text for text in needed if len(self._rollouts.get(text, ())) <= start], start, count)
            for pair, test in tuple(open_.items()):
                open_[pair] = observe(test, [self._loss(pair, repeat) for repeat in range(start, start + count)])
                if conclude(open_[pair]) is Outcome.ACCEPT:
                    return pair
            open_ = {pair: test for pair, test in open_.items() if conclude(test) is None}
            if not open_:
                break
        self._check(pairs)
        return None

    def _run(self, texts: Sequence[int], start: int, count: int) -> None:
        requests = [
            RolloutRequest(self._texts[text], self._task, Stream.BISECTION.repeat(repeat))
            for text in texts
            for repeat in range(start, start + count)
        ]
        rollouts = self._runner.rollouts(requests) if requests else ()
        for at, text in enumerate(texts):
            self._rollouts.setdefault(text, []).extend(rollouts[at * count : (at + 1) * count])

    def _loss(self, pair: tuple[int, int], repeat: int) -> float | None:
        first, second = (self._rollouts[text][repeat].score for text in pair)
        return None if first is None or second is None else self._metric.of(first) - self._metric.of(second)

    def _check(self, pairs: Sequence[tuple[int, int]]) -> None:
        for text in {text for pair in pairs for text in pair}:
            rollouts = self._rollouts[text]
            if all(rollout.score is None for rollout in rollouts):
                raise InvalidMeasurementError(
                    f"task {self._task.id!r} could not be measured in {len(rollouts)} repeats: {rollouts[0].reason}; "
                    "rerun the same command when it is mended"
                )

    def _found(self, good: int, bad: int, reason: str, *, shown: bool) -> Found:
        return Found(good, bad, shown and bad - good == 1, shown, reason, self._probes())

    def _probes(self) -> tuple[Probe, ...]:
        probes = []
        for text, rollouts in sorted(self._rollouts.items()):
            scores = [rollout.score for rollout in rollouts if rollout.score is not None]
            mean = fmean(self._metric.of(score) for score in scores) if scores else 0.0
            probes.append(Probe(text, len(scores), sum(score.passed for score in scores), mean))
        return tuple(probes)
