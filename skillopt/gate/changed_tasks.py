"""Tasks whose outcome differs between two skills, regressions first, each with a line of what the verifier said."""

from collections.abc import Iterable
from dataclasses import astuple, dataclass
from enum import StrEnum
from statistics import fmean

from skillopt.gate.comparison import PairedTask
from skillopt.gate.decide import Verdict
from skillopt.rollouts import Rollout


class OutcomeChange(StrEnum):
    """How the outcome of a task differs, what matters most first."""

    BROKEN = "broken"
    FIXED = "fixed"
    LOWER = "lower score"
    HIGHER = "higher score"
    SAME = "same"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTask(PairedTask):
    """A task that was measured for both skills, and what the verifier said of a run of it that failed."""

    change: OutcomeChange
    feedback: str


def changed_tasks(verdict: Verdict, before: Iterable[Rollout], after: Iterable[Rollout]) -> tuple[ChangedTask, ...]:
    """List the tasks of a comparison, those that changed most in what matters most first."""
    said = _feedback(before) | _feedback(after)
    found = [
        ChangedTask(
            *astuple(pair),
            change=_change(pair.passed_after - pair.passed_before, pair.score_after - pair.score_before),
            feedback=said.get(pair.task, ""),
        )
        for pair in verdict.pairs
    ]
    order = list(OutcomeChange)
    return tuple(sorted(found, key=lambda one: (order.index(one.change), -_size(one), one.task)))


def _change(passed: float, score: float) -> OutcomeChange:
    if passed:
        return OutcomeChange.BROKEN if passed < 0 else OutcomeChange.FIXED
    if score:
        return OutcomeChange.LOWER if score < 0 else OutcomeChange.HIGHER
    return OutcomeChange.SAME


def _size(one: ChangedTask) -> float:
    return fmean((abs(one.passed_after - one.passed_before), abs(one.score_after - one.score_before)))


def _feedback(rollouts: Iterable[Rollout]) -> dict[str, str]:
    """Return what was said of the first run of each task that failed."""
    found: dict[str, str] = {}
    for rollout in rollouts:
        if rollout.score is not None and not rollout.score.passed:
            found.setdefault(rollout.task_id, rollout.score.feedback or rollout.reason)
    return found
