"""When an edit alone could show something, and when a draft is worth a gate."""

from skillopt.loop.draft import Draft
from skillopt.loop.scheduling import Readiness
from skillopt.rollouts import Rollout, Score, Status, Trajectory
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op

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
        made.noise.add_repeat(0.0, 1.0)
    return made


def batch(score: float, tasks: int) -> list[tuple[str, float]]:
    return [(f"t{at}", score) for at in range(tasks)]


def test_a_noisy_target_is_trusted_and_one_that_repeats_itself_is_not() -> None:
    assert noisy().trusting
    assert not readiness().trusting


def rollout(task: str, score: float | None) -> Rollout:
    scored = None if score is None else Score(score, score == 1.0)
    return Rollout(task, SKILL.digest, 0, Trajectory(), Status.OK if scored else Status.INFRA_ERROR, scored)


def measured(*scores: float) -> list[Rollout]:
    return [rollout(f"v{at}", score) for at, score in enumerate(scores)]


def test_repeats_of_the_first_skill_go_on_while_they_leave_open_whether_the_target_is_noisy() -> None:
    quiet, open_yet = readiness(), readiness()
    assert quiet.add_baseline([measured(*[1.0] * 12), measured(*[1.0] * 12)])
    assert not open_yet.add_baseline([measured(*[1.0] * 12), measured(*[1.0] * 8, *[0.0] * 4)])
    assert open_yet.add_baseline([measured(*[1.0] * 12), measured(*[1.0] * 12)])


def test_a_single_measurement_is_enough_where_the_settings_want_no_more() -> None:
    assert readiness().add_baseline([measured(1.0)])


def test_repeats_that_could_not_be_measured_tell_nothing() -> None:
    made = readiness()
    level = made.noise.level
    made.add_baseline([measured(1.0), [rollout("v0", None)]])
    assert made.noise.level == level


def test_trust_can_be_turned_off() -> None:
    assert not noisy(trust_noise=0).trusting


def test_without_a_screen_there_is_nothing_but_trust() -> None:
    assert readiness(screen_rollouts=0).trusting


def test_a_gate_is_due_once_nothing_new_has_come_for_long_enough() -> None:
    made, waiting = readiness(), draft()
    for _ in range(9):
        made.note_batch(batch(0.0, 5))
    assert not made.due(waiting, left=5)
    made.note_batch(batch(0.0, 5))
    assert made.due(waiting, left=5)


def test_edits_that_go_again_leave_those_waiting_that_no_gate_has_seen() -> None:
    made, waiting = readiness(), draft(3)
    made.note_verdict(waiting, accepted=False)
    waiting.take([Edit("new", Op.ADD, section="Rules", content="- New.")])
    gone = waiting.leave_out({"e0", "e1"})
    assert made.waiting(waiting) is False
    made.note_removed([0, 1])
    assert len(gone) == 2
    assert made.waiting(waiting)


def test_a_new_edit_puts_the_gate_off() -> None:
    made, waiting = readiness(), draft()
    for _ in range(9):
        made.note_batch(batch(0.0, 5))
    made.note_edits()
    made.note_batch(batch(0.0, 5))
    assert not made.due(waiting, left=5)


def test_the_gate_waits_longer_while_several_tasks_fail_again_and_again() -> None:
    made, waiting = readiness(), draft()
    due = []
    for _ in range(20):
        made.note_batch(batch(0.0, 5))
        due.append(made.due(waiting, left=5, stubborn=2))
    assert due == [False] * 19 + [True]


def test_a_gate_is_due_when_so_many_edits_wait() -> None:
    made = readiness(gate_edits=2)
    assert not made.due(draft(1), left=5)
    assert made.due(draft(2), left=5)


def test_nothing_is_due_while_nothing_waits_or_the_gate_has_just_not_decided() -> None:
    made, waiting = readiness(), draft()
    for _ in range(20):
        made.note_batch(batch(0.0, 5))
    assert not made.due(Draft(SKILL), left=5)
    made.note_verdict(waiting, accepted=False)
    assert not made.due(waiting, left=5)


def test_on_trust_the_gate_is_asked_when_the_draft_leads_on_train_and_not_before() -> None:
    made, waiting = noisy(), draft(8)
    made.note_batch(batch(0.4, TRAIN))
    made.note_batch(batch(0.4, TRAIN))
    assert not made.due(waiting, left=5)
    made.note_batch(batch(0.9, (TRAIN // 2)))
    assert made.due(waiting, left=5)


def test_on_trust_the_gate_is_not_asked_again_about_the_same_rollouts() -> None:
    made, waiting = noisy(), draft(8)
    for score in (0.4, 0.4, 0.9):
        made.note_batch(batch(score, TRAIN))
    assert made.due(waiting, left=5)
    assert not made.due(waiting, left=5)
    made.note_batch(batch(0.9, TRAIN))
    assert made.due(waiting, left=5)


def test_after_an_accept_the_next_draft_must_lead_the_new_incumbent() -> None:
    made, waiting = noisy(), draft(8)
    for score in (0.4, 0.4, 0.9):
        made.note_batch(batch(score, TRAIN))
    made.note_verdict(waiting, accepted=True)
    made.note_batch(batch(0.9, TRAIN))
    assert not made.due(waiting, left=5)
