"""Classify one wrong cell: from (column, expected, found) to a symptom, by a table of small tests on the two texts."""

import re
from collections.abc import Callable
from typing import Final

from benchmarks.demo.advice import Symptom

_Test = Callable[[str, str], bool]

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
NUMERIC_DATE = re.compile(r"(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4}|\d{2})")
_WORDED_DATE = re.compile(r"(?=.*[A-Za-z]{3})(?=.*\d)[\w ,.\-]{6,20}")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ID = re.compile(r"([A-Za-z]{1,5})-0*(\d+)")
_YES_NO: Final = frozenset({"yes", "no", "y", "n", "1", "0", "true", "false", "x"})
_MARKERS: Final = frozenset({"n/a", "na", "-", "--", "null", "none", "nan", "?"})
_NOTE = re.compile(r"(?:note|source|generated|exported|printed)\b", re.IGNORECASE)
_TOTAL = re.compile(r"(?:grand |sub)?-?totals?\b", re.IGNORECASE)
_SYMBOL = re.compile(r"[€$£¥]")
_CODE = re.compile(r"\b[A-Z]{3}\b")
_COMMA = re.compile(r"[^\d]*\d+(?:[. ]\d{3})*,\d\d?\b[^\d]*")
_GROUPED = re.compile(r"[^\d]*\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?[^\d]*")
_LONGEST_COUNTRY = 30


def is_number(text: str) -> bool:
    """Return whether a text is a plain number."""
    return _NUMBER.fullmatch(text) is not None


def symptom_of(expected: str, found: str) -> Symptom | None:
    """Name the first symptom that a wrong cell shows, or none."""
    return next((symptom for symptom, test in _TESTS if test(expected, found)), None)


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdecimal())


def _date(expected: str, found: str) -> bool:
    if ISO_DATE.fullmatch(expected) is None:
        return False
    if ISO_DATE.fullmatch(found) is not None:
        return expected[:4] + expected[8:] + expected[5:7] == _digits(found)[:4] + _digits(found)[4:]
    text = found.strip()
    return NUMERIC_DATE.fullmatch(text) is not None or _WORDED_DATE.fullmatch(text) is not None


def _same_id(expected: str, found: str) -> bool:
    first, second = _ID.fullmatch(expected), _ID.fullmatch(found.strip())
    if first is None or second is None or expected[:1].islower():
        return False
    return first[1].lower() == second[1].lower() and (second[1].islower() or len(second[0]) < len(first[0]))


def _hundredfold(expected: str, found: str) -> bool:
    if not is_number(expected) or not is_number(found) or float(expected) == 0:
        return False
    return abs(float(expected)) < 1 and abs(float(found) / float(expected) - 100) < 1e-6  # noqa: PLR2004 - a fraction


def _whole_of(expected: str, found: str) -> bool:
    return (
        is_number(expected)
        and is_number(found)
        and "." not in found
        and found == f"{float(expected):.0f}"
        and expected != f"{found}.00"
    )


def _ends_with(*units: str) -> _Test:
    return lambda expected, found: is_number(expected) and found.strip().lower().endswith(units)


_TESTS: Final[tuple[tuple[Symptom, _Test], ...]] = (
    (Symptom.SPACES, lambda expected, found: " ".join(found.split()) == expected),
    (Symptom.TOTALS, lambda _, found: _TOTAL.match(found) is not None),
    (Symptom.FOOTERS, lambda _, found: _NOTE.match(found) is not None),
    (Symptom.DATES, _date),
    (Symptom.PERCENT, lambda expected, found: is_number(expected) and found.strip().endswith("%")),
    (Symptom.PERCENT, _hundredfold),
    (Symptom.POUNDS, _ends_with("lb", "lbs")),
    (Symptom.INCHES, _ends_with("in", '"')),
    (Symptom.BOOLEANS, lambda expected, found: expected in {"true", "false"} and found.strip().lower() in _YES_NO),
    (Symptom.EMAIL, lambda expected, found: "@" in expected and found.strip().lower() == expected),
    (
        Symptom.PHONE,
        lambda expected, found: expected.startswith("+") and len(_digits(found)) > 5 and "@" not in found,  # noqa: PLR2004 - shorter is no phone number
    ),
    (Symptom.MISSING, lambda expected, found: not expected and found.strip().lower() in _MARKERS),
    (Symptom.ZERO_FILLED, lambda expected, found: not expected and found == "0"),
    (Symptom.CURRENCY_SYMBOL, lambda expected, found: is_number(expected) and _SYMBOL.search(found) is not None),
    (Symptom.CURRENCY_INSIDE, lambda expected, found: is_number(expected) and _CODE.search(found) is not None),
    (Symptom.PARENTHESES, lambda expected, found: is_number(expected) and found.startswith("(")),
    (Symptom.TRAILING_MINUS, lambda expected, found: is_number(expected) and found.endswith("-")),
    (Symptom.DECIMAL_COMMA, lambda expected, found: is_number(expected) and _COMMA.fullmatch(found) is not None),
    (Symptom.THOUSANDS, lambda expected, found: is_number(expected) and _GROUPED.fullmatch(found) is not None),
    (Symptom.IDS, _same_id),
    (
        Symptom.SHORT_DECIMALS,
        lambda expected, found: is_number(expected) and is_number(found) and float(expected) == float(found),
    ),
    (
        Symptom.SEPARATORS_LOST,
        lambda expected, found: "." in expected and is_number(found) and expected.replace(".", "") == found,
    ),
    (Symptom.ROUNDED, _whole_of),
    (
        Symptom.CURRENCY_STYLE,
        lambda expected, found: (
            _CODE.fullmatch(expected) is not None
            and (found.upper() == expected or _SYMBOL.fullmatch(found) is not None)
        ),
    ),
    (
        Symptom.COUNTRY,
        lambda expected, found: (
            len(expected) == 2  # noqa: PLR2004 - ISO 3166 alpha-2
            and expected.isupper()
            and (found.upper() == expected or len(found) > 2)  # noqa: PLR2004 - another code is another row's
            and found.replace(" ", "").isalpha()
            and len(found) < _LONGEST_COUNTRY
        ),
    ),
    (Symptom.UPPER_CASED, lambda expected, found: expected != expected.upper() and expected.upper() == found),
    (Symptom.GROUP_BLANKS, lambda expected, found: not found and expected.replace(" ", "").isalpha()),
    (Symptom.FILLED_DOWN, lambda expected, found: not expected and found != ""),
)
