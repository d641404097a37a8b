"""Scoring skills side by side on one split, and what the calls of the Python API give back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.errors import InvalidMeasurementError
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.gate.changed_tasks import ChangedTask, changed_tasks
from skillopt.gate.comparison import Outcome, Tally, Verdict, compare, tally
from skillopt.gate.headline import Headline, headline_of_verdict
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    Event,
    GateDecided,
    HeldOutTestMeasured,
    ReleaseCheckWithheld,
    VersionAccepted,
    newest_draft,
)
from skillopt.loop.gained import gained_by_run
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Usage
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task

__all__ = ["NO_SKILL", "CompareResult", "EvaluateResult", "OptimizeResult", "Scoring"]

NO_SKILL = "none"


@dataclass(frozen=True, slots=True)
class OptimizeResult:
    """What a run came to."""

    run: str
    skill: Skill
    reason: str
    events: tuple[Event, ...]
    rollouts: int
    calls: int
    paid_rollouts: int
    paid_calls: int
    resumed: bool
    usage: Mapping[str, Usage]

    @property
    def versions(self) -> tuple[VersionAccepted, ...]:
        """List the accepted versions, oldest first, each with its whole text, its edits and its verdict."""
        return tuple(event for event in self.events if isinstance(event, VersionAccepted))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """List what the gate found of each candidate, in order."""
        return tuple(event.verdict for event in self.events if isinstance(event, GateDecided))

    @property
    def draft(self) -> DraftGraded | DraftChanged | None:
        """What waits at the end, with its grade unless a cap stopped the run before that; None for nothing."""
        return newest_draft(self.events)

    @property
    def headline(self) -> Headline | None:
        """The tasks passed before and after training, on the same tasks; None where nothing was accepted."""
        return gained_by_run(self.events)

    @property
    def test(self) -> HeldOutTestMeasured | None:
        """The release check on the held-out tasks, None when nothing was accepted or it was withheld."""
        return next((event for event in self.events if isinstance(event, HeldOutTestMeasured)), None)

    @property
    def withheld(self) -> str:
        """Why the release check was withheld; empty when it was not."""
        return next((event.reason for event in self.events if isinstance(event, ReleaseCheckWithheld)), "")


@dataclass(frozen=True, slots=True)
class EvaluateResult:
    """How a skill does on one split; `digest` is empty for no skill."""

    name: str
    digest: str
    tally: Tally
    rollouts: tuple[Rollout, ...]

    @property
    def usage(self) -> Usage:
        """The calls, tokens and US dollars of these rollouts, those that were in the store included."""
        return Usage.total(rollout.usage for rollout in self.rollouts)

    @property
    def score(self) -> float:
        """The mean score of the measured tasks, in [0, 1]."""
        return self.tally.score

    @property
    def tasks(self) -> Mapping[str, tuple[Rollout, ...]]:
        """The rollouts of each task, by its id."""
        found: dict[str, tuple[Rollout, ...]] = {}
        for rollout in self.rollouts:
            found[rollout.task_id] = (*found.get(rollout.task_id, ()), rollout)
        return found

    @property
    def passed(self) -> int:
        """Count the tasks that passed in each repeat that was measured."""
        scores = ([one.score for one in repeats if one.score is not None] for repeats in self.tasks.values())
        return sum(bool(found) and all(score.passed for score in found) for found in scores)

    @property
    def measured(self) -> int:
        """Count the tasks that have a score: `passed` of so many passed."""
        return self.tally.measured


@dataclass(frozen=True, slots=True)
class CompareResult:
    """Two skills on the same tasks."""

    before: EvaluateResult
    after: EvaluateResult
    verdict: Verdict

    @property
    def headline(self) -> Headline | None:
        """The tasks passed before and after, on the same tasks; None where none was measured for both."""
        return headline_of_verdict(self.verdict)

    @property
    def changed(self) -> tuple[ChangedTask, ...]:
        """List the tasks, regressions first, each with a line of what the verifier said."""
        return changed_tasks(self.verdict, self.before.rollouts, self.after.rollouts)


class Scoring:
    """Measures skills on the same tasks, outside of any run."""

    def __init__(self, ledger: Ledger, drivers: Drivers, settings: Settings, observer: RunObserver | None) -> None:
        observer = observer or RunObserver()
        self._runner = RecordedRunner(ledger, "", drivers, observer)
        self._settings = settings

    @property
    def paid_rollouts(self) -> int:
        """Count the rollouts that were not recorded before."""
        return self._runner.paid_rollouts

    def measure(
        self, named: Sequence[tuple[str, Skill | None]], tasks: Sequence[Task], repeats: int
    ) -> tuple[EvaluateResult, ...]:
        """Measure skills, in their order."""
        requests = [
            RolloutRequest(skill, task, repeat) for _, skill in named for repeat in range(repeats) for task in tasks
        ]
        rollouts = self._runner.rollouts(requests)
        size = len(tasks) * repeats
        parts = [rollouts[at * size : (at + 1) * size] for at in range(len(named))]
        return tuple(self._measured(name, skill, own) for (name, skill), own in zip(named, parts, strict=True))

    def compare(self, before: EvaluateResult, after: EvaluateResult) -> Verdict:
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

    def _measured(self, name: str, skill: Skill | None, own: tuple[Rollout, ...]) -> EvaluateResult:
        found = tally(own)
        if found.measured < self._settings.coverage * (found.measured + found.missing):
            reason = next(rollout.reason for rollout in own if rollout.score is None)
            message = f"only {found.measured} of {found.measured + found.missing} tasks could be measured: {reason}"
            raise InvalidMeasurementError(f"{name}: {message}")
        return EvaluateResult(name, skill.digest if skill else "", found, own)
