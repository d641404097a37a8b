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
        ("Replace a decimal comma by a point.", [Operation(K.DECIMAL_COMMA)]),
        ("Remove thousands separators.", [Operation(K.THOUSANDS)]),
        ("Remove all commas and dots from numbers.", [Operation(K.REMOVE_SEPARATORS)]),
        ("Strip currency symbols so that amounts are plain numbers.", [Operation(K.CURRENCY_STRIP)]),
        ("Put the currency code in its own column.", [Operation(K.CURRENCY_SPLIT)]),
        ("Write currencies as upper-case ISO codes.", [Operation(K.CURRENCY_CODE)]),
        ("A number in parentheses is negative.", [Operation(K.PARENTHESES)]),
        ("Move a trailing minus to the front.", [Operation(K.TRAILING_MINUS)]),
        ("Write 19% as the fraction 0.19.", [Operation(K.PERCENT, value="fraction")]),
        ("Write yes/no answers as true or false.", [Operation(K.BOOLEANS)]),
        ("E-mail addresses are lower case.", [Operation(K.EMAIL_LOWER)]),
        ("Phone numbers are E.164; the default country code is +49.", [Operation(K.PHONE, value="49")]),
        ("Write headers in snake_case.", [Operation(K.SNAKE_HEADER)]),
        ("Rename qty to quantity.", [Operation(K.RENAME_COLUMNS, pairs=(("qty", "quantity"),))]),
        ("Drop columns that are empty.", [Operation(K.DROP_EMPTY_COLUMNS)]),
        ("Remove empty rows.", [Operation(K.DROP_EMPTY_ROWS)]),
        ("Delete every row with an empty cell.", [Operation(K.DROP_INCOMPLETE_ROWS)]),
        ("Leave out subtotal and total rows.", [Operation(K.DROP_TOTALS)]),
        ("Drop footnotes and other remarks below the table.", [Operation(K.DROP_FOOTERS)]),
        ("Fill the empty `warehouse` labels from the row above.", [Operation(K.FILL_DOWN, ("warehouse",))]),
        ("Fill every empty cell with the value above.", [Operation(K.FILL_ALL_DOWN)]),
        ("Remove rows that are exact duplicates.", [Operation(K.DROP_DUPLICATES)]),
        ("Of rows with the same `sku`, keep the most recent.", [Operation(K.KEEP_LATEST, ("sku",))]),
        ("Of duplicate rows keep the first.", [Operation(K.KEEP_FIRST)]),
        ("Sort the rows by `order_id`.", [Operation(K.SORT, ("order_id",))]),
        ("Sort the rows by date, newest first.", [Operation(K.SORT, value="descending date")]),
        ("Convert pounds to kg.", [Operation(K.CONVERT_UNIT, value="kg")]),
        ("Markers such as N/A or null become an empty cell.", [Operation(K.MISSING_TO_EMPTY)]),
        ("Fill missing values with 0.", [Operation(K.FILL_ZERO)]),
        ("Write countries as two-letter codes.", [Operation(K.COUNTRY_CODE)]),
        ("Pad ids with leading zeros to five digits.", [Operation(K.ID_PAD, value="5")]),
        ("Amounts have exactly two decimals.", [Operation(K.TWO_DECIMALS)]),
        ("Round all numbers to integers.", [Operation(K.ROUND_NUMBERS)]),
        ("Write all text in upper case.", [Operation(K.UPPER_ALL)]),
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
        "Fix the dates.",
        "Write dates as YYYY-MM-DD.",
        "Remove duplicates.",
        "Normalise the numbers.",
        "Format phone numbers consistently.",
        "Handle missing values.",
        "Convert percentages to plain numbers.",
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
