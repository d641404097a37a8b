"""Recheck: lines of weak evidence are left out once more when nothing else is to do."""

from collections.abc import Iterator
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line, inverse
from skillopt.loop.events import EditRefused
from skillopt.loop.learner import Learner
from skillopt.loop.leave_out import LeaveOut, leave_out

__all__ = ["recheck"]

_WEAK: Final = 4.5
_SURE: Final = 9.0
"""Evidence below which a line is looked at again, and that of one that was."""

_FOR_IT: Final = 1.9
"""Evidence that a line begins with, because it was needed once: it takes as much against it to go."""


def recheck(learner: Learner, step: int) -> Course[None]:
    """Leave weakly founded lines of the draft out again, once for each draft.

    It comes after an idle step where something did harm, else after two, so that the gate is not held up.
    """
    draft = learner.draft
    if learner.pooled or learner.idle < (1 if learner.harm else 2) or learner.rechecked == draft.skill.digest:
        return
    tests = list(_tests(learner))
    left = yield from leave_out(learner, draft.lines, tests, {})
    for test in tests:
        line = test.line
        if test.needed:
            line.evidence = _SURE
            continue
        if test.inverse and test.inverse in left:
            draft.accepted.remove(line)
        learner.forget(line)
        reason = "looked at again, nothing failed without it"
        learner.memory.tried(line.edit, reason)
        yield EditRefused(step, line.edit, reason)
    draft.set(left)
    learner.rechecked = draft.skill.digest


def _tests(learner: Learner) -> Iterator[LeaveOut]:
    """Return a test for each line of weak evidence; it begins with as much evidence for it as can be lost."""
    draft = learner.draft
    for line in sorted((*draft.accepted, *draft.lines), key=lambda line: line.edit.id):
        if line.packed or not line.targets or line.evidence >= _WEAK:
            continue
        inverse = _taken_back(learner, line) if line in draft.accepted else None
        if inverse or line not in draft.accepted:
            yield LeaveOut(line, list(line.targets), _FOR_IT, enough=-_FOR_IT, inverse=inverse)


def _taken_back(learner: Learner, line: Line) -> Line | None:
    """Return what takes an accepted line back; None where its text is not there any more."""
    edit = inverse(line.edit, f"{line.edit.id}-back", line.edit.tasks)
    if edit is None:
        return None
    back = Line(edit, evidence=_SURE)
    return back if learner.draft.fitting([*learner.draft.lines, back])[-1:] == (back,) else None
