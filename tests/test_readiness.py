"""When an edit alone could show something, and when a draft is worth a gate."""

import pytest

from skillopt.documents import Skill, SkillDocument
from skillopt.drafts import Draft
from skillopt.edits import Edit, Op
from skillopt.readiness import Readiness
from skillopt.settings import Settings

SKILL = Skill(
    "words", SkillDocument("---\nname: words\ndescription: Words.\n---\n# Words\n\n## Rules\n\n- Be brief.\n")
)
TRAIN, VAL = 10, 20


def readiness(**values: object) -> Readiness:
    return Readiness(Settings.model_validate(values), TRAIN, VAL)


def draft(edits: int = 1) -> Draft:
    """Give a draft in which some edits wait."""
    made = Draft(SKILL)
    made.take(Edit(f"e{at}", Op.ADD, section="Rules", content=f"- Rule {at}.") for at in range(edits))
    return made


def noisy(**values: object) -> Readiness:
    """Give one that has seen outcomes change every time."""
    made = readiness(**values)
    for _ in range(20):
        made.repeat(0.0, 1.0)
    return made


def test_a_target_that_repeats_itself_is_not_trusted() -> None:
    made = readiness()
    for _ in range(20):
        made.repeat(1.0, 1.0)
    assert not made.trusting
    assert made.noise < 0.1


def test_a_target_that_changes_half_of_its_outcomes_is() -> None:
    made = readiness()
    for at in range(20):
        made.repeat(0.0, float(at % 2))
    assert made.trusting


@pytest.mark.parametrize(("changed", "trusted"), [(3, False), (4, False), (6, True)])
def test_twelve_repeats_alone_do_not_call_a_target_noisy_that_changed_a_third(changed: int, *, trusted: bool) -> None:
    made = readiness()
    for at in range(12):
        made.repeat(0.0, float(at < changed))
    assert made.trusting is trusted


def test_trust_can_be_turned_off() -> None:
    assert not noisy(trust_noise=0).trusting


def test_without_a_screen_there_is_nothing_but_trust() -> None:
    assert readiness(screen_trials=0).trusting


def test_a_gate_is_due_once_nothing_new_has_come_for_long_enough() -> None:
    made, waiting = readiness(gate_patience=2), draft()
    made.note_batch([0.0] * 5)
    assert not made.due(waiting, left=5)
    made.note_batch([0.0] * 5)
    assert made.due(waiting, left=5)


def test_a_new_edit_puts_the_gate_off() -> None:
    made, waiting = readiness(gate_patience=2), draft()
    made.note_batch([0.0] * 5)
    made.note_edits()
    made.note_batch([0.0] * 5)
    assert not made.due(waiting, left=5)


def test_a_gate_is_due_when_so_many_edits_wait() -> None:
    made = readiness(gate_edits=2)
    assert not made.due(draft(1), left=5)
    assert made.due(draft(2), left=5)


def test_nothing_is_due_while_nothing_waits_or_the_gate_has_just_not_decided() -> None:
    made, waiting = readiness(gate_patience=1), draft()
    made.note_batch([0.0] * 5)
    assert not made.due(Draft(SKILL), left=5)
    made.note_verdict(waiting, accepted=False)
    assert not made.due(waiting, left=5)


def test_on_trust_the_gate_is_asked_when_the_draft_leads_on_train_and_not_before() -> None:
    made, waiting = noisy(), draft(8)
    made.note_batch([0.4] * TRAIN)
    made.note_batch([0.4] * TRAIN)
    assert not made.due(waiting, left=5)
    made.note_batch([0.9] * (TRAIN // 2))
    assert made.due(waiting, left=5)


def test_on_trust_the_gate_is_not_asked_again_about_the_same_rollouts() -> None:
    made, waiting = noisy(), draft(8)
    for score in (0.4, 0.4, 0.9):
        made.note_batch([score] * TRAIN)
    assert made.due(waiting, left=5)
    assert not made.due(waiting, left=5)
    made.note_batch([0.9] * TRAIN)
    assert made.due(waiting, left=5)


def test_after_an_accept_the_next_draft_must_lead_the_new_incumbent() -> None:
    made, waiting = noisy(), draft(8)
    for score in (0.4, 0.4, 0.9):
        made.note_batch([score] * TRAIN)
    made.note_verdict(waiting, accepted=True)
    made.note_batch([0.9] * TRAIN)
    assert not made.due(waiting, left=5)
