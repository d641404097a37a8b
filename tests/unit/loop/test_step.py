"""Batches and steps: what is run of a draft, and what is taken out of it, in runs of the loop with scripted answers."""

from collections.abc import Iterator

from skillopt.loop.batch import run_batch

from skillopt.loop.events import EditRefused, EditScreened, Event
from skillopt.loop.step import take_step
from skillopt.loop.training_run import TrainingRun
from skillopt.presets import make_settings
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.testing import ScriptedRunner, scored
from tests.unit.loop.test_optimizer import BASE, SKILL, only, run, suite, teach


def learn(run: TrainingRun, epoch: int, step: int) -> list[Event]:
    """Run all train tasks once and reflect on them once."""

    def events() -> Iterator[Event]:
        shown = yield from run_batch(run, epoch, step, run.tasks)
        yield from take_step(run, epoch, step, shown)

    return list(events())


def test_what_was_taken_on_trust_goes_when_the_target_turns_out_to_repeat_itself() -> None:
    runner = ScriptedRunner(lambda request: scored(request, 0.0, "missing alpha"), teach)
    trained = TrainingRun(SKILL, suite(), make_settings(("test", BASE)), runner)
    for _ in range(40):
        trained.readiness.noise.add_repeat(0.0, 1.0)
    events = learn(trained, 1, 1)
    assert trained.draft.pending
    for epoch in range(2, 40):
        if trained.readiness.trusting:
            assert not only(events, EditScreened)
            events = learn(trained, epoch, epoch)
    assert not trained.readiness.trusting
    assert {event.reason for event in only(events, EditRefused)} == {
        "taken up on trust, but outcomes repeat well enough to try it alone"
    }
    assert only(events, EditScreened)
    assert trained.draft.skill == SKILL


def test_one_failure_of_a_task_that_passed_under_the_same_draft_is_not_reflected_on_and_a_second_one_is() -> None:
    def unlucky(request: RolloutRequest) -> Rollout:
        fails = request.task.id == "train-0" and request.repeat in {1, 2}
        return scored(request, float(not fails), "missing alpha" if fails else "")

    def reflections(epochs: int) -> int:
        runner = ScriptedRunner(unlucky, teach)
        run(runner, epochs=epochs, patience=0, slow_tasks=0)
        return sum(prompt.startswith("Task: reflect on failures") for prompt in runner.prompts)

    assert (reflections(2), reflections(3)) == (0, 1)
