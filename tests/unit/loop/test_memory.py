"""The rejected-edit memory tells what was tried from what was not."""

import pytest

from skillopt.loop.memory import MOST_LISTED, MOST_REMEMBERED, Memory, PeoplesRefusal, find_reworded, refused_by_people
from skillopt.prompts.tried_edits import EditFate
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op


def idea(number: int) -> Edit:
    return Edit(f"e{number}", Op.ADD, content=f"- idea{number:02}")


def test_the_newest_edits_of_each_fate_are_listed_so_that_many_untried_ones_crowd_out_no_figures() -> None:
    memory = Memory()
    memory.tried(idea(0), "2 better, 0 worse of 5")
    for number in range(1, 31):
        memory.untried(idea(number), "over the edit budget of its step")
    fates = [edit.fate for edit in memory.listing(DOCUMENT)]
    assert fates.count(EditFate.TRIED) == 1
    assert fates.count(EditFate.UNTRIED) == MOST_LISTED
    assert "idea30" in memory.listing(DOCUMENT)[-1].summary


def test_notes_are_written_from_what_was_tried_or_refused_and_never_from_what_waits() -> None:
    memory = Memory()
    memory.untried(idea(0), "over the edit budget of its step")
    memory.refused(idea(1), "it adds a link")
    for number in range(2, MOST_REMEMBERED + 1):
        memory.tried(idea(number), "worse")
    assert len(memory.rejected) == MOST_REMEMBERED
    assert memory.rejected[0].endswith("'- idea01': it adds a link")


def test_an_edit_that_stays_when_it_is_tried_again_is_no_longer_listed_as_not_kept() -> None:
    memory = Memory()
    memory.tried(idea(1), "left out once: nothing fails without it")
    memory.tried(idea(2), "worse")
    memory.kept(Edit("revived", Op.ADD, content="- idea01"))
    assert [edit.summary for edit in memory.listing(DOCUMENT)] == [idea(2).summary]


DOCUMENT = SkillDocument("# Rows\n\n- Keep the header.\n- Trim every cell.\n")


def test_what_seemed_not_to_be_needed_is_not_decided_where_its_symptom_fails_again() -> None:
    memory = Memory()
    memory.tried(idea(1), "left out once: nothing fails without it", about=frozenset({"no date"}))
    (fate,) = [edit.fate for edit in memory.listing(DOCUMENT, {"no date"})]
    (other,) = [edit.fate for edit in memory.listing(DOCUMENT, {"no name"})]
    assert (fate, other) == (EditFate.UNDECIDED, EditFate.TRIED)


def test_an_edit_that_moved_nothing_is_told_at_once_and_counts_as_tried_when_it_waits_no_more() -> None:
    memory = Memory()
    memory.unmoved(idea(1), "")
    memory.settle([idea(1)])
    before = memory.listing(DOCUMENT)
    memory.settle([])
    assert [edit.fate for edit in (*before, *memory.listing(DOCUMENT))] == [EditFate.UNDECIDED, EditFate.TRIED]


def test_an_edit_on_trial_in_the_skill_that_is_shown_is_listed_as_part_of_it() -> None:
    memory = Memory()
    memory.unmoved(idea(1), "before the patch, task t1: score 0.50")
    (shown,) = memory.listing(SkillDocument("# Rows\n\n- idea01\n"))
    assert (shown.fate, shown.shown) == (EditFate.UNDECIDED, "")
    assert shown.reason.startswith("on trial")


def test_an_untried_edit_is_listed_only_while_it_fits_the_skill_that_is_shown() -> None:
    memory = Memory()
    memory.untried(Edit("e", Op.REPLACE, "- Trim every cell.", "", "- Trim."), "over the edit budget of its step")
    assert memory.listing(DOCUMENT)
    assert not memory.listing(SkillDocument("# Rows\n"))


TWO_RULES = PeoplesRefusal(
    Edit("old", Op.REPLACE, "- Sort.", "", "- Sort by name.\n- Write dates as ISO."), "we sort by id", "Ada"
)
GONE = PeoplesRefusal(Edit("gone", Op.DELETE, "- Trim every cell."), "")
NESTED = PeoplesRefusal(Edit("nested", Op.ADD, content="- Keep the header.\n- Round all\n  values."), "no", "Bo")


def why(edit: Edit) -> str:
    return refused_by_people(edit, [GONE, TWO_RULES, NESTED], DOCUMENT)


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (Edit("1", Op.ADD, content="- Sort by name.\n- Write dates as ISO."), "- Sort by name."),
        (Edit("1", Op.ADD, section="Rules", content="* sort  by NAME"), "* sort  by NAME"),
        (Edit("1", Op.REPLACE, "- Sort.", "", "3. Write dates as ISO."), "3. Write dates as ISO."),
        (Edit("1", Op.REWRITE, section="Rules", content="- Write dates as ISO."), "- Write dates as ISO."),
        (Edit("1", Op.ADD, content="## Order\n\n- Keep ids.\n- Sort by name."), "- Sort by name."),
    ],
)
def test_an_edit_that_says_what_people_refused_is_refused_with_who_did_and_why(edit: Edit, named: str) -> None:
    assert f"refused {named!r}: we sort" in why(edit)


@pytest.mark.parametrize(
    "edit",
    [
        Edit("1", Op.ADD, content="- Sort by id."),
        Edit("1", Op.ADD, content="- Keep the header."),
        Edit("1", Op.DELETE, "- Sort by name."),
        Edit("1", Op.ADD, content="- Trim every cell."),
    ],
)
def test_an_edit_that_says_something_else_or_what_the_document_has_is_not_refused(edit: Edit) -> None:
    assert why(edit) == ""


def test_an_edit_that_says_a_refused_rule_in_other_words_is_found_with_the_newest_such_refusal() -> None:
    older = PeoplesRefusal(Edit("1", Op.ADD, content="- Dates are in ISO form."), "not ours", "Bo")
    newer = PeoplesRefusal(
        Edit("1", Op.ADD, content="- Convert all dates to ISO."), "", "Ada", "https://forge.example/x/y/pull/9"
    )
    edits = [
        Edit("again", Op.ADD, content="- Round all values.\n- Write every date in ISO form."),
        Edit("other", Op.ADD, content="- Round all values."),
        Edit("gone", Op.DELETE, "- Write every date in ISO form."),
        Edit("known", Op.ADD, content="- Trim every cell."),
    ]
    refused = [older, newer, PeoplesRefusal(Edit("2", Op.ADD, content="- Trim each cell."), "")]
    assert find_reworded(edits, refused, DOCUMENT) == {"again": ("- Write every date in ISO form.", newer)}
    assert "refused in #9 by Ada" in newer.told
    assert "refused by Bo" in older.told
    assert find_reworded(edits, [], DOCUMENT) == {}


def test_a_deletion_that_people_refused_is_not_made_again() -> None:
    assert "refused '- Trim every cell.'" in why(Edit("1", Op.DELETE, "- Trim every cell."))


def test_what_people_refused_is_listed_first_and_not_forgotten_when_it_is_tried_again() -> None:
    memory = Memory([TWO_RULES])
    memory.tried(idea(1), "worse")
    memory.kept(TWO_RULES.edit)
    assert [(edit.fate, edit.reason) for edit in memory.listing(DOCUMENT)] == [
        (EditFate.PEOPLE, "Ada refused it: we sort by id"),
        (EditFate.TRIED, "worse"),
    ]
