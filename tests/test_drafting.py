"""Drafting: what is run of a draft, and what is taken out of it, in runs of the loop with scripted answers."""

import json

from skillopt.drafting import Drafter
from skillopt.events import EditRefused, EditScreened, TrainMeasured
from skillopt.lessons import Lessons
from skillopt.ports import RolloutRequest
from skillopt.presets import make_settings
from skillopt.rollouts import Rollout
from skillopt.testing import ScriptedRunner, scored
from tests.test_optimizer import BASE, SKILL, by_words, only, run, suite, teach

LEAVING = {"screen_trials": 0, "gate_patience": 12, "epochs": 4, "batch_size": 6, "reflections": 1}


def test_train_rollouts_may_leave_out_waiting_edits_and_are_then_no_outcome_of_the_draft() -> None:
    runner, again = ScriptedRunner(by_words, teach), ScriptedRunner(by_words, teach)
    tallies = [event.tally for event in only(run(runner, leave_out=0.5, **LEAVING), TrainMeasured)]
    assert any(tally.measured < 6 for tally in tallies)
    assert [tally.score for tally in tallies[2:]] == [1.0] * len(tallies[2:])
    run(again, leave_out=0.5, **LEAVING)
    assert runner.requests == again.requests


def test_a_waiting_edit_that_gains_nothing_on_the_tasks_it_cites_is_taken_out_before_the_gate() -> None:
    def idle(prompt: str) -> str:
        reply = json.loads(teach(prompt))
        if prompt.startswith("Task: reflect on failures"):
            cited = [f"train-{number}" for number in range(12)]
            reply["edits"].append({"op": "add", "section": "Rules", "content": "- idle", "tasks": cited})
        return json.dumps(reply)

    def mostly(request: RolloutRequest) -> Rollout:
        return by_words(request) if request.task.prompt.startswith("alpha") else scored(request, 0.0, "missing alpha")

    runner = ScriptedRunner(mostly, idle)
    events = run(runner, idle_gain=0.15, **LEAVING)
    refused = {event.edit.content: event.reason for event in only(events, EditRefused)}
    assert "left out: gain" in refused["- idle"]
    assert "- alpha" not in refused
    assert not any(
        "left out" in event.reason for event in only(run(ScriptedRunner(mostly, idle), **LEAVING), EditRefused)
    )


def test_what_was_taken_on_trust_goes_when_the_target_turns_out_to_repeat_itself() -> None:
    settings = make_settings(("test", BASE))
    runner = ScriptedRunner(lambda request: scored(request, 0.0, "missing alpha"), teach)
    drafter = Drafter(SKILL, suite(), settings, runner, Lessons(settings))
    for _ in range(40):
        drafter.readiness.noise.repeat(0.0, 1.0)
    events = list(drafter.learn(1, 0, drafter.tasks))
    assert drafter.draft.pending
    for epoch in range(2, 40):
        if drafter.readiness.trusting:
            assert not only(events, EditScreened)
            events = list(drafter.learn(epoch, epoch, drafter.tasks))
    assert not drafter.readiness.trusting
    assert {event.reason for event in only(events, EditRefused)} == {
        "taken up on trust, but outcomes repeat well enough to try it alone"
    }
    assert only(events, EditScreened)
    assert drafter.draft.skill == SKILL


def test_one_failure_of_a_task_that_passed_under_the_same_draft_is_not_reflected_on_and_a_second_one_is() -> None:
    def unlucky(request: RolloutRequest) -> Rollout:
        fails = request.task.id == "train-0" and request.trial in {1, 2}
        return scored(request, float(not fails), "missing alpha" if fails else "")

    def reflections(epochs: int) -> int:
        runner = ScriptedRunner(unlucky, teach)
        run(runner, epochs=epochs, patience=0, slow_tasks=0)
        return sum(prompt.startswith("Task: reflect on failures") for prompt in runner.prompts)

    assert (reflections(2), reflections(3)) == (0, 1)
