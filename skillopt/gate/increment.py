"""Increment: a draft that builds on a version proven in this run, each of whose lines was seen to be needed.

A last rule that three of 36 tasks need cannot be certified by any test on them. What is asked is that the draft is not
lower than the version in hand; the claim of the version stays the one against the start.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from random import Random
from typing import Final

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome, Verdict, compare, task_gains
from skillopt.gate.gate import first_failure
from skillopt.gate.grades import Grade, Grading
from skillopt.gate.posterior import Prior, estimate_gain
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout, Stream
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Task

__all__ = ["Increments", "compare_increment"]

_LOOK: Final = 12
"""Tasks between two looks."""

_ROUNDS: Final = 2
"""Most runs of each task."""

_HIGHER, _LOWER = 1.0, -4.0
"""Sums of differences that end the comparison. What was seen to be needed on train is rarely worse on `val`."""


class Increments:
    """Rollouts of versions and drafts on the tasks of the gate, each text once a round."""

    def __init__(self, tasks: Sequence[Task], settings: Settings, runner: Runner) -> None:
        self._order, self.settings, self._runner = list(tasks), settings, runner
        Random(f"{settings.seed}/increments").shuffle(self._order)
        self._known: dict[tuple[str, str, int], Rollout] = {}

    def measure(self, skills: Sequence[Skill], number: int) -> list[list[Rollout]]:
        """Return the rollouts of each skill up to a look; a text is run once in each."""
        order = [(task, Stream.INCREMENT.repeat(round_)) for round_ in range(_ROUNDS) for task in self._order]
        wanted = order[: (number + 1) * _LOOK]
        requests = [RolloutRequest(skill, task, repeat) for skill in skills for task, repeat in wanted]
        keys = [
            (request.skill.digest if request.skill else "", request.task.id, request.repeat) for request in requests
        ]
        new = [at for at, key in enumerate(keys) if key not in self._known]
        for at, rollout in zip(new, self._runner.rollouts([requests[at] for at in new]), strict=True):
            self._known[keys[at]] = rollout
        found = [self._known[key] for key in keys]
        return [found[: len(wanted)], found[len(wanted) :]]

    def note(self, skill: Skill, rollouts: Iterable[Rollout]) -> None:
        """Take up rollouts of a version that its own gate made, so that they need not be made again.

        They were lucky, or it would not be the version: that makes a draft's comparison with it a little stricter.
        """
        repeat = Stream.INCREMENT.repeat(0)
        for rollout in rollouts:
            if rollout.score is not None:
                self._known.setdefault((skill.digest, rollout.task_id, repeat), rollout)

    @property
    def looks(self) -> int:
        """Count the looks of a comparison that goes to its end."""
        return -(-_ROUNDS * len(self._order) // _LOOK)


def compare_increment(increments: Increments, place: str, incumbent: Skill, candidate: Skill, prior: Prior) -> Verdict:
    """Accept a draft that is not lower than the version it builds on, by as few tasks as show it."""
    for number in range(increments.looks):
        before, after = increments.measure((incumbent, candidate), number)
        verdict = _compared(increments.settings, before, after)
        total = verdict.gain * len(before)
        if total >= (0.0 if number else _HIGHER) or total <= _LOWER:
            break
    if verdict.outcome is Outcome.INVALID:
        raise InvalidMeasurementError(f"{place}: {verdict.reason}{first_failure((*before, *after))}")
    accepted = verdict.gain >= 0
    gain = f"gain in {increments.settings.metric.label} {verdict.gain:+.3f}"
    found = f"{gain} over a proven version, each line seen to be needed"
    reason = f"{found}: {'not lower' if accepted else 'lower'}"
    outcome = Outcome.ACCEPT if accepted else Outcome.REJECT
    return replace(verdict, outcome=outcome, reason=reason, grading=_graded(increments, before, after, prior))


def _graded(increments: Increments, before: Sequence[Rollout], after: Sequence[Rollout], prior: Prior) -> Grading:
    """Put figures to what was added: the version stays proven against the first one, the increment itself is not."""
    gains = task_gains(before, after, increments.settings.metric).values()
    found = estimate_gain(tuple(gains), prior)
    changed = sum(gain != 0 for gain in gains)
    added = f"{found.gain:+.3f} ({found.low:+.3f} to {found.high:+.3f}), {found.probability:.0%} likely better"
    reason = f"proven against the first version; what was added since is not lower on {len(gains)} tasks: gain {added}"
    return Grading(
        Grade.PROVEN, found.probability, found.gain, found.low, found.high, len(gains), changed, reason, increment=True
    )


def _compared(settings: Settings, before: Sequence[Rollout], after: Sequence[Rollout]) -> Verdict:
    return compare(
        before,
        after,
        rule=GateRule.STRICT,
        metric=settings.metric,
        confidence=settings.confidence,
        coverage=settings.coverage,
    )
