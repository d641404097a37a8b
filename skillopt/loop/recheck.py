"""Recheck: lines of weak evidence are left out once more when nothing else is to do."""

from collections.abc import Iterator
from typing import Final

from skillopt.loop.draft import Line, inverse
from skillopt.loop.elimination import is_needed
from skillopt.loop.events import EditRefused, Event
from skillopt.loop.learner import Learner

__all__ = ["recheck"]

_WEAK: Final = 4.5
_SURE: Final = 9.0


def recheck(learner: Learner, step: int) -> Iterator[Event]:
    """Leave weakly founded lines of the draft out again, once for each draft.

    It comes after an idle step where something did harm, else after two, so that the gate is not held up.
    """
    draft = learner.draft
    if learner.idle < (1 if learner.harm else 2) or learner.rechecked == draft.skill.digest:
        return
    for line in sorted((*draft.accepted, *draft.lines), key=lambda line: line.edit.id):
        accepted = line in draft.accepted
        if line.packed or not line.targets or line.evidence >= _WEAK or not (accepted or line in draft.lines):
            continue
        back = _taken_back(learner, line) if accepted else None
        if (accepted and back is None) or is_needed(learner, line, back):
            line.evidence = _SURE
            continue
        draft.set([*(other for other in draft.lines if other is not line), *([back] if back else [])])
        if back:
            draft.accepted.remove(line)
        learner.forget(line)
        reason = "looked at again, nothing failed without it"
        learner.memory.tried(line.edit, reason)
        yield EditRefused(step, line.edit, reason)
    learner.rechecked = draft.skill.digest


def _taken_back(learner: Learner, line: Line) -> Line | None:
    """Give what takes an accepted line back; None where its text is not there any more."""
    edit = inverse(line.edit, f"{line.edit.id}-back", line.edit.tasks)
    if edit is None:
        return None
    back = Line(edit, evidence=_SURE)
    return back if learner.draft.fitting([*learner.draft.lines, back])[-1:] == (back,) else None
