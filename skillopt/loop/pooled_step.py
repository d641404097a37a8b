"""Pooled step: where outcomes change from run to run, edits are taken up together and judged by whole epochs.

When nearly half of all failures pass by themselves, some ten runs are needed to tell one line from none. Whole epochs
of train tasks tell a draft from the incumbent with as many runs as one line would take.
"""

from collections.abc import Mapping
from math import sqrt
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import tally
from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.events import EditRefused, StepFailed, TrainMeasured
from skillopt.loop.learner import Learner, Seen
from skillopt.loop.proposing import propose_lines
from skillopt.loop.training_run import TrainingRun
from skillopt.skills.edits import Edit, Op

__all__ = ["is_promising", "take_pooled", "take_pooled_step"]

_BATCH: Final = 12
"""Train tasks of a step."""

_MOST_WAITING: Final = 24
"""Lines that wait without a test of their own: more of them make a skill that one verdict cannot carry."""

_CLEAR: Final = 2.5
"""Standard errors by which the draft must lead on train before the gate is asked."""

_ROUNDS: Final = 2
"""Rounds of the gate that its standard error is reckoned with; it may decide sooner, or need one more."""


def take_pooled_step(run: TrainingRun, learner: Learner, step: int) -> Course[None]:
    """Run the next train tasks and take up what a reflection on their failures proposes."""
    found = yield from learner.run(learner.draft.skill, learner.next_batch(_BATCH))
    yield from run.suspicions(step)
    yield TrainMeasured(step, tally(seen.rollout for seen in found.values()))
    learner.note_scores(found)
    failing = {name: seen for name, seen in found.items() if seen.symptoms and name not in learner.aside}
    if failing:
        yield from take_pooled(run, learner, step, failing)


def take_pooled(run: TrainingRun, learner: Learner, step: int, failing: Mapping[str, Seen]) -> Course[None]:
    """Take up what a reflection on failures proposes."""
    lines = yield from propose_lines(run, learner, step, learner.draft.lines, failing)
    learner.proposed += len(lines)
    free = _MOST_WAITING - sum(_growth(line.edit) for line in learner.draft.lines)
    kept: list[Line] = []
    for line in lines:
        if _growth(line.edit) > 0 and free <= 0:
            yield EditRefused(step, line.edit, f"{_MOST_WAITING} edits wait for a verdict already")
            continue
        free -= _growth(line.edit)
        kept.append(line)
    if kept:
        learner.draft.set([*learner.draft.lines, *kept])
        learner.kept += len(kept)
    else:
        yield StepFailed(step, "reflection", "no edit was left to try")


def is_promising(learner: Learner, val: int) -> bool:
    """Return whether the newest half epoch leads the first epoch by more than the gate's noise."""
    scores, train = learner.scores, len(learner.tasks)
    recent = max(1, train // 2)
    if not learner.first_scores or len(scores) - learner.asked_at < recent:
        return False
    gain = fmean(scores[-recent:]) - fmean(learner.first_scores)
    if gain <= _CLEAR * sqrt(2 * learner.rates.without * (1 - learner.rates.without) / (_ROUNDS * val)):
        return False
    learner.asked_at = len(scores)
    return True


def _growth(edit: Edit) -> int:
    """Count the lines of advice that an edit adds: one, none or one less."""
    return (edit.op is Op.ADD) - (edit.op is Op.DELETE)
