"""The draft: edits that wait for the gate, and which tasks they broke."""

from skillopt.loop.draft import Draft
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit, Op

SKILL = Skill("words", SkillDocument("---\nname: words\ndescription: Words.\n---\n# Words\n\n- Be brief.\n"))


def add(word: str) -> Edit:
    return Edit(word, Op.ADD, content=f"- {word}")


def drafted(*words: str) -> Draft:
    draft = Draft(SKILL)
    draft.take(map(add, words))
    return draft


def test_edits_are_taken_up_one_after_the_other_and_may_build_on_each_other() -> None:
    draft = drafted("alpha")
    draft.take([Edit("r", Op.REPLACE, "- alpha", content="- beta")])
    assert "- beta" in draft.skill.document.body
    assert "- alpha" not in draft.skill.document.body
    assert len(draft.pending) == 2
    assert draft.incumbent == SKILL


def test_an_edit_that_does_not_fit_any_more_is_left_out() -> None:
    draft = drafted("alpha")
    draft.take([Edit("d", Op.DELETE, "not there"), add("beta")])
    assert [change.edit.id for change in draft.pending] == ["alpha", "beta"]


def test_dropping_goes_back_to_the_incumbent_and_accepting_makes_a_new_one() -> None:
    draft = drafted("alpha")
    draft.drop()
    assert draft.skill == SKILL
    assert not draft.pending
    draft.take([add("beta")])
    draft.accept(draft.skill)
    assert draft.incumbent == draft.skill != SKILL
    assert not draft.pending


def test_tasks_that_failed_when_they_were_run_last_are_failing_and_all_that_were_run_are_seen() -> None:
    draft = Draft(SKILL)
    draft.record_outcome("t1", passed=True)
    draft.record_outcome("t2", passed=False)
    draft.take([add("alpha")])
    assert set(draft.failing) == {"t2"}
    draft.record_outcome("t1", passed=False)
    assert set(draft.failing) == {"t1", "t2"}
    assert draft.seen == 2


def test_what_passed_under_a_dropped_draft_says_nothing_of_later_edits() -> None:
    draft = drafted("alpha")
    draft.record_outcome("t1", passed=True)
    draft.drop()
    draft.take([add("beta")])
    assert not draft.steady("t1")
    assert draft.seen == 0


def test_a_task_is_steady_when_it_passed_under_the_draft_as_it_is() -> None:
    draft = Draft(SKILL)
    draft.record_outcome("t1", passed=True)
    assert draft.steady("t1")
    assert not draft.steady("t2")
    draft.take([add("alpha")])
    assert not draft.steady("t1")


def test_a_task_that_fails_is_not_steady_before_it_has_passed_again() -> None:
    draft = Draft(SKILL)
    for passed, steady in ((True, True), (False, False), (False, False), (True, True)):
        draft.record_outcome("t1", passed=passed)
        assert draft.steady("t1") is steady


def test_a_task_is_stubborn_from_its_second_failure_in_a_row() -> None:
    draft = Draft(SKILL)
    for passed, stubborn in ((False, False), (False, True), (False, True), (True, False), (False, False)):
        draft.record_outcome("t1", passed=passed)
        assert bool(draft.stubborn) is stubborn


def test_a_draft_without_some_edits_holds_the_others_and_none_that_build_on_them() -> None:
    draft = drafted("alpha", "beta")
    draft.take([Edit("r", Op.REPLACE, "- alpha", content="- gamma")])
    skill, kept = draft.without({"alpha"})
    assert [edit.id for edit in kept] == ["beta"]
    assert skill.document.body.count("- ") == 2
    assert draft.without(()) == (draft.skill, draft.waiting)


def test_what_is_left_out_is_gone_and_what_passed_with_it_counts_no_more() -> None:
    draft = drafted("alpha")
    draft.record_outcome("t1", passed=True)
    draft.take([add("beta")])
    draft.record_outcome("t2", passed=True)
    draft.take([add("gamma")])
    assert [edit.id for edit in draft.leave_out({"beta"})] == ["beta"]
    assert [edit.id for edit in draft.waiting] == ["alpha", "gamma"]
    assert "- beta" not in draft.skill.document.body
    assert draft.seen == 1  # t1, which passed before beta came


def test_leaving_out_does_not_touch_what_was_accepted() -> None:
    draft = drafted("alpha")
    draft.accept(draft.skill)
    draft.take([add("beta")])
    assert not draft.leave_out({"alpha"})
    draft.leave_out({"beta"})
    assert draft.skill == draft.incumbent
    assert "- alpha" in draft.skill.document.body
