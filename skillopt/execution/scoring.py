"""Scoring skills side by side on one split; too little measured is no result."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.errors import InvalidMeasurementError
from skillopt.execution.cluster import make_executor
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.gate.comparison import Outcome, Tally, Verdict, compare, tally
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task

__all__ = ["NO_SKILL", "ScoredSkill", "Scoring"]

NO_SKILL = "none"


@dataclass(frozen=True, slots=True)
class ScoredSkill:
    """A skill that was scored on enough tasks; `digest` is empty for no skill."""

    name: str
    digest: str
    tally: Tally
    rollouts: tuple[Rollout, ...]


class Scoring:
    """Measures skills on the same tasks, outside of any run."""

    def __init__(self, ledger: Ledger, drivers: Drivers, settings: Settings, observer: RunObserver | None) -> None:
        observer = observer or RunObserver()
        executor = make_executor(settings, observer.notice, drivers.cluster)
        self._runner = RecordedRunner(ledger, "", drivers, executor, observer)
        self._settings = settings

    @property
    def paid_rollouts(self) -> int:
        """Count the rollouts that were not recorded before."""
        return self._runner.paid_rollouts

    def measure(
        self, named: Sequence[tuple[str, Skill | None]], tasks: Sequence[Task], repeats: int
    ) -> tuple[ScoredSkill, ...]:
        """Measure skills, in their order."""
        requests = [
            RolloutRequest(skill, task, repeat) for _, skill in named for repeat in range(repeats) for task in tasks
        ]
        rollouts = self._runner.rollouts(requests)
        size = len(tasks) * repeats
        parts = [rollouts[at * size : (at + 1) * size] for at in range(len(named))]
        return tuple(self._measured(name, skill, own) for (name, skill), own in zip(named, parts, strict=True))

    def compare(self, before: ScoredSkill, after: ScoredSkill) -> Verdict:
        """Compare two skills task by task, asking for confidence."""
        verdict = compare(
            before.rollouts,
            after.rollouts,
            rule=GateRule.PAIRED,
            metric=self._settings.metric,
            confidence=self._settings.confidence,
            coverage=self._settings.coverage,
        )
        if verdict.outcome is Outcome.INVALID:
            raise InvalidMeasurementError(f"{after.name}: {verdict.reason}")
        return verdict

    def _measured(self, name: str, skill: Skill | None, own: tuple[Rollout, ...]) -> ScoredSkill:
        found = tally(own)
        if found.measured < self._settings.coverage * (found.measured + found.missing):
            reason = next(rollout.reason for rollout in own if rollout.score is None)
            message = f"only {found.measured} of {found.measured + found.missing} tasks could be measured: {reason}"
            raise InvalidMeasurementError(f"{name}: {message}")
        return ScoredSkill(name, skill.digest if skill else "", found, own)
