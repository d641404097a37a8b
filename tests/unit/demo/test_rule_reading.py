"""Sentences are recognised as what they ask for, and as nothing when they ask for nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.demo.rule_reading import read_rules, read_sentence, sentences_of
from benchmarks.demo.tables import Operation, OperationKind

K = OperationKind


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Trim spaces around values and collapse runs of spaces inside them.", [Operation(K.TRIM)]),
        ("Write dates as YYYY-MM-DD; numeric dates are day first.", [Operation(K.ISO_DATES, value="day")]),
        ("Numeric dates are day first, not month first.", [Operation(K.ISO_DATES, value="day")]),
        ("Dates follow the American month/day order; write them in ISO form.", [Operation(K.ISO_DATES, value="month")]),
        ("Rewrite dates with month names as YYYY-MM-DD.", [Operation(K.DATE_WORDS)]),
        ("Write 19% as the fraction 0.19.", [Operation(K.PERCENT, value="fraction")]),
        ("Phone numbers are E.164; the default country code is +49.", [Operation(K.PHONE, value="49")]),
        ("Rename qty to quantity.", [Operation(K.RENAME_COLUMNS, pairs=(("qty", "quantity"),))]),
        ("Fill the empty `warehouse` labels from the row above.", [Operation(K.FILL_DOWN, ("warehouse",))]),
        ("Sort the rows by `order_id`.", [Operation(K.SORT, ("order_id",))]),
        ("Sort the rows by date, newest first.", [Operation(K.SORT, value="descending date")]),
        ("Pad ids with leading zeros to five digits.", [Operation(K.ID_PAD, value="5")]),
        ("Never drop footer notes.", [Operation(K.DROP_FOOTERS, off=True)]),
        ("Never leave thousands separators in numbers; drop them.", [Operation(K.THOUSANDS)]),
    ],
)
def test_a_clear_sentence_has_one_reading(sentence: str, expected: list[Operation]) -> None:
    rule = read_sentence(sentence)

    assert rule.clear
    assert rule.readings == (tuple(expected),)


@pytest.mark.parametrize(
    "sentence",
    [
        *("Fix the dates.", "Write dates as YYYY-MM-DD.", "Remove duplicates.", "Normalise the numbers."),
        *("Format phone numbers consistently.", "Handle missing values.", "Convert percentages to plain numbers."),
        "Sort the rows.",
    ],
)
def test_a_vague_sentence_has_several_readings(sentence: str) -> None:
    rule = read_sentence(sentence)

    assert not rule.clear
    assert len(set(rule.readings)) > 1


def test_only_prose_is_read_not_headings_code_or_comments() -> None:
    body = """# Trim spaces

- Remove empty rows. Sort the rows by id.
  This goes on here.

```
- Fill missing values with 0.
```

<!-- Round all numbers to integers. -->
Write headers in snake_case, e.g. `Order Date` as `order_date`.
"""

    assert list(sentences_of(body)) == [
        "Remove empty rows.",
        "Sort the rows by id.",
        "This goes on here.",
        "Write headers in snake_case, e.g. `Order Date` as `order_date`.",
    ]


@given(st.text(max_size=200))
def test_any_text_can_be_read(body: str) -> None:
    assert all(rule.sentence.strip() for rule in read_rules(body))
