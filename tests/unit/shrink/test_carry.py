"""Learned edits on a new upstream: applied one by one, already there, moved to their section, or their anchor gone."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.shrink.carry import Carried, carry_edits
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits

BASE = "# T\n\nWrite tables.\n\n## Values\n\n- Trim spaces.\n- Write dates as ISO.\n\n## Rows\n\n- Sort by id.\n"
RULE = Edit("a", Op.ADD, "- Trim spaces.", content="- Write e-mail addresses of people in lower case.")


def carried(upstream: str, *edits: Edit) -> list[Carried]:
    base, old = SkillDocument(BASE), SkillDocument(BASE)
    for edit in edits:
        old = apply_edits(old, [edit]).document
    return list(carry_edits([(edit, "c0ffee") for edit in edits], base, old, SkillDocument(upstream)))


def test_an_edit_whose_anchor_stands_is_applied() -> None:
    (one,) = carried(BASE.replace("Sort by id", "Sort by date"), RULE)
    assert (one.edit.anchor, one.fate, one.commit) == ("- Trim spaces.", "applied", "c0ffee")


def test_what_upstream_says_word_for_word_is_there_whatever_its_list_marker() -> None:
    (one,) = carried(BASE + "* Write e-mail addresses of people  in lower case.\n", RULE)
    assert (one.fate, one.reason) == ("already there", "word for word")


def test_what_upstream_says_in_other_words_is_applied_and_named() -> None:
    (one,) = carried(BASE + "- All e-mail addresses of people: write in lower case.\n", RULE)
    assert (one.fate, one.alike) == ("applied", "- All e-mail addresses of people: write in lower case.")


def test_lines_whose_anchor_is_gone_come_to_the_end_of_the_section_that_they_stood_in() -> None:
    replacing = Edit("b", Op.REPLACE, "- Write dates as ISO.", content="- Write dates as ISO, day first.")
    upstream = BASE.replace("- Trim spaces.", "- No spaces.").replace("- Write dates as ISO.", "- ISO dates.")
    for one in carried(upstream, RULE, replacing):
        assert (one.edit.op, one.edit.anchor, one.edit.section, one.fate) == (Op.ADD, "", "Values", "applied")


def test_half_a_sentence_or_a_section_that_upstream_dropped_has_no_place() -> None:
    part = Edit("a", Op.REPLACE, "spaces", content="spaces and tabs")
    gone = "# T\n\nWrite tables.\n"
    assert [one.fate for one in carried(gone, RULE, part)] == ["anchor gone"] * 2
    assert "found it nowhere" in carried(gone, RULE)[0].reason


def test_a_deletion_is_there_where_upstream_deleted_it_and_gone_where_upstream_reworded_it() -> None:
    deletion = Edit("a", Op.DELETE, "- Write dates as ISO.")
    without = BASE.replace("- Write dates as ISO.\n", "")
    assert carried(without, deletion)[0].fate == "already there"
    (one,) = carried(without + "- Write all dates as ISO.\n", deletion)
    assert (one.fate, one.alike) == ("anchor gone", "- Write all dates as ISO.")
    assert carried(BASE + "\n", deletion)[0].fate == "applied"


@given(st.lists(st.sampled_from(["- Trim spaces.", "- Write dates as ISO.", "- Sort by id."]), min_size=1, max_size=4))
def test_onto_the_text_that_they_were_learned_on_edits_give_the_old_text_again(anchors: list[str]) -> None:
    edits = [Edit("x", Op.ADD, anchor, content=f"- Rule {at}.") for at, anchor in enumerate(anchors)]
    old = again = SkillDocument(BASE)
    for edit in edits:
        old = apply_edits(old, [edit]).document
    for one in carried(BASE, *edits):
        again = apply_edits(again, [one.edit]).document
    assert again == old
