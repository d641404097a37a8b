"""When to measure and when to stop: whether the draft is worth a gate, and whether anything is left to learn."""

from typing import Final

from skillopt.loop.learner import Learner
from skillopt.loop.pooled_step import is_promising
from skillopt.loop.training_run import TrainingRun

__all__ = ["gate_is_due", "open_learners"]

_CLEAR_LEAD: Final = 2.0
"""Expected z of a paired test on `val` at which the first gate is asked: earlier ones fail, later ones only wait."""


_LATER_LEAD: Final = 1.5
"""The same of a later one, which only has to show that the draft is not lower."""

_IDLE: Final = 2
"""Steps without a new line after which the draft goes to the gate."""

_GOOD_SHARE: Final = 0.4
"""Share of lines that survive elimination, from which one idle step is enough before a later gate."""

_LAST_STEP: Final = 10
"""Rollouts that another step takes at least."""


def gate_is_due(run: TrainingRun) -> bool:
    """Return whether the draft is to be compared with the incumbent now.

    That is when its lead on train is clear, when steps bring nothing new, or while the rollouts last.
    """
    learner, tasks = run.learner, len(run.val)
    if run.cross is not None:  # folds are judged once, together
        return False
    if not learner.draft.lines or run.gated == learner.draft.skill.digest:
        return False
    if learner.pooled and is_promising(learner, tasks):
        return True
    patient = not run.versions or (learner.kept < _GOOD_SHARE * learner.proposed)
    if learner.idle >= (_IDLE if patient else 1):
        return True
    if run.runner.left - run.siblings.kept < 2 * tasks + max(_LAST_STEP, tasks):
        return True
    return not learner.pooled and learner.lead(tasks) >= (_LATER_LEAD if run.versions else _CLEAR_LEAD)


def open_learners(run: TrainingRun) -> list[Learner]:
    """List the learners that have something left to learn; none where the draft only waits for the gate."""
    return [learner for learner in run.learners if not learner.done]
