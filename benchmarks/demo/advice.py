"""Table of what the demo model can propose for each symptom: rules in words, good ones and bad ones.

Good rules are worded in several ways; bad ones are the mistakes an optimizer model makes: too general, or the wrong
policy.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__all__ = ["ADVICE", "IRRELEVANT", "SUSPECTS", "Advice", "Symptom"]


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


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_UPPER: Final = ("Write all text in upper case so that values match.", "Convert every cell to upper case.")
_BLIND: Final = ("Remove all commas and dots from numbers.", "Strip every separator from number cells.")
_ROUND: Final = ("Round all numbers to integers.", "Round amounts to whole numbers.")
_GAPS: Final = ("Drop every row with an empty cell.", "Remove rows that have missing values.")
_ZERO: Final = ("Fill empty cells with 0.", "Replace missing values by 0.")
_DOWN: Final = ("Fill every empty cell with the value above it.",)
_FIRST: Final = ("When an id occurs more than once, keep the first row and drop the others.",)

ADVICE: Final[Mapping[Symptom, Advice]] = {
    Symptom.SPACES: Advice(
        "Values",
        ("Trim leading and trailing spaces and collapse inner runs of spaces.", "Strip whitespace around every value."),
        _UPPER,
        _words(r"(?:trim|strip|collapse).*(?:space|whitespace)"),
    ),
    Symptom.DATES: Advice(
        "Values",
        (
            "Write dates as YYYY-MM-DD; numeric dates are {first} first.",
            "Convert every date to ISO form (YYYY-MM-DD), reading numeric dates {first} first.",
            "Dates become YYYY-MM-DD. In a numeric date the {first} comes first.",
        ),
        (
            "Write dates as YYYY-MM-DD; numeric dates are {second} first.",
            "Convert every date to ISO form (YYYY-MM-DD), reading numeric dates {second} first.",
        ),
        _words(r"date.*(?:{first}[- ]first|{first} comes first)"),
        _words(r"^(?!.*(?:sort|latest|duplicate|newest|occurs)).*\bdates?\b"),
    ),
    Symptom.DECIMAL_COMMA: Advice(
        "Values",
        (
            "Numbers with a decimal comma get a decimal point: `1.234,50` becomes `1234.50`.",
            "A comma before the last one or two digits of a number is a decimal comma; write a point instead.",
        ),
        _BLIND + _ROUND,
        _words(r"decimal comma"),
    ),
    Symptom.THOUSANDS: Advice(
        "Values",
        (
            "Remove thousands separators from numbers.",
            "Write numbers without thousands separators, so `1,234.50` becomes `1234.50`.",
        ),
        _BLIND,
        _words(r"thousand"),
    ),
    Symptom.SHORT_DECIMALS: Advice(
        "Values",
        ("Write amounts, prices and costs with exactly two decimals.", "Money always has two decimal places."),
        _ROUND,
        _words(r"two[- ]decimal"),
        _words(r"\bround\b.*(?:integer|whole)"),
    ),
    Symptom.CURRENCY_SYMBOL: Advice(
        "Values",
        (
            "Remove currency symbols from amounts and keep the plain number.",
            "Amounts are plain numbers: strip currency signs such as € or $.",
        ),
        _ROUND + _BLIND,
        _words(r"(?:remove|strip|without).*currency (?:symbol|sign)"),
    ),
    Symptom.CURRENCY_INSIDE: Advice(
        "Values",
        (
            "Move a currency code that stands beside an amount into its own column `currency`.",
            "When amounts carry a currency code, put the code in a separate column right after the amount.",
        ),
        _ROUND,
        _words(r"currency.*(?:own|separate) column"),
    ),
    Symptom.CURRENCY_STYLE: Advice(
        "Values",
        (
            "Write currencies as upper-case ISO 4217 codes, also where a symbol stands for them.",
            "The currency is always a three-letter code such as EUR.",
        ),
        _UPPER,
        _words(r"currenc.*(?:upper|4217|three-letter)"),
    ),
    Symptom.PARENTHESES: Advice(
        "Values",
        (
            "Parentheses around a number mean it is negative: `(12.50)` becomes `-12.50`.",
            "Write negative numbers in parentheses with a leading minus.",
        ),
        _BLIND,
        _words(r"parenthes"),
    ),
    Symptom.TRAILING_MINUS: Advice(
        "Values",
        (
            "Move a trailing minus to the front of the number.",
            "A minus behind a number belongs in front: `12.50-` becomes `-12.50`.",
        ),
        _ROUND,
        _words(r"minus.*(?:trailing|behind|front)|trailing minus"),
    ),
    Symptom.PERCENT: Advice(
        "Values",
        (
            "Write percentages as fractions, so `19%` becomes `0.19`.",
            "Divide percentages by 100 and write them without the sign.",
        ),
        ("Remove the percent sign and keep the number.", "Write percentages without their % sign."),
        _words(r"percent.*(?:fraction|100)"),
        _words(r"percent"),
    ),
    Symptom.BOOLEANS: Advice(
        "Values",
        (
            "Write yes/no values as `true` or `false`, also Y, N, 1 and 0.",
            "Flags such as yes, Y or 1 become `true`; no, N or 0 become `false`.",
        ),
        _UPPER,
        _words(r"\btrue\b.*\bfalse\b"),
    ),
    Symptom.EMAIL: Advice(
        "Values",
        ("Write e-mail addresses in lower case.", "Lower-case every email address."),
        _UPPER,
        _words(r"e-?mail.*lower|lower.*e-?mail"),
    ),
    Symptom.PHONE: Advice(
        "Values",
        (
            "Write phone numbers in E.164 form; numbers without a country code get +{code}.",
            "Phone numbers are digits only after the country code, which is +{code} when none is given.",
        ),
        (
            "Write phone numbers in E.164 form; numbers without a country code get +1.",
            "Format phone numbers consistently.",
        ),
        _words(r"phone.*\+{code}"),
        _words(r"phone"),
    ),
    Symptom.COUNTRY: Advice(
        "Values",
        (
            "Write countries as two-letter ISO codes in capitals.",
            "Replace country names by their ISO 3166 alpha-2 code.",
        ),
        _UPPER,
        _words(r"countr.*(?:two-letter|3166|\bcodes?)\b(?!.*\+)"),
    ),
    Symptom.POUNDS: Advice(
        "Values",
        (
            "Convert weights in pounds to kg, with two decimals and without the unit.",
            "Weights are in kg: multiply lb by 0.45359237 and leave the unit out.",
        ),
        _ROUND,
        _words(r"\bkg\b"),
    ),
    Symptom.INCHES: Advice(
        "Values",
        (
            "Convert lengths in inches to cm, with two decimals and without the unit.",
            "Lengths are in cm: multiply inches by 2.54 and leave the unit out.",
        ),
        _ROUND,
        _words(r"\bcm\b"),
    ),
    Symptom.MISSING: Advice(
        "Values",
        (
            "Replace missing-value markers such as N/A, - or null by an empty cell.",
            "Placeholders like N/A, null or a dash mean the value is missing; leave the cell empty.",
        ),
        _ZERO + _GAPS,
        _words(r"(?:n/a|null|marker|placeholder).*(?:empty|blank)"),
        _words(r"(?:missing|empty).*\b(?:0|zero)\b"),
    ),
    Symptom.IDS: Advice(
        "Values",
        (
            "Write ids in upper case with the number padded to {width} digits, as in {example}.",
            "Ids have capital letters and leading zeros up to {width} digits, for example {example}.",
        ),
        _UPPER,
        _words(r"\bids?\b.*(?:pad|leading zero|digits)"),
    ),
    Symptom.GROUP_BLANKS: Advice(
        "Rows",
        (
            "Fill empty group labels in the first column down from the row above.",
            "When a group label is written only once, repeat the label from above in the rows that follow.",
        ),
        _DOWN + _GAPS,
        _words(r"(?:group label|first column).*(?:above|down)|label.*above"),
    ),
    Symptom.EMPTY_ROWS: Advice(
        "Rows",
        ("Remove empty rows.", "Drop rows in which all cells are empty."),
        _GAPS,
        _words(r"empty rows|all cells are empty"),
    ),
    Symptom.TOTALS: Advice(
        "Rows",
        ("Drop rows with totals or subtotals.", "Leave out total and subtotal rows; they are not data."),
        _GAPS,
        _words(r"totals?\b"),
    ),
    Symptom.FOOTERS: Advice(
        "Rows",
        ("Drop footer notes below the table.", "Remove rows after the data that hold only a note."),
        _GAPS,
        _words(r"footer|\bnotes?\b"),
    ),
    Symptom.DOUBLE_ROWS: Advice(
        "Rows",
        (
            "Remove rows that are exact duplicates of another row.",
            "Of several identical rows keep only one.",
        ),
        _FIRST,
        _words(r"(?:exact|identical).*(?:duplicate|rows)"),
        _words(r"^(?!.*(?:latest|newest|recent|first)).*duplicate"),
    ),
    Symptom.STALE_ROWS: Advice(
        "Rows",
        (
            "When the same id occurs more than once, keep only the row with the latest date.",
            "If an id is repeated, only its most recent row stays.",
        ),
        _FIRST,
        _words(r"(?:\bid\b|same|twice|repeat|once).*(?:latest|newest|most recent)"),
        _words(r"(?:\bid\b|same|twice|once).*\bfirst\b"),
    ),
    Symptom.ORDER: Advice(
        "Rows",
        ("Sort the rows by id, ascending.", "Order the rows by their id column."),
        ("Sort the rows by date, newest first.", "Sort the rows by date."),
        _words(r"(?:sort|order).*\bid\b"),
        _words(r"\bsort\b"),
    ),
    Symptom.HEADER_CASE: Advice(
        "Reading",
        (
            "Write headers in snake_case: lower case, words joined by underscores.",
            "Column names are lower case with underscores.",
        ),
        _UPPER,
        _words(r"snake|underscore"),
    ),
    Symptom.SYNONYMS: Advice(
        "Reading",
        ("Rename columns to the house names: {pairs}.", "Use the house names for columns: {pairs}."),
        _GAPS,
        _words(r"{pairs}"),
    ),
    Symptom.EMPTY_COLUMN: Advice(
        "Reading",
        ("Drop unnamed columns that are empty.", "Remove columns that have no name and no values."),
        _GAPS,
        _words(r"(?:unnamed|empty|no name).*column|columns? that (?:are|have).*(?:empty|no name)"),
    ),
}
"""Rules for symptoms that a missing or unclear rule causes."""

SUSPECTS: Final[Mapping[Symptom, re.Pattern[str]]] = {
    Symptom.UPPER_CASED: _words(r"(?:all text|every cell|all values).*upper|upper.*(?:all text|every cell)"),
    Symptom.ROUNDED: _words(r"\bround\b|whole number|integers"),
    Symptom.SEPARATORS_LOST: _words(r"commas and dots|every separator|all separators"),
    Symptom.ZERO_FILLED: _words(r"(?:missing|empty).*\b(?:0|zero)\b"),
    Symptom.FILLED_DOWN: _words(r"every empty cell.*above"),
    Symptom.ROWS_LOST: _words(r"row.*(?:an empty cell|missing values?)"),
}
"""Lines that cause a symptom by being there; the cure is to delete them."""

IRRELEVANT: Final = (
    "Work through the table row by row and stay focused.",
    "Think about what the reader of the table needs.",
    "Keep the original input file unchanged.",
    "Check the result once more before you finish.",
    "Be careful with unusual characters.",
    "Prefer simple solutions over clever ones.",
    "Make sure that the output can be opened in a spreadsheet.",
    "Pay attention to details in every cell.",
    "If something is unclear, choose the most likely meaning.",
    "Use UTF-8 for the output.",
    "Compare the number of columns with the header.",
    "Aim for a table that looks professional.",
)
"""Sentences that sound right and change nothing."""
