"""Measuring for the gate: which rollouts on `val` a verdict rests on.

Owns that candidate and incumbent run side by side with a trial nobody has seen, and that too little
measured is no verdict. Does not own what the rollouts show (gate) or what becomes of it (optimizer).
"""

from collections.abc import Sequence

from skillopt.documents import Skill
from skillopt.errors import InvalidMeasurementError
from skillopt.gate import GateRule, Outcome, Verdict, compare, tally
from skillopt.ports import RolloutRequest, Runner
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.tasks import Task

__all__ = ["Gatekeeper", "check_coverage", "first_failure"]


class Gatekeeper:
    """Decides about candidates on the tasks of one split.

    Args:
        tasks: The `val` tasks.
        settings: The gate's rule, metric, confidence and coverage.
        runner: Runs rollouts.
        first_trial: Trial of the first measurement; every further one has the next.
    """

    def __init__(self, tasks: Sequence[Task], settings: Settings, runner: Runner, first_trial: int = 0) -> None:
        self._tasks = tasks
        self._settings = settings
        self._runner = runner
        self._trial = first_trial
        self._recorded: tuple[Rollout, ...] = ()

    def baseline(self, skill: Skill) -> list[tuple[Rollout, ...]]:
        """Measure the first incumbent as often as the settings say; it takes the whole split each time."""
        trials = [self._measure(skill) for _ in range(self._settings.baseline_trials)]
        self._recorded = tuple(rollout for rollouts in trials for rollout in rollouts)
        check_coverage("baseline", self._recorded, self._settings.coverage)
        return trials

    def decide(self, place: str, incumbent: Skill, candidate: Skill) -> Verdict:
        """Compare a candidate with the incumbent.

        Args:
            place: Where in the run this is, for errors.
            incumbent: What the candidate must beat.
            candidate: What is tried.

        Raises:
            InvalidMeasurementError: Too little could be measured. Nothing is decided, so that a rerun can
                measure again what is missing.
        """
        settings = self._settings
        if settings.gate is GateRule.PAIRED or not self._recorded:
            # Measured anew each time: a stored score that was lucky once would block every later gain.
            before, after = self._measure_pair(incumbent, candidate)
        else:
            before, after = self._recorded, self._measure(candidate)
        verdict = compare(
            before,
            after,
            rule=settings.gate,
            metric=settings.metric,
            confidence=settings.confidence,
            coverage=settings.coverage,
        )
        if verdict.outcome is Outcome.INVALID:
            raise InvalidMeasurementError(f"{place}: {verdict.reason}{first_failure((*before, *after))}")
        if verdict.outcome is Outcome.ACCEPT:
            self._recorded = after
        return verdict

    def _measure(self, skill: Skill) -> tuple[Rollout, ...]:
        trial = self._next_trial()
        return self._runner.rollouts([RolloutRequest(skill, task, trial) for task in self._tasks])

    def _measure_pair(self, incumbent: Skill, candidate: Skill) -> tuple[tuple[Rollout, ...], tuple[Rollout, ...]]:
        """Run both in one batch and with the same trial."""
        trial = self._next_trial()
        requests = [RolloutRequest(skill, task, trial) for skill in (incumbent, candidate) for task in self._tasks]
        rollouts = self._runner.rollouts(requests)
        return rollouts[: len(self._tasks)], rollouts[len(self._tasks) :]

    def _next_trial(self) -> int:
        self._trial += 1
        return self._trial - 1


def check_coverage(place: str, rollouts: Sequence[Rollout], coverage: float) -> None:
    """Stop before anything is reported when a provider is dead, which must never look like "no improvement".

    Raises:
        InvalidMeasurementError: A smaller share of tasks than `coverage` was measured.
    """
    found = tally(rollouts)
    wanted = found.measured + found.missing
    if found.measured < coverage * wanted:
        failure = first_failure(rollouts)
        raise InvalidMeasurementError(f"{place}: only {found.measured} of {wanted} tasks could be measured{failure}")


def first_failure(rollouts: Sequence[Rollout]) -> str:
    """Quote the first reason for which a rollout is missing; empty when there is none."""
    reasons = (rollout.reason for rollout in rollouts if rollout.score is None)
    first = next(reasons, "")
    return f"; the first failure: {first}; rerun the same command when it is mended" if first else ""
