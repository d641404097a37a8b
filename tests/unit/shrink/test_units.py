"""Units of a document, the text without some of them, and the edits that say so."""

from itertools import combinations

import pytest

from skillopt.shrink.units import deletions, find_units, without_units
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import apply_edits

TEXT = """---
name: x
description: Says x.
---

# Title

Intro of
two lines.

## Lists

- one
- two
  - nested a
  - nested b

## Tables

| a | b |
|---|---|
| 1 | 2 |
| 3 | 4 |

```python
first = 1

second = 2
```

> quoted
> more

<!-- skillopt:begin guidance -->
- protected
<!-- skillopt:end guidance -->

## Last

### Inner

The end.
"""


def units(text: str = TEXT) -> list[str]:
    return [unit.text.strip() for unit in find_units(SkillDocument(text))]


def test_units_are_items_paragraphs_rows_blocks_and_quotations_and_nothing_protected() -> None:
    assert units() == [
        "Intro of\ntwo lines.",
        "- one",
        "- nested a",
        "- nested b",
        "| 1 | 2 |",
        "| 3 | 4 |",
        "```python\nfirst = 1\n\nsecond = 2\n```",
        "> quoted\n> more",
        "The end.",
    ]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_any_two_units_go_and_the_others_stay_and_edits_apply(newline: str) -> None:
    document = SkillDocument(TEXT.replace("\n", newline))
    found = find_units(document)
    for pair in combinations(found, 2):
        short = without_units(document, pair)
        left = [unit.text for unit in find_units(short)]
        assert left == [unit.text for unit in found if unit not in pair]
        assert short.frontmatter == document.frontmatter
        applied = apply_edits(document, deletions(document, pair)).document
        assert [line for line in applied.text.splitlines() if line] == [
            line for line in short.text.splitlines() if line
        ]


def test_headings_and_heads_of_tables_go_with_the_last_unit_below_them_but_not_the_title() -> None:
    document = SkillDocument(TEXT)
    short = without_units(document, find_units(document)).text
    assert "# Title" in short
    assert "protected" in short
    assert not [word for word in ("Lists", "two", "| a", "Last", "Inner") if word in short]


def test_no_blank_lines_pile_up_where_a_paragraph_goes() -> None:
    document = SkillDocument("A.\n\nB.\n\nC.\n")
    assert without_units(document, [find_units(document)[1]]).text == "A.\n\nC.\n"


def test_one_of_two_equal_lines_is_named_by_the_line_before_it() -> None:
    document = SkillDocument("# T\n\n- same\n- other\n- same\n")
    last = find_units(document)[2]
    assert apply_edits(document, deletions(document, [last])).document.text == "# T\n\n- same\n- other\n"


@pytest.mark.parametrize("text", ["", "one line", "---\nname: x\n---\n", "\t- tab\n", "- caf\udce9\n"])
def test_small_and_odd_texts_are_cut_without_an_error(text: str) -> None:
    document = SkillDocument(text)
    assert without_units(document, ()).text == text
    without_units(document, find_units(document))


def test_text_that_people_protected_is_no_unit_and_stays_when_all_units_go() -> None:
    region = "<!-- skillopt:begin keep -->\n- Never drop a total.\n<!-- skillopt:end keep -->"
    document = SkillDocument(f"# Rows\n\n- Trim.\n\n## Totals\n\n{region}\n\n- Sort.\n")
    short = without_units(document, find_units(document)).text

    assert region in short
    assert "Trim" not in short
