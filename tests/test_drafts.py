"""The draft: edits that wait for the gate, and which tasks they broke."""

from skillopt.documents import Skill, SkillDocument
from skillopt.drafts import Draft
from skillopt.edits import Edit, Op

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


def test_a_task_that_passed_before_an_edit_and_fails_after_it_has_regressed() -> None:
    draft = Draft(SKILL)
    draft.note("t1", passed=True)
    draft.note("t2", passed=False)
    draft.take([add("alpha")])
    draft.note("t1", passed=False)
    assert draft.regressed(["t1", "t2"]) == ("t1",)
    assert set(draft.failing) == {"t1", "t2"}
    assert draft.seen == 2


def test_suspects_are_the_lines_added_since_newest_first_and_no_older_ones() -> None:
    draft = drafted("old")
    draft.note("t1", passed=True)
    draft.take([add("newer"), add("newest")])
    suspects = draft.suspects(["t1"], 5)
    assert [(edit.op, edit.anchor, edit.tasks) for edit in suspects] == [
        (Op.DELETE, "- newest", ("t1",)),
        (Op.DELETE, "- newer", ("t1",)),
    ]
    assert len(draft.suspects(["t1"], 1)) == 1


def test_a_line_that_came_for_a_task_is_not_suspected_of_breaking_it() -> None:
    draft = Draft(SKILL)
    draft.note("t1", passed=True)
    draft.take([Edit("own", Op.ADD, content="- own", tasks=("t1",)), add("other")])
    assert [edit.anchor for edit in draft.suspects(["t1"], 5)] == ["- other"]


def test_what_passed_under_a_dropped_draft_says_nothing_of_later_edits() -> None:
    draft = drafted("alpha")
    draft.note("t1", passed=True)
    draft.drop()
    draft.take([add("beta")])
    assert not draft.regressed(["t1"])
    assert not draft.steady("t1")
    assert draft.seen == 0


def test_a_task_is_steady_when_it_passed_under_the_draft_as_it_is() -> None:
    draft = Draft(SKILL)
    draft.note("t1", passed=True)
    assert draft.steady("t1")
    assert not draft.steady("t2")
    draft.take([add("alpha")])
    assert not draft.steady("t1")


def test_a_task_that_fails_is_not_steady_before_it_has_passed_again() -> None:
    draft = Draft(SKILL)
    for passed, steady in ((True, True), (False, False), (False, False), (True, True)):
        draft.note("t1", passed=passed)
        assert draft.steady("t1") is steady


def test_a_task_is_stubborn_from_its_second_failure_in_a_row() -> None:
    draft = Draft(SKILL)
    for passed, stubborn in ((False, False), (False, True), (False, True), (True, False), (False, False)):
        draft.note("t1", passed=passed)
        assert bool(draft.stubborn) is stubborn


def test_a_draft_without_some_edits_holds_the_others_and_none_that_build_on_them() -> None:
    draft = drafted("alpha", "beta")
    draft.take([Edit("r", Op.REPLACE, "- alpha", content="- gamma")])
    skill, kept = draft.without({"alpha"})
    assert [edit.id for edit in kept] == ["beta"]
    assert skill.document.body.count("- ") == 2
    assert draft.without(()) == (draft.skill, draft.waiting)


def test_what_is_left_out_is_gone_and_what_came_since_a_task_passed_is_still_told() -> None:
    draft = drafted("alpha")
    draft.note("t1", passed=True)
    draft.take([add("beta")])
    draft.note("t2", passed=True)
    draft.take([add("gamma")])
    for task in ("t1", "t2"):
        draft.note(task, passed=False)
    assert [edit.id for edit in draft.leave_out({"beta"})] == ["beta"]
    assert [edit.id for edit in draft.waiting] == ["alpha", "gamma"]
    assert "- beta" not in draft.skill.document.body
    assert draft.regressed(["t1", "t2"]) == ("t1",)
    assert [edit.anchor for edit in draft.suspects(["t1"], 5)] == ["- gamma"]


def test_leaving_out_does_not_touch_what_was_accepted() -> None:
    draft = drafted("alpha")
    draft.accept(draft.skill)
    draft.take([add("beta")])
    assert not draft.leave_out({"alpha"})
    draft.leave_out({"beta"})
    assert draft.skill == draft.incumbent
    assert "- alpha" in draft.skill.document.body
