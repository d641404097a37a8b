"""Recheck: lines of weak evidence are left out once more when nothing else is to do."""

from skillopt.loop.ablation import recheck
from skillopt.loop.draft import Line
from skillopt.loop.events import EditRefused
from skillopt.loop.learner import MOST_TRIES, Learner
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op
from tests.fakes.worlds import World, drive, line, missing, told, words_of


def waiting(*said: str, idle: int = 2) -> tuple[World, Learner]:
    """Return a learner whose draft says some words, of which its tasks need `alpha`."""
    place = World({f"train-{at}": ("alpha",) for at in range(4)})
    learner = place.learner()
    drive(learner, learner.run(learner.draft.skill, learner.tasks))
    learner.draft.set([line(word, {"train-0": ["alpha"], "train-1": ["alpha"]}) for word in said])
    learner.idle = idle
    return place, learner


def dropped(learner: Learner) -> list[str]:
    return [event.edit.content for event in told(learner, recheck(learner, 3)) if isinstance(event, EditRefused)]


def test_a_line_that_nothing_needs_any_more_goes_and_is_remembered() -> None:
    _, learner = waiting("alpha", "omega")
    assert dropped(learner) == ["- omega"]
    assert words_of(learner.draft.skill) == {"keep", "alpha"}
    assert any("omega" in note for note in learner.memory.rejected)


def test_a_needed_line_stays_and_is_not_looked_at_again() -> None:
    place, learner = waiting("alpha")
    assert not dropped(learner)
    runs = len(place.requests)
    learner.rechecked = ""
    assert not dropped(learner)
    assert len(place.requests) == runs


def test_nothing_is_looked_at_while_steps_bring_something_or_twice_under_one_draft() -> None:
    place, learner = waiting("alpha", idle=0)
    runs = len(place.requests)
    assert not dropped(learner)
    learner.idle = 1
    assert not dropped(learner)
    assert len(place.requests) == runs
    learner.idle = 2
    dropped(learner)
    runs = len(place.requests)
    dropped(learner)
    assert len(place.requests) == runs


def test_where_something_did_harm_it_comes_one_idle_step_sooner() -> None:
    _, learner = waiting("alpha", "omega", idle=1)
    learner.harm = 1
    assert dropped(learner) == ["- omega"]


def test_a_line_that_was_accepted_is_taken_back_in_the_draft() -> None:
    _, learner = waiting("alpha", "omega")
    learner.draft.accept(learner.draft.skill)
    assert dropped(learner) == ["- omega"]
    assert words_of(learner.draft.skill) == {"keep", "alpha"}
    assert words_of(learner.draft.incumbent) == {"keep", "alpha", "omega"}  # the gate decides about it
    assert [one.edit.op for one in learner.draft.lines] == [Op.DELETE]
    assert [one.edit.id for one in learner.draft.accepted] == ["alpha"]


def test_an_accepted_line_whose_text_is_gone_is_left_alone() -> None:
    place, learner = waiting("omega")
    text = learner.draft.skill.document.text.replace("- omega\n", "- rewritten\n")
    learner.draft.accept(learner.draft.skill.with_document(SkillDocument(text)))
    runs = len(place.requests)
    assert not dropped(learner)
    assert len(place.requests) == runs


def test_a_line_that_says_several_things_is_left_alone() -> None:
    place, learner = waiting()
    learner.draft.set(
        [Line(Edit("p", Op.ADD, section="Rules", content="- one\n- two"), {"train-0": missing("x")}, packed=True)]
    )
    runs = len(place.requests)
    assert not dropped(learner)
    assert len(place.requests) == runs


def test_what_a_dropped_line_answered_is_asked_about_again() -> None:
    _, learner = waiting("omega")
    learner.tries.update(dict.fromkeys(missing("alpha"), MOST_TRIES))
    dropped(learner)
    assert learner.live(missing("alpha"))
