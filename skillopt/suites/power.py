"""Statistical power of a suite: how often a truly better skill would be called proven, or proven here, by simulation.

All of it is simulated: half of what is scored is right at the start, a tenth of the outcomes change by chance from run
to run, and the tests are the gate's.
"""

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import Outcome
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, conclude, observe
from skillopt.gate.sign_flip_test import p_value
from skillopt.rollouts import Score
from skillopt.settings import Metric
from skillopt.tasks import Task, VerifierSpec

__all__ = ["GAINS", "Chances", "Judging", "chances", "parts_of", "smallest_gain_shown"]

GAINS: Final = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0)
"""True gains that are tried, in shares of what is scored."""

_START: Final = 0.5
_FLIPS: Final = 0.1
"""Share that is right at the start, and chance that a run shows the opposite; both are assumed."""

_GATE_SHARES: Final = (0.6, 0.25, 0.15)
"""Shares of the gate's error for one, two and three runs of every task."""

_HERE_LEVELS: Final = (0.04, 0.03, 0.02, 0.01)
"""Levels at which fresh repeats of the same tasks are looked at."""

_DRAFTS: Final = 1000
_LEAST_DRAFTS: Final = 40
_OUTCOMES: Final = 25_000
"""Drafts simulated for one gain, fewer where tasks are many; a chance of one half is then right to 5 points."""

_PARTS: Final = {"json": 4, "table": 4}
"""Leaves or cells that count one by one in such results: there are more, but they fail together."""


@dataclass(frozen=True, slots=True)
class Judging:
    """How a draft would be judged."""

    parts: tuple[int, ...]
    gate_rounds: int
    here_rounds: int
    metric: Metric
    confidence: float


@dataclass(frozen=True, slots=True)
class Chances:
    """How often a draft with some true gain gets a grade, in [0, 1]."""

    proven: float
    here: float


def parts_of(task: Task) -> int:
    """Count what a task is scored by: its checks, the criteria of a rubric, some parts of a table, else one."""
    return sum(map(_parts_of, task.verifier.parts))


def _parts_of(spec: VerifierSpec) -> int:
    if spec.kind == "rubric":
        return max(1, len(json.loads(spec.options).get("criteria", ())))
    return _PARTS.get(spec.kind, 1)


@lru_cache(maxsize=256)
def chances(judging: Judging, gain: float) -> Chances:
    """Simulate how drafts of one true gain would be graded; the same question has the same answer."""
    drafts = max(_LEAST_DRAFTS, min(_DRAFTS, _OUTCOMES // (10 * sum(judging.parts))))
    proven = here = 0
    for number in range(drafts):
        tasks = _Tasks(judging, gain, Random(f"{number}/{gain}"))
        if _is_proven(judging, tasks):
            proven += 1
        elif _is_proven_here(judging, tasks):
            here += 1
    return Chances(proven / drafts, (proven + here) / drafts)


def smallest_gain_shown(judging: Judging, *, proven: bool) -> float | None:
    """Return smallest true gain of `GAINS` that is shown in at least half of the runs that have it; None for none."""

    def shown(gain: float) -> bool:
        found = chances(judging, gain)
        return (found.proven if proven else found.here) >= 0.5  # noqa: PLR2004 - half of the runs

    at = bisect_left(GAINS, x=True, key=shown)
    return GAINS[at] if at < len(GAINS) else None


class _Tasks:
    """Simulated tasks under the first skill and a draft that breaks nothing."""

    def __init__(self, judging: Judging, gain: float, draw: Random) -> None:
        self._draw, self._metric = draw, judging.metric
        start = min(_START, 1.0 - gain)
        mended = gain / (1.0 - start)
        self._sides = [
            [(right, right or draw.random() < mended) for right in (draw.random() < start for _ in range(parts))]
            for parts in judging.parts
        ]

    def differences(self) -> list[float]:
        """Run both sides of every task once."""
        return [self._score([after for _, after in task]) - self._score([b for b, _ in task]) for task in self._sides]

    def _score(self, right: Sequence[bool]) -> float:
        found = [one is not (self._draw.random() < _FLIPS) for one in right]
        return self._metric.of(Score(fmean(found), all(found)))


def _is_proven(judging: Judging, tasks: _Tasks) -> bool:
    """Look as the gate does: after each round at the means by task, with a share of the error."""
    rounds: list[list[float]] = []
    for number in range(judging.gate_rounds):
        rounds.append(tasks.differences())
        means = [fmean(task) for task in zip(*rounds, strict=True)]
        error = (1.0 - judging.confidence) * _GATE_SHARES[number]
        if _shows(means, error, partial=judging.metric is not Metric.HARD and max(judging.parts) > 1):
            return True
    return False


def _shows(means: Sequence[float], error: float, *, partial: bool) -> bool:
    """Test one-sided: by signs where tasks pass or fail, else by a test that no rare great loss can mislead."""
    if not partial:
        return p_value(means) <= error
    test = observe(SequentialTest(SequentialPlan(len(means), 1.0 - error)), means)
    return conclude(test) is Outcome.ACCEPT


def _is_proven_here(judging: Judging, tasks: _Tasks) -> bool:
    """Look at the signs of fresh pairs, each run of each task one."""
    pairs: list[float] = []
    for level in _HERE_LEVELS[: judging.here_rounds]:
        pairs += tasks.differences()
        if p_value(pairs) <= level:
            return True
    return False
