"""When a draft is worth a gate, and whose turn it is to learn."""

from skillopt.loop.course import finish
from skillopt.loop.decision import gate_is_due
from skillopt.loop.training_run import TrainingRun
from tests.fakes.worlds import World, line, named

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


def test_a_small_lead_goes_to_the_gate_once_two_steps_have_brought_nothing() -> None:
    run, due = waiting(answered=1, val=6), []
    for run.policy.idle in range(3):
        due.append(gate_is_due(run))
    assert due == [False, False, True]


def test_a_draft_goes_to_the_gate_while_the_rollouts_last_for_it() -> None:
    assert not gate_is_due(waiting(answered=1, val=6, max_rollouts=120))
    assert gate_is_due(waiting(answered=1, val=6, max_rollouts=26))


def test_nothing_is_due_while_nothing_waits_or_the_same_text_was_just_gated() -> None:
    run = waiting()
    run.gated = run.draft.skill.digest
    assert not gate_is_due(run)
    run.gated = ""
    run.draft.set(())
    assert not gate_is_due(run)
