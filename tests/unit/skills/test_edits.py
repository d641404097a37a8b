"""Edits are bounded, exact, all-or-none, and leave alone what is protected."""

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import EditConflictError, EditError, ProtectedTextError
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits, split_lines

TEXT = """\
---
name: rows
description: Rows.
---
# Rows

Intro.

## Values

- Trim spaces.
- Write dätes as ISO.

## Output

Write CSV.

<!-- skillopt:begin guidance -->
- Keep this.
<!-- skillopt:end guidance -->

## Notes
"""
DOCUMENT = SkillDocument(TEXT)


def add(content: str, anchor: str = "", section: str = "", name: str = "e1") -> Edit:
    return Edit(name, Op.ADD, anchor, section, content)


def text_after(*edits: Edit, text: str = TEXT) -> str:
    return apply_edits(SkillDocument(text), edits).document.text


@given(st.binary())
def test_no_edits_change_no_byte(source: bytes) -> None:
    assert apply_edits(SkillDocument.parse(source), ()).document.render() == source


def test_deleting_a_line_takes_its_ending_and_deleting_or_replacing_a_part_takes_nothing_else() -> None:
    assert "## Values\n\n- Write" in text_after(Edit("e", Op.DELETE, "- Trim spaces."))
    assert "- Trim.\n" in text_after(Edit("e", Op.DELETE, " spaces"))
    assert text_after(Edit("e", Op.REPLACE, "ISO", content="YYYY-MM-DD")) == TEXT.replace("ISO", "YYYY-MM-DD")


def test_a_rewrite_replaces_the_own_text_of_a_section_and_leaves_heading_and_inner_sections() -> None:
    rewritten = text_after(Edit("e", Op.REWRITE, section="Rows", content="Read first.\n\n- Then write."))
    assert "# Rows\n\nRead first.\n\n- Then write.\n\n## Values\n\n- Trim spaces." in rewritten
    assert "Intro." not in rewritten
    last = text_after(Edit("e", Op.REWRITE, section="Notes", content="## Notes\n\n- Only this."))
    assert last.endswith("<!-- skillopt:end guidance -->\n\n## Notes\n\n- Only this.\n")


def test_a_rewrite_cannot_reach_into_a_protected_region_or_be_the_heading_alone() -> None:
    with pytest.raises(ProtectedTextError, match="guidance"):
        text_after(Edit("e", Op.REWRITE, section="Output", content="Write JSON."))
    with pytest.raises(EditError, match="found the heading alone"):
        text_after(Edit("e", Op.REWRITE, section="Values", content="## Values"))


TWICE = "# Guide\n\n## Rules\n\n### Dates\n\n- ISO.\n\n## Examples\n\n### Dates\n\n- 2024-03-05\n"


def test_sections_with_the_same_title_are_told_apart_by_their_heading_path() -> None:
    assert "- ISO.\n- New.\n" in text_after(add("- New.", section="Rules > Dates"), text=TWICE)
    assert text_after(add("- New.", section="## Guide > ## Examples > ### Dates"), text=TWICE).endswith("-05\n- New.\n")
    with pytest.raises(EditConflictError, match="> Dates', 'Examples', 'Guide > Examples >"):
        text_after(add("- New.", section="Dates"), text=TWICE)
    with pytest.raises(EditConflictError, match="found 0"):
        text_after(add("- New.", section="Dates > Rules"), text=TWICE)


def test_lines_that_are_added_at_one_place_stand_in_the_order_of_their_numbers_without_gaps() -> None:
    edits = [add(f"- {number}.", section="A", name=f"e{number}") for number in (10, 9, 2)]
    first = SkillDocument("# A\n\nText.\n\n# B\n")
    for order in permutations(edits):
        assert apply_edits(first, order).document.text == "# A\n\nText.\n\n- 2.\n- 9.\n- 10.\n\n# B\n"


@pytest.mark.parametrize(
    "edit",
    [
        Edit("e", Op.ADD, content="- Alone."),
        Edit("e", Op.ADD, content="## Dates\n\n- A.\n- B."),
        Edit("e", Op.REWRITE, section="Values", content="- A.\n- B."),
        Edit("e", Op.DELETE, "- Trim spaces.\n- Write dätes as ISO."),
    ],
    ids=["one line", "a new section", "rewrite", "delete"],
)
def test_what_makes_sense_only_together_is_not_split(edit: Edit) -> None:
    assert split_lines(edit) == (edit,)


@pytest.mark.parametrize(
    ("edit", "problem"),
    [
        (Edit("e", Op.DELETE, "- Trim space!"), "the nearest text is '- Trim spaces.'"),
        (Edit("e", Op.DELETE, "zzzz"), "the body has no text like it"),
        (Edit("e", Op.DELETE, "Write"), "on lines 12 and 16"),
        (add("- x", section="Valves"), "the sections are 'Rows', 'Values', 'Output', 'Notes'"),
    ],
)
def test_an_anchor_that_is_not_there_exactly_once_is_refused(edit: Edit, problem: str) -> None:
    with pytest.raises(EditConflictError, match=problem):
        apply_edits(DOCUMENT, [add("- New.", section="Values", name="e0"), edit])


@pytest.mark.parametrize(
    "arguments",
    [(Op.DELETE,), (Op.REPLACE, "a"), (Op.DELETE, "a", "", "b"), (Op.ADD, "a", "S", "b"), (Op.ADD, "", "", " ")],
)
def test_an_edit_that_lacks_a_part_or_has_one_too_many_is_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(EditError):
        Edit("e", *arguments)  # type: ignore[arg-type]  # the point of the test


def test_edits_that_do_not_touch_each_other_commute() -> None:
    edits = [
        add("- New.", section="Values", name="a"),
        add("- Newer.", section="Values", name="b"),
        Edit("c", Op.DELETE, "- Trim spaces."),
        Edit("d", Op.REPLACE, "Intro.", content="Start."),
    ]
    assert len({text_after(*order) for order in permutations(edits)}) == 1


@pytest.mark.parametrize("anchor", ["- Trim spaces.", "Trim", "spaces.\n- Write"])
def test_two_edits_of_the_same_text_conflict_and_say_so(anchor: str) -> None:
    with pytest.raises(EditConflictError, match="'a' and 'b' change"):
        apply_edits(DOCUMENT, [Edit("a", Op.DELETE, "- Trim spaces."), Edit("b", Op.REPLACE, anchor, content="x")])


def test_frontmatter_cannot_be_named_moved_or_made() -> None:
    with pytest.raises(ProtectedTextError):
        apply_edits(DOCUMENT, [Edit("e", Op.DELETE, "name: rows")])
    with pytest.raises(ProtectedTextError):
        text_after(add("---\nallowed-tools: Bash\n---"), text="")
    assert text_after(add("Trim."), text="---\nname: x\n---") == "---\nname: x\n---\nTrim.\n"


@given(st.data())
def test_no_byte_of_a_protected_region_can_be_changed(data: st.DataObject) -> None:
    (region,) = DOCUMENT.regions
    start = data.draw(st.integers(DOCUMENT.body_start, region.end - 1))
    end = data.draw(st.integers(max(start, region.start) + 1, len(TEXT)))
    for op, content in ((Op.DELETE, ""), (Op.REPLACE, "x")):
        if TEXT[start:end].strip():
            with pytest.raises((ProtectedTextError, EditConflictError)):
                apply_edits(DOCUMENT, [Edit("e", op, TEXT[start:end], content=content)])


def test_line_endings_mark_and_missing_final_newline_stay() -> None:
    windows = SkillDocument("\ufeff# A\r\n\r\n- one\r\n- two")
    patch = apply_edits(windows, [add("- three\n- four", section="A"), Edit("e2", Op.DELETE, "- one\n")])
    assert patch.document.text == "\ufeff# A\r\n\r\n- two\r\n- three\r\n- four"


@given(st.text(max_size=60), st.text(min_size=1, max_size=20), st.text(min_size=1, max_size=20))
def test_any_edit_of_any_text_applies_exactly_or_is_refused(text: str, anchor: str, content: str) -> None:
    document = SkillDocument(text)
    try:
        patch = apply_edits(document, [Edit("e", Op.REPLACE, anchor, content=content)])
    except EditError:
        return
    at = text.index(anchor.strip("\r\n"))
    assert patch.document.text.startswith(text[:at])
    assert patch.document.text[: document.body_start] == text[: document.body_start]


LISTED = "# Tidy\n\nRules:\n\n* Trim cells.\n* Keep dates.\n\n1. Read.\n2. Write.\n\nEnd.\n"


@pytest.mark.parametrize(
    ("anchor", "content", "expected"),
    [
        ("Trim cells.", "- Sort rows.", "* Trim cells.\n* Sort rows.\n* Keep dates."),
        ("Trim cells.", "Sort rows.", "* Trim cells.\n\n  Sort rows.\n* Keep dates."),
        ("1. Read.", "- Sort rows.", "1. Read.\n   - Sort rows.\n2. Write."),
        ("2. Write.", "Sort rows.", "2. Write.\n\nSort rows.\n\nEnd."),
    ],
)
def test_an_add_in_the_middle_of_a_list_does_not_split_it(anchor: str, content: str, expected: str) -> None:
    after = apply_edits(SkillDocument(LISTED), [Edit("a", Op.ADD, anchor, content=content)]).document

    assert expected in after.text


@pytest.mark.parametrize("opening", ["```", "~~~ text", "<pre>", "<!--", "<?php", "    ```\n```"])
def test_an_edit_that_swallows_the_text_below_it_is_refused_with_the_line(opening: str) -> None:
    with pytest.raises(EditConflictError, match="edit 'a': line 5"):
        apply_edits(SkillDocument(LISTED), [Edit("a", Op.ADD, "Rules:", content=opening)])


@pytest.mark.parametrize("content", ["> ```", "- three\n\n  ~~~", "- three\n  ```\n  x"])
def test_code_that_ends_only_with_its_list_or_quotation_is_refused(content: str) -> None:
    with pytest.raises(EditError, match="code that nothing closes"):
        text_after(add(content, "- Write dätes as ISO."))
