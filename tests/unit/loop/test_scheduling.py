"""When a draft is worth a gate, and whose turn it is to learn."""

import pytest

from skillopt.loop.course import finish
from skillopt.loop.decision import gate_is_due
from skillopt.loop.policy import MOST_TRIES
from skillopt.loop.training_run import TrainingRun
from tests.fakes.worlds import World, line, missing, named

WORDS = ("alpha", "beta", "gamma", "delta")


def waiting(answered: int = 4, val: int = 12, **values: object) -> TrainingRun:
    """Return a run whose draft answers so many of the four things that train tasks lack."""
    place = World(named([(word,) for word in WORDS], (12, val, 0)))
    run = place.training(str, (12, val, 0), **values)
    evidence = run.policy.evidence
    finish(evidence.run(evidence.draft.skill, evidence.tasks), run.answers)
    run.draft.set(
        [
            line(word, {f"train-{at}": [word] for at in (number, number + 4)})
            for number, word in enumerate(WORDS[:answered])
        ]
    )
    return run


def test_a_clear_lead_on_train_is_worth_a_gate_and_a_small_one_is_not() -> None:
    assert gate_is_due(waiting(answered=4))
    assert not gate_is_due(waiting(answered=1, val=6))


def test_the_more_tasks_the_gate_has_the_smaller_a_lead_may_be() -> None:
    assert not gate_is_due(waiting(answered=1, val=6))
    assert gate_is_due(waiting(answered=1, val=60))


def test_a_small_lead_goes_to_the_gate_once_two_steps_have_brought_nothing() -> None:
    run, due = waiting(answered=1, val=6), []
    for run.policy.idle in range(3):
        due.append(gate_is_due(run))
    assert due == [False, False, True]


def test_a_draft_goes_to_the_gate_while_the_rollouts_last_for_it() -> None:
    assert not gate_is_due(waiting(answered=1, val=6, max_rollouts=120))
    assert gate_is_due(waiting(answered=1, val=6, max_rollouts=30))


def test_nothing_is_due_while_nothing_waits_or_the_same_text_was_just_gated() -> None:
    run = waiting()
    run.gated = run.draft.skill.digest
    assert not gate_is_due(run)
    run.gated = ""
    run.draft.drop()
    assert not gate_is_due(run)


def test_learning_goes_on_while_something_is_open_and_ends_when_all_is_answered_or_given_up() -> None:
    run = waiting(answered=1)
    run.policy.idle = 5
    assert not run.policy.done
    for word in WORDS[1:]:
        run.policy.tries.update(dict.fromkeys(missing(word), MOST_TRIES))
    assert run.policy.done


def test_a_step_that_brought_something_is_followed_by_another_one() -> None:
    run = waiting(answered=4)
    assert not run.policy.done


@pytest.mark.parametrize("dry", [12, 40])
def test_a_proposer_that_never_brings_anything_is_not_asked_for_ever(dry: int) -> None:
    run = waiting(answered=0)
    run.policy.idle, run.policy.dry = 2, dry
    assert run.policy.done
