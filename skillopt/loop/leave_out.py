"""Leave-one-out tests: lines are left out of a candidate on tasks they are cited for, many lines side by side.

The evidence is a sequential probability ratio test. A failure without the line counts only where the candidate, run
beside it, does not fail alike: else all lines of a candidate that fails anyway would look needed.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.learner import Learner, Seen
from skillopt.rollouts import Rollout
from skillopt.skills.document import Skill

__all__ = ["ENOUGH", "LeaveOut", "leave_out"]

ENOUGH: Final = 2.0
"""Evidence at which a line is needed, or not; 1 in 8 to be wrong at even odds."""

_BOTH_FAIL: Final = 0.7
"""What a failure without the line counts against it when the candidate fails, too."""

_MOST_RUNS: Final = 14

_ENOUGH_TO_STAY: Final = 0.1


_AT_A_TIME: Final = 3
"""Lines that are tested side by side: what harms should be gone before others are judged beside it."""


@dataclass(slots=True)
class LeaveOut:
    """The test of one line."""

    line: Line
    names: Sequence[str]
    evidence: float = 0.0
    least: float = -ENOUGH
    enough: float = 0.0
    inverse: Line | None = None
    runs: int = 0
    without: list[Rollout] = field(default_factory=list)
    beside: list[Rollout] = field(default_factory=list)
    held: list[bool] = field(default_factory=list)

    @property
    def open(self) -> bool:
        """Whether more runs are needed to tell."""
        return self.least < self.evidence < ENOUGH and self.runs < _MOST_RUNS

    def skip(self, name: str) -> None:
        """Leave out a task that could not be measured; a line that none can tell about stays."""
        self.names = [other for other in self.names if other != name]
        if not self.names:
            self.runs = _MOST_RUNS
            self.evidence = self.evidence if self.without else self.enough + _ENOUGH_TO_STAY

    @property
    def needed(self) -> bool:
        """Whether something needs the line, by what is known."""
        return self.evidence > self.enough

    @property
    def tasks(self) -> int:
        """Count the tasks it was left out on."""
        return len({rollout.task_id for rollout in self.without})

    @property
    def scores(self) -> tuple[float | None, float | None]:
        """The mean scores without the line, and of the candidate beside it; None where nothing was run."""
        return _mean_score(self.without), _mean_score(self.beside)


def leave_out(
    learner: Learner, base: Sequence[Line], tests: Sequence[LeaveOut], beside: dict[str, Seen]
) -> Course[list[Line]]:
    """Leave lines out, round after round, until it is known of each whether something needs it.

    Lines that one task cites and nothing seems to need may stand in for each other, so of these one goes in a round,
    and the others are tested again without it.
    """
    left, going = list(base), list(tests)
    start = {test.line: test.evidence for test in tests}
    while going:
        now = going[:_AT_A_TIME]
        yield from _run_round(learner, left, now, beside)
        over = [test for test in now if not test.open]
        dropped = [test for test in over if not test.needed]
        gone: list[LeaveOut] = []
        for test in dropped:
            if any(set(test.names) & set(other.names) for other in gone):
                test.evidence, test.runs = start[test.line], 0
            else:
                gone.append(test)
        for test in gone:
            left = [line for line in left if line is not test.line] + ([test.inverse] if test.inverse else [])
            for name in test.names:
                beside.pop(name, None)
        going = [test for test in going if test.open]
    return left


def _mean_score(rollouts: Sequence[Rollout]) -> float | None:
    scores = [rollout.score.value for rollout in rollouts if rollout.score]
    return fmean(scores) if scores else None


def _without(learner: Learner, base: Sequence[Line], test: LeaveOut) -> Skill:
    """Return the candidate without the line of a test."""
    rest = [line for line in base if line is not test.line]
    return learner.draft.build([*rest, test.inverse] if test.inverse else rest)


def _run_round(
    learner: Learner, base: Sequence[Line], tests: Sequence[LeaveOut], beside: dict[str, Seen]
) -> Course[None]:
    """Leave the line of each test out on its next task, then run the candidate beside those that fail."""
    asked = []
    for test in tests:
        asked.append((_without(learner, base, test), test.names[test.runs % len(test.names)]))
        test.runs += 1
    failing: list[tuple[LeaveOut, str, Seen]] = []
    ran = yield from learner.run_all(asked)
    for test, (_, name), seen in zip(tests, asked, ran, strict=True):
        if seen is None:
            test.skip(name)
            continue
        test.without.append(seen.rollout)
        if not test.line.targets[name] & seen.symptoms:
            test.evidence -= learner.rates.for_it
        elif learner.rates.repeats >= 3:  # noqa: PLR2004 - in so much noise the run beside it says nothing
            test.evidence += learner.rates.against
        else:
            failing.append((test, name, seen))
    _weigh(learner, failing, (yield from _beside(learner, base, failing, beside)))


def _beside(
    learner: Learner, base: Sequence[Line], failing: Iterable[tuple[LeaveOut, str, Seen]], known: dict[str, Seen]
) -> Course[list[Seen | None]]:
    """Return a run of the candidate for each failure, one that was made already where there is one."""
    text, found, wanted = learner.draft.build(base), [], []
    for at, (_, name, _) in enumerate(failing):
        found.append(known.pop(name, None))
        if found[-1] is None:
            wanted.append((at, name))
    ran = yield from learner.run_all([(text, name) for _, name in wanted])
    for (at, _), seen in zip(wanted, ran, strict=True):
        found[at] = seen
    return found


def _weigh(learner: Learner, failing: Sequence[tuple[LeaveOut, str, Seen]], beside: Sequence[Seen | None]) -> None:
    """Count a failure for a line where the candidate beside it does not show the same."""
    for (test, name, without), seen in zip(failing, beside, strict=True):
        if seen is None:
            continue
        test.beside.append(seen.rollout)
        targets = test.line.targets[name]
        test.held.append(not targets & seen.symptoms)
        broken = (targets & without.symptoms) - seen.symptoms
        test.evidence += learner.rates.against if broken else -_BOTH_FAIL
