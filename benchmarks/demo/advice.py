"""Table of what the demo model can propose for each symptom: rules in words, good ones and bad ones.

The words are in advice.toml. Good rules are worded in several ways; bad ones are the mistakes an optimizer model makes:
too general, or the wrong policy.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final


class Symptom(StrEnum):
    """What wrong cells, rows or columns can have in common."""

    SPACES = "stray spaces"
    DATES = "dates not in ISO form"
    DECIMAL_COMMA = "decimal commas"
    THOUSANDS = "thousands separators"
    SHORT_DECIMALS = "amounts without two decimals"
    CURRENCY_SYMBOL = "currency symbols in numbers"
    CURRENCY_INSIDE = "currency codes in numbers"
    CURRENCY_STYLE = "currencies not as codes"
    PARENTHESES = "negative numbers in parentheses"
    TRAILING_MINUS = "minus signs behind numbers"
    PERCENT = "percentages"
    BOOLEANS = "yes/no values"
    EMAIL = "e-mail addresses in capitals"
    PHONE = "phone numbers in local form"
    COUNTRY = "countries not as codes"
    POUNDS = "weights in pounds"
    INCHES = "lengths in inches"
    MISSING = "missing-value markers"
    IDS = "ids in another form"
    GROUP_BLANKS = "group labels written once"
    EMPTY_ROWS = "empty rows"
    TOTALS = "rows of totals"
    FOOTERS = "notes below the table"
    DOUBLE_ROWS = "rows that occur twice"
    STALE_ROWS = "outdated rows"
    ORDER = "rows in another order"
    HEADER_CASE = "headers not in snake_case"
    SYNONYMS = "other column names"
    EMPTY_COLUMN = "a column without name and content"
    UPPER_CASED = "text in capitals that should not be"
    ROUNDED = "numbers that lost their decimals"
    SEPARATORS_LOST = "numbers that lost their decimal point"
    ZERO_FILLED = "zeros where nothing should be"
    FILLED_DOWN = "values where nothing should be"
    ROWS_LOST = "rows that are gone"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to say about a symptom."""

    section: str
    good: tuple[str, ...]
    bad: tuple[str, ...]
    covered: re.Pattern[str]
    replaces: re.Pattern[str] | None = None


_TABLES: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("advice.toml").read_text(encoding="utf-8"))


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


ADVICE: Final[Mapping[Symptom, Advice]] = {
    Symptom(name): Advice(
        row["section"],
        tuple(row["good"]),
        tuple(row["bad"]),
        _words(row["covered"]),
        _words(row["replaces"]) if "replaces" in row else None,
    )
    for name, row in _TABLES["advice"].items()
}
"""Rules for symptoms that a missing or unclear rule causes."""

SUSPECTS: Final = {Symptom(name): _words(pattern) for name, pattern in _TABLES["suspects"].items()}
"""Lines that cause a symptom by being there; the cure is to delete them."""

IRRELEVANT: Final[tuple[str, ...]] = tuple(_TABLES["irrelevant"])
"""Sentences that sound right and change nothing."""
