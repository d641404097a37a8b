"""Increment: a draft that builds on a version proven in this run, each of whose lines was seen to be needed.

A last rule that three of 36 tasks need cannot be certified by any test on them. What is asked is that the draft is not
lower than the version in hand; the claim of the version stays the one against the start.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome, Verdict, compare
from skillopt.gate.gate import first_failure
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout, Stream
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Task

__all__ = ["Increments", "compare_increment"]

_LOOK: Final = 12
"""Tasks between two looks."""

_CLEAR: Final = 1.0
"""Sum of differences that ends the comparison: that much higher, or twice as much lower."""


class Increments:
    """Rollouts of versions and drafts on the tasks of the gate, each text once a round.

    Args:
        tasks: The `val` tasks.
        settings: Metric, confidence and coverage.
        runner: Runs rollouts.
    """

    def __init__(self, tasks: Sequence[Task], settings: Settings, runner: Runner) -> None:
        self._tasks, self.settings, self._runner = tasks, settings, runner
        self._known: dict[tuple[str, str], Rollout] = {}

    def measure(self, skills: Sequence[Skill], tasks: Sequence[Task]) -> list[list[Rollout]]:
        """Give the rollouts of each skill on some tasks; a text is run once on each."""
        repeat = Stream.INCREMENT.repeat(0)
        new = [(skill, task) for skill in skills for task in tasks if (skill.digest, task.id) not in self._known]
        found = self._runner.rollouts([RolloutRequest(skill, task, repeat) for skill, task in new])
        for (skill, task), rollout in zip(new, found, strict=True):
            self._known[skill.digest, task.id] = rollout
        return [[self._known[skill.digest, task.id] for task in tasks] for skill in skills]

    def looks(self) -> Iterator[Sequence[Task]]:
        """Give the tasks up to each look, in an order drawn once."""
        order = list(self._tasks)
        Random(f"{self.settings.seed}/increments").shuffle(order)
        for end in range(_LOOK, len(order) + _LOOK, _LOOK):
            yield order[:end]


def compare_increment(increments: Increments, place: str, incumbent: Skill, candidate: Skill) -> Verdict:
    """Accept a draft that is not lower than the version it builds on, by as few tasks as show it.

    Args:
        increments: Runs both.
        place: Where in the run this is, for errors.
        incumbent: The version in hand.
        candidate: The draft.

    Raises:
        InvalidMeasurementError: Too little could be measured.
    """
    for tasks in increments.looks():
        before, after = increments.measure((incumbent, candidate), tasks)
        verdict = _compared(increments.settings, before, after)
        total = verdict.gain * (verdict.wins + verdict.ties + verdict.losses)
        if total >= _CLEAR or total <= -2 * _CLEAR:
            break
    if verdict.outcome is Outcome.INVALID:
        raise InvalidMeasurementError(f"{place}: {verdict.reason}{first_failure((*before, *after))}")
    accepted = verdict.gain >= 0
    found = f"gain {verdict.gain:+.3f} over a proven version, each line seen to be needed"
    reason = f"{found}: {'not lower' if accepted else 'lower'}"
    return replace(verdict, outcome=Outcome.ACCEPT if accepted else Outcome.REJECT, reason=reason)


def _compared(settings: Settings, before: Sequence[Rollout], after: Sequence[Rollout]) -> Verdict:
    return compare(
        before,
        after,
        rule=GateRule.STRICT,
        metric=settings.metric,
        confidence=settings.confidence,
        coverage=settings.coverage,
    )
