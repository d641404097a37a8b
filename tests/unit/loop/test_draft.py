"""The draft: the incumbent with the lines that wait for the gate."""

from skillopt.loop.draft import Draft, Line
from skillopt.skills.edits import Edit, Op
from tests.fakes.worlds import SKILL, add, line, words_of


def drafted(*words: str) -> Draft:
    draft = Draft(SKILL)
    draft.set([Line(add(word)) for word in words])
    return draft


def test_edits_are_taken_up_one_after_the_other_and_may_build_on_each_other() -> None:
    draft = drafted("alpha")
    draft.set([*draft.lines, Line(Edit("r", Op.REPLACE, "- alpha", content="- beta"))])
    assert words_of(draft.skill) == {"keep", "beta"}
    assert len(draft.pending) == 2
    assert draft.incumbent == SKILL


def test_a_line_that_does_not_fit_is_left_out_and_the_others_stay() -> None:
    lost = Line(Edit("d", Op.DELETE, "not there"))
    draft, alpha, beta = Draft(SKILL), line("alpha", {}), line("beta", {})
    assert draft.fitting([alpha, lost, beta]) == (alpha, beta)
    draft.set([alpha, lost, beta])
    assert draft.lines == (alpha, beta)
    assert [change.edit.id for change in draft.pending] == ["alpha", "beta"]


def test_what_builds_on_a_line_goes_with_it() -> None:
    alpha, beta = line("alpha", {}), line("beta", {})
    follows = Line(Edit("r", Op.REPLACE, "- alpha", content="- omega"))
    draft = Draft(SKILL)
    draft.set([alpha, beta, follows])
    assert words_of(draft.skill) == {"keep", "beta", "omega"}
    assert words_of(draft.build([beta, follows])) == {"keep", "beta"}


def test_dropping_goes_back_to_the_incumbent_and_accepting_makes_a_new_one() -> None:
    draft = drafted("alpha")
    draft.set(())
    assert draft.skill == SKILL
    assert not draft.pending
    draft.set([Line(add("beta"))])
    (beta,) = draft.lines
    draft.accept(draft.skill)
    assert words_of(draft.incumbent) == {"keep", "beta"}
    assert draft.skill == draft.incumbent
    assert draft.accepted == [beta]
    assert not draft.pending
