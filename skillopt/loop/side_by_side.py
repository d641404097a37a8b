"""Steps of two folds side by side: while one fold takes its step, idle workers begin what the other's next one asks.

The folds share no tasks, edits or draws, so the second step can be run on a copy of the run's state before its turn.
The step itself is taken in its turn, and finds most of its answers recorded.
"""

from copy import deepcopy

from skillopt.loop.recheck import recheck
from skillopt.loop.scheduling import next_learner
from skillopt.loop.step import take_step
from skillopt.loop.training_run import TrainingRun
from skillopt.protocols import Runner

__all__ = ["begin_next_step"]


def begin_next_step(run: TrainingRun) -> None:
    """Let idle workers begin the step after this one, where it is another fold's."""
    step = run.step
    if run.cross is None or not run.runner.looks_ahead or next_learner(run, 1) is next_learner(run):
        return
    before = _copied(run)

    def course(runner: Runner) -> None:
        if run.step > step:  # the step itself asks now
            return
        ahead = _copied(before)
        ahead.runner.become_ahead(runner)
        ahead.step += 1
        learner = next_learner(ahead)
        if learner is not None:
            for _ in take_step(ahead, learner, ahead.step):
                pass
            for _ in recheck(learner, ahead.step):
                pass

    run.runner.follow(course)


def _copied(run: TrainingRun) -> TrainingRun:
    """Copy all that a step changes; values that nothing changes are shared."""
    return deepcopy(run, {id(one): one for one in (run.suite, run.settings, run.protected)})
