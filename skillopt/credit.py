"""Which edit helped or hurt: what each is worth on the tasks it cites, from every train rollout there is.

Owns the estimate. A rollout tells something about each edit that was in the skill and cites the task, so edits
that came together share what they gained, and few rollouts move an estimate little. Does not own deciding about
edits: the screen does that alone (screening), the gate together (gating).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean
from typing import Final

from skillopt.edits import Edit
from skillopt.rollouts import Rollout

__all__ = ["Credit", "CreditBook"]

_PRIOR: Final = 0.3
"""Standard deviation of an edit's effect before anything is measured, in points of a score."""

_LEAST_VARIANCE: Final = 0.01
_SWEEPS: Final = 100


@dataclass(frozen=True, slots=True)
class Credit:
    """What an edit is worth on the tasks it cites.

    Args:
        edit: Its id.
        gain: Estimated effect on a task's score, in [-1, 1], shrunk towards 0.
        error: Standard error of that.
        rollouts: Rollouts of those tasks with the edit; 0 tells nothing.
    """

    edit: str
    gain: float
    error: float
    rollouts: int


@dataclass(frozen=True, slots=True)
class _Seen:
    task: str
    edits: frozenset[str]
    score: float


class CreditBook:
    """Train rollouts since the last version, with the edits that were in the skill."""

    def __init__(self) -> None:
        self._seen: list[_Seen] = []

    def note(self, edits: Iterable[Edit], rollouts: Iterable[tuple[Rollout, float]]) -> None:
        """Note rollouts of a skill that holds some edits, each with its score; what was not measured is left out."""
        names = frozenset(edit.id for edit in edits)
        self._seen += [_Seen(rollout.task_id, names, score) for rollout, score in rollouts if rollout.score is not None]

    def clear(self) -> None:
        """Begin anew, from a version that holds what was credited so far."""
        self._seen.clear()

    def estimate(self, edits: Sequence[Edit]) -> tuple[Credit, ...]:
        """Estimate what each edit is worth.

        A ridge regression of scores on the edits in force, with a level for each task, solved by backfitting (Buja,
        Hastie and Tibshirani 1989), all edits at once. Its penalty is the noise found over the prior variance of an
        effect.

        Args:
            edits: Those to credit; each counts on the tasks that it cites.
        """
        cited = {edit.id: frozenset(edit.tasks) for edit in edits}
        rows = [
            (one, [name for name in sorted(one.edits & cited.keys()) if one.task in cited[name]]) for one in self._seen
        ]
        rows = [row for row in rows if any(row[0].task in tasks for tasks in cited.values())]
        gains = dict.fromkeys(cited, 0.0)
        noise = _fit(rows, gains)
        return tuple(_credit(name, cited[name], gains[name], noise, rows) for name in cited)


_Row = tuple[_Seen, list[str]]


def _fit(rows: Sequence[_Row], gains: dict[str, float]) -> float:
    """Fit the gains in place; give the variance that is left."""
    if not rows:
        return _LEAST_VARIANCE
    by_task, by_edit = defaultdict(list), defaultdict(list)
    for row in rows:
        by_task[row[0].task].append(row)
        for name in row[1]:
            by_edit[name].append(row)
    mean = fmean(one.score for one, _ in rows)
    levels = dict.fromkeys(by_task, mean)
    noise = _variance(rows, levels, gains)
    crowd = max(len(names) for _, names in rows) or 1
    for _ in range(_SWEEPS):
        for task, found in by_task.items():
            rest = (one.score - sum(gains[name] for name in names) for one, names in found)
            levels[task] = (sum(rest) + mean) / (len(found) + 1)
        gains |= {edit: _step(gains, edit, found, levels, noise, crowd) for edit, found in by_edit.items()}
        noise = _variance(rows, levels, gains)
    return noise


def _step(
    gains: dict[str, float], edit: str, rows: Sequence[_Row], levels: dict[str, float], noise: float, crowd: int
) -> float:
    """Move a gain towards what the rest leaves; all move at once, so that edits that came together share evenly."""
    rest = (one.score - levels[one.task] - sum(gains[name] for name in names) for one, names in rows)
    penalty = noise / _PRIOR**2
    return gains[edit] + (sum(rest) - penalty * gains[edit]) / (len(rows) * crowd + penalty)


def _variance(rows: Sequence[_Row], levels: dict[str, float], gains: dict[str, float]) -> float:
    rest = (one.score - levels[one.task] - sum(gains[name] for name in names) for one, names in rows)
    return max(_LEAST_VARIANCE, fmean(left**2 for left in rest))


def _credit(name: str, tasks: frozenset[str], gain: float, noise: float, rows: Sequence[_Row]) -> Credit:
    """Put a standard error to a gain, from how often its tasks were run with the edit and without."""
    weight, count = 0.0, 0
    for task in sorted(tasks):  # sums of floats depend on the order
        of_task = [names for one, names in rows if one.task == task]
        having = sum(name in names for names in of_task)
        count += having
        weight += having * (len(of_task) - having + 1) / (len(of_task) + 1) if of_task else 0.0
    error = sqrt(noise / (weight + noise / _PRIOR**2))
    return Credit(name, round(max(-1.0, min(1.0, gain)), 4), round(error, 4), count)
