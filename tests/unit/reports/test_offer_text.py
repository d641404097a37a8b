"""The text of a pull request: true of what would be merged, on one screen, and readable whatever an edit says."""

import re
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.gate.grades import Grade, Grading
from skillopt.nightly.people_commands import read_checklist
from skillopt.reports.offer import OFFER_LIMIT, offer_body, offer_mark, offer_title
from skillopt.rollouts import Usage
from skillopt.versions.merging import Conflict
from tests.fakes.golden import is_golden
from tests.fakes.hostile_views import HOSTILE, tags_of
from tests.fakes.offers import KEY, offer
from tests.fakes.views import make_view

TEXTS = ("Write dates as YYYY-MM-DD.", "Put `12.50` as `-12.50`.", "Upper-case all ids in the table.")
LINES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60).filter(str.strip)


def first_screen(body: str) -> str:
    return body[: body.rindex("<details>")]


def test_an_offer_is_told_as_its_golden_file_says() -> None:
    assert is_golden("offer.md", offer_body(replace(offer(*TEXTS, by_people="Sort by name."), run=make_view())))


def test_the_first_sentence_has_tasks_gain_grade_and_the_lines_that_go_and_come() -> None:
    view = offer(*TEXTS)
    shorter = replace(view, before=f"{view.before}- Less.\n")
    assert offer_title(view) == "rows: 2 → 7 of 8 val tasks passed, proven"
    head = offer_body(shorter).split("```diff")[0]
    assert "**2 → 7 of 8 val tasks passed**, +62 points (90%: +22 to +87), score 0.40 → 0.90, **proven**" in head
    assert "1 line removed, 3 added" in head


def test_each_edit_has_a_box_with_its_key_and_its_text_as_code() -> None:
    body = offer_body(offer(*TEXTS))
    assert "- [x] **2** `` Put `12.50` as `-12.50`. `` — fixed" in body
    assert [(box.number, box.key, box.ticked) for box in read_checklist(body)] == [
        (number, f"{KEY}/{number}", True) for number in (1, 2, 3)
    ]
    unticked = body.replace("- [x] **2**", "- [ ] **2**")
    assert [box.key for box in read_checklist(unticked) if not box.ticked] == [f"{KEY}/2"]


def test_what_could_not_be_measured_claims_nothing_and_says_so_first() -> None:
    view = replace(offer(*TEXTS), claim=None, unmeasured="all 4 rollouts are used up", grade=None)
    body = offer_body(view)
    assert "measured against main" in offer_title(view)
    told = [line for line in body.splitlines() if line and not line.startswith("<!--")]
    assert told[0].startswith("**Not measured**")
    assert "because nothing was measured" in body
    assert not view.proven
    assert "passed**" not in body


def test_a_draft_says_in_its_title_what_it_is_and_in_its_text_that_it_is_not_shown() -> None:
    grading = Grading(Grade.LIKELY, 0.91, 0.18, -0.06, 0.36, 12, 4)
    view = replace(offer(*TEXTS), grade=Grade.LIKELY, grading=grading)
    assert "2 → 7 of 8" in offer_title(view)
    assert offer_title(replace(view, grade=Grade.PROVEN_HERE)).endswith(", proven here")
    assert offer_title(replace(view, draft=True)).endswith(", draft, likely better (91%)")
    body = offer_body(view)
    assert "**likely better (91%)**" in body
    assert "skillopt take rows" in offer_body(replace(view, draft=True))
    assert "> [!NOTE]" not in offer_body(offer(*TEXTS))


def test_what_a_person_must_look_at_stands_in_a_red_box_above_the_difference() -> None:
    conflict = Conflict("skills/rows/SKILL.md", "- Round to three digits.", "- Round to two digits.")
    body = offer_body(replace(offer(*TEXTS), flags=("line 9 adds the URL 'https://x.example'",), conflicts=(conflict,)))
    assert body.index("> [!CAUTION]") < body.index("```diff")
    assert "`- Round to three digits.`" in body
    assert "`- Round to two digits.`" in body


def test_an_edit_that_people_refused_in_other_words_stands_in_the_red_box_and_makes_it_a_draft() -> None:
    view = offer(*TEXTS)
    edits = (replace(view.edits[0], refused="refused in 9 by ada: no"), *view.edits[1:])
    asked = replace(view, edits=edits)
    assert "- edit **1** was refused in 9" in offer_body(asked)
    assert (view.proven, asked.proven) == (True, False)
    assert replace(asked, edits=edits[1:]).proven
    assert offer_mark(asked) != offer_mark(view)


def test_what_a_drop_cost_and_the_target_are_on_the_first_screen() -> None:
    view = replace(offer(*TEXTS), dropped=(("- Sort.", "ada: no"),), target="demo-1")
    assert "Before the drop" not in offer_body(view)
    assert view.claim is not None
    shown = first_screen(offer_body(replace(view, claim=replace(view.claim, spent=Usage()))))
    said = "(`ada: no`). Before the drop: `2 → 7 of 8 tasks passed, +62 points (90%: +22 to +87)`. Now: 2 → 7 of 8 val"
    assert f"**Dropped**: `- Sort.` {said}" in shown
    assert "Target: `demo-1`." in shown


def test_the_first_screen_stays_short_however_many_edits_there_are() -> None:
    one, many = (first_screen(offer_body(offer(*(f"Rule {at} is this." for at in range(count))))) for count in (3, 60))
    assert len(read_checklist(offer_body(offer(*(f"Rule {at} is this." for at in range(60)))))) == 60
    unfolded = re.sub(r"<details>.*?</details>", "", many, flags=re.DOTALL)
    assert len(unfolded.splitlines()) < 60
    assert "50 more edits" in many
    assert "more edits" not in one


def test_the_mark_changes_with_what_is_said_and_with_nothing_else() -> None:
    view = offer(*TEXTS)
    assert offer_mark(view) == offer_mark(replace(view, run=make_view()))
    assert offer_mark(view) in offer_body(view)
    for other in (
        replace(view, after=f"{view.after}- More.\n"),
        replace(view, before=f"{view.before}- Less.\n"),
        replace(view, claim=None, unmeasured="no"),
        replace(view, grade=Grade.LIKELY),
    ):
        assert offer_mark(other) != offer_mark(view)


@settings(max_examples=60)
@given(st.lists(st.one_of(LINES, st.sampled_from([HOSTILE])), min_size=1, max_size=5), LINES)
def test_no_text_of_an_edit_changes_anything_but_itself(texts: list[str], by_people: str) -> None:
    body = offer_body(offer(*texts, by_people=by_people))
    tags = {tag.strip("/").split(" ")[0] for tag in tags_of(body)}
    assert tags <= {"p", "strong", "code", "pre", "ul", "li", "input", "details", "summary", "h3"}
    assert body.count("<!-- skillopt edit:") == len(read_checklist(body))
    assert {box.key for box in read_checklist(body)} <= {f"{KEY}/{number}" for number in range(1, 9)}
    assert body.count("<details>") == body.count("</details>")


@settings(max_examples=8, deadline=None)
@given(st.integers(4_000, OFFER_LIMIT), st.integers(1, 120))
def test_it_never_passes_its_limit(limit: int, count: int) -> None:
    view = replace(offer(*(f"Rule {at} says {HOSTILE}" for at in range(count))), run=make_view())
    assert len(offer_body(view, limit).encode("utf-16-le", "surrogatepass")) // 2 <= limit
