"""Train rollouts: run the draft on a batch of train tasks and choose what a reflection is about."""

from collections.abc import Generator, Iterator, Sequence

from skillopt.gate.comparison import tally
from skillopt.gate.gate import check_coverage
from skillopt.loop.events import EditRefused, Event, TrainMeasured
from skillopt.loop.training_run import Shown, TrainingRun, has_passed
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream
from skillopt.tasks import Task

__all__ = ["run_batch"]


def run_batch(run: TrainingRun, epoch: int, step: int, batch: Sequence[Task]) -> Generator[Event, None, Shown]:
    """Run the draft on a batch; flag verifiers that look wrong.

    Args:
        run: The state of the run.
        epoch: From 1; each runs every task anew.
        step: The first of this batch.
        batch: Train tasks.

    Returns:
        What was measured, without tasks set aside and failures that look like noise.

    Raises:
        InvalidMeasurementError: A smaller share than the coverage floor was measured.
    """
    repeat = Stream.LOOP.repeat(epoch - 1)
    rollouts = run.runner.rollouts([RolloutRequest(run.draft.skill, task, repeat) for task in batch])
    check_coverage(f"step {step}", rollouts, run.settings.coverage)
    yield TrainMeasured(step, tally(rollouts))
    shown = [pair for pair in zip(batch, rollouts, strict=True) if pair[1].score is not None]
    # Where outcomes repeat, a failure of what passed under this very draft is mostly noise; a second one is shown.
    steady = set() if run.readiness.trusting else {task.id for task in batch if run.draft.steady(task.id)}
    chance = {task.id for task, rollout in shown if not has_passed(rollout)} & steady
    for task, rollout in shown:
        run.draft.record_outcome(task.id, passed=has_passed(rollout))
    yield from _record_scores(run, step, [rollout for _, rollout in shown])
    yield from run.suspects.add_rollouts(step, rollouts)
    return [pair for pair in shown if pair[0].id not in run.suspects.set_aside | chance]


def _record_scores(run: TrainingRun, step: int, rollouts: Sequence[Rollout]) -> Iterator[Event]:
    """Record how the draft did; edits taken up on trust go when outcomes turn out to repeat well enough to screen."""
    trusting = run.readiness.trusting
    run.readiness.note_batch(run.scored(rollouts))
    if trusting and not run.readiness.trusting and run.on_trust:
        for edit in run.remove(run.on_trust):
            own = "taken up on trust, but outcomes repeat well enough to try it alone"
            yield EditRefused(step, edit, own if edit.id in run.on_trust else "it builds on one that is left out")
        run.on_trust.clear()
