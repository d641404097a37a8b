"""Whose line is it: every line of the difference is some edit's or some person's, and never the wrong one's."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skillopt.reports.offer import OfferedEdit, label_lines, share_lines
from skillopt.skills.edits import Edit, Op
from skillopt.skills.word_diff import match_lines
from tests.fakes.offers import offered_edit

BASE = [f"- Rule {number} of the base." for number in range(6)]
STEP = st.tuples(st.sampled_from(["add", "delete", "replace"]), st.integers(0, 8), st.booleans(), st.integers(1, 3))


def live(steps: list[tuple[str, int, bool, int]]) -> tuple[str, list[OfferedEdit], set[str], set[str]]:
    """Do steps, each by an edit or by a person; give the text, the edits, and the lines of each kind of author."""
    text, edits = list(BASE), list[OfferedEdit]()
    by_edits, by_people = set[str](), set[str]()
    for at, (what, place, is_edit, count) in enumerate(steps):
        before = list(text)
        spot = min(place, len(text) - 1) if text else 0
        new = [f"- Step {at} says {line} things." for line in range(count)] if what != "delete" else []
        gone = text[spot : spot + 1] if what != "add" else []
        text[spot : spot + len(gone)] = new
        (by_edits if is_edit else by_people).update([*new, *gone])
        if not is_edit or before == text:
            continue
        op = Op(what) if gone or what == "add" else Op.ADD
        edit = Edit("e", op, gone[0] if gone else "", "", "\n".join(new))
        ((went, came),) = share_lines("\n".join(before), "\n".join(text), [edit])
        number = len(edits) + 1
        edits.append(
            replace(offered_edit(number, "x"), before="\n".join(gone), after=edit.content, gone=went, come=came)
        )
    return "\n".join(text), edits, by_edits, by_people


@given(st.lists(STEP, max_size=8))
def test_rows_of_edits_and_lines_by_people_are_together_the_lines_of_the_difference(
    steps: list[tuple[str, int, bool, int]],
) -> None:
    after, edits, by_edits, by_people = live(steps)
    lines = label_lines("\n".join(BASE), after, edits)
    rows = Counter((line.sign, line.text) for line in lines if line.edit)
    people = Counter((line.sign, line.text) for line in lines if not line.edit)
    old, new = BASE, after.splitlines()
    found: Counter[tuple[str, str]] = Counter()
    for tag, low, high, start, end in match_lines(old, new).get_opcodes():
        if tag != "equal":
            found.update([("-", line) for line in old[low:high]] + [("+", line) for line in new[start:end]])
    assert rows + people == found
    assert {text for _, text in rows} <= by_edits
    assert {text for _, text in people} <= by_people


def test_a_line_that_an_edit_changed_in_the_middle_is_that_edit_s() -> None:
    edits = [
        Edit("a", Op.REPLACE, "two digits", "", "exactly two digits"),
        Edit("b", Op.DELETE, "- Be careful."),
        Edit("c", Op.REWRITE, "", "Rows", "Order rows by id."),
    ]
    before = "- Write two digits after the point.\n- Be careful.\nKeep rows as they are."
    after = "- Write exactly two digits after the point.\nOrder rows by id."
    assert share_lines(before, after, edits) == [
        (("- Write two digits after the point.",), ("- Write exactly two digits after the point.",)),
        (("- Be careful.",), ()),
        (("Keep rows as they are.",), ("Order rows by id.",)),
    ]


def test_what_a_later_edit_brought_again_is_the_later_edit_s() -> None:
    first, second = (replace(offered_edit(number, "x"), come=("- Same line.",)) for number in (1, 2))
    (line,) = label_lines("", "- Same line.\n", [first, second])
    assert line.edit == 2
