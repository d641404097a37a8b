"""The training loop: rollouts, reflection, screen, gate, slow update, release check.

It is deterministic given settings, seed and the runner's answers, which is why resuming a run is running it again.
"""

from collections.abc import Generator, Iterator

from skillopt.loop.batch import run_batch
from skillopt.loop.caps import BudgetReached
from skillopt.loop.decision import measure_baseline, run_gate, run_last_gate
from skillopt.loop.events import EpochEnded, Event, HeldOutTestMeasured, RunEnded, RunStarted
from skillopt.loop.release_check import Released, check_release
from skillopt.loop.slow_update import update_slowly
from skillopt.loop.step import take_step
from skillopt.loop.training_run import TrainingRun
from skillopt.protocols import Runner
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Suite

__all__ = ["train"]


def train(
    skill: Skill, suite: Suite, settings: Settings, runner: Runner, released: Released | None = None
) -> Iterator[Event]:
    """Train a skill on a suite, yielding what happens as it happens.

    Args:
        skill: Where training starts.
        suite: Tasks in three splits.
        settings: All that shapes the run.
        runner: Answers rollouts and prompts.
        released: What the last version is compared with on `test`; the start, unless it is given.

    Raises:
        InvalidMeasurementError: Too little could be measured, for example because a provider is dead.
    """
    run = TrainingRun(skill, suite, settings, runner)
    yield RunStarted(skill.name, skill.digest, suite.name, suite.digest, run.steps)
    try:
        yield from measure_baseline(run)
        reason = yield from _run_epochs(run)
    except BudgetReached as reached:
        reason = str(reached)
    yield from run_last_gate(run)
    asked = run.runner.rollouts_asked
    if run.versions:
        for event in check_release(runner, released or Released(skill), run.draft.incumbent, run.test, settings):
            asked += 2 * len(run.test) if isinstance(event, HeldOutTestMeasured) else 0
            yield event
    yield RunEnded(reason, run.versions, asked, run.runner.calls_asked)


def _run_epochs(run: TrainingRun) -> Generator[Event, None, str]:
    """Go through the train split again and again; say why it ended."""
    settings, draft, idle = run.settings, run.draft, 0
    for epoch in range(1, settings.epochs + 1):
        before, waiting = run.versions, len(draft.pending)
        for step, batch in run.batches(epoch):
            shown = yield from run_batch(run, epoch, step, batch)
            for again in range(settings.reflections):
                if not shown:
                    break
                yield from take_step(run, epoch, step + again, shown)
                shown = run.unsolved(shown)
            if run.gate_is_due:
                yield from run_gate(run, epoch, step + settings.reflections - 1)
        yield from update_slowly(run, epoch)
        yield EpochEnded(epoch, run.versions - before)
        idle = 0 if run.versions > before or len(draft.pending) > waiting else idle + 1
        if idle == settings.patience > 0:
            return f"nothing new for {idle} epochs"
    return f"all {settings.epochs} epochs done"
