"""Table operations that change one cell at a time, as pure functions from a cell and one parameter to a cell.

A cell that an operation does not fit comes back as it was.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Final

from benchmarks.demo.tables import OperationKind

_CellOperation = Callable[[str, str], str]

_DATE_PARTS = re.compile(r"(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4}|\d{2})")
_YEAR_FIRST = re.compile(r"(\d{4})[/.\-](\d{1,2})[/.\-](\d{1,2})")
_DAY_NAME_YEAR = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?[ .\-]+([A-Za-z]{3,9})\.?,?[ \-]+(\d{4}|\d{2})")
_NAME_DAY_YEAR = re.compile(r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})")
_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_PERCENT = re.compile(r"(-?\d+(?:[.,]\d+)?)\s*%")
_PARENTHESES = re.compile(r"\A\(\s*([^()]*\d)\s*\)\Z")
_TRAILING_MINUS = re.compile(r"\A([^-]*\d)\s*-\Z")
_DECIMAL_COMMA = re.compile(r"-?(?:\d{1,3}(?:[. ]\d{3})+|\d+),\d{1,2}-?")
_THOUSANDS = re.compile(r"-?\d{1,3}(?:[,' ]\d{3})+(?:\.\d+)?-?")
_SEPARATED = re.compile(r"-?[\d.,]*\d[\d.,]*")
_CODES: Final = "EUR|USD|GBP|CHF|JPY|PLN|SEK|NOK|DKK"
_PREFIXED = re.compile(rf"(-?)\s*([€$£¥]|(?:{_CODES})\b)\s*(-?\d[\d.,' ]*-?)", re.IGNORECASE)
_SUFFIXED = re.compile(rf"(-?)(\d[\d.,' ]*?-?)\s*([€$£¥]|\b(?:{_CODES}))", re.IGNORECASE)
_SYMBOLS: Final = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"}
_MEASURE = re.compile(r"(-?\d+(?:\.\d+)?)\s*(lbs?|kg|g|oz|in|cm|mm|ft|m|\")", re.IGNORECASE)
_FACTORS: Final[Mapping[str, Mapping[str, float]]] = {
    "kg": {"lb": 0.45359237, "lbs": 0.45359237, "oz": 0.028349523125, "g": 0.001, "kg": 1.0},
    "cm": {"in": 2.54, '"': 2.54, "ft": 30.48, "mm": 0.1, "m": 100.0, "cm": 1.0},
}
_PHONE = re.compile(r"[+(\d][\d\s()./\-]{5,}")
_ID = re.compile(r"([A-Za-z]{1,5})([-_ ]?)(\d{1,9})")
_MISSING: Final = frozenset({"n/a", "na", "n.a.", "-", "--", "null", "none", "nan", "?", "tbd"})
_COUNTRIES: Final = {
    "germany": "DE", "deutschland": "DE", "france": "FR", "united kingdom": "GB", "great britain": "GB", "uk": "GB",
    "united states": "US", "usa": "US", "u.s.": "US", "netherlands": "NL", "the netherlands": "NL", "austria": "AT",
    "switzerland": "CH", "italy": "IT", "spain": "ES", "poland": "PL", "sweden": "SE", "denmark": "DK",
}  # fmt: skip
_NOT_WORD = re.compile(r"[^0-9a-z]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")

_CALLED: Final[Mapping[OperationKind, re.Pattern[str]]] = {
    OperationKind.PHONE: re.compile(r"phone|tel\b|mobile|fax"),
    OperationKind.COUNTRY_CODE: re.compile(r"country|ctry|state|destination"),
    OperationKind.CURRENCY_CODE: re.compile(r"currency|curr\b|ccy"),
    OperationKind.ID_UPPER: re.compile(r"\bids?\b|_id\b|\bno\b|sku|code"),
    OperationKind.ID_PAD: re.compile(r"\bids?\b|_id\b|\bno\b|sku|code"),
    OperationKind.TWO_DECIMALS: re.compile(r"amount|amt|price|cost|total|fee\b|net\b|gross"),
}
_NUMERIC: Final = frozenset({OperationKind.THOUSANDS, OperationKind.DECIMAL_COMMA, OperationKind.REMOVE_SEPARATORS})
_NOT_NUMBERS = re.compile(r"phone|tel\b|mobile|fax|_id\b|sku|zip")


@lru_cache(maxsize=1024)
def snake_case(name: str) -> str:
    """Write a header in lower case with underscores: `Order Date` becomes `order_date`."""
    return _NOT_WORD.sub("_", _CAMEL.sub(" ", name).lower()).strip("_")


@lru_cache(maxsize=4096)
def fits_header(kind: OperationKind, header: str) -> bool:
    """Return whether an operation that names no columns may touch a column with this header."""
    name = snake_case(header)
    if kind in _NUMERIC:
        return _NOT_NUMBERS.search(name) is None
    called = _CALLED.get(kind)
    return called is None or called.search(name) is not None


def split_currency(cell: str, *, codes_only: bool = False) -> tuple[str, str]:
    """Split `EUR 12.50` into number and upper-case code; the code is empty when there is none."""
    if (found := _PREFIXED.fullmatch(cell)) is not None:
        sign, code, number = found.groups()
    elif (found := _SUFFIXED.fullmatch(cell)) is not None:
        sign, number, code = found.groups()
    else:
        return cell, ""
    if codes_only and code in _SYMBOLS:
        return cell, ""
    return sign + number.strip(), _SYMBOLS.get(code, code.upper())


def _missing(cell: str, _value: str) -> str:
    return "" if len(cell) < 6 and cell.strip().lower() in _MISSING else cell  # noqa: PLR2004 - longest marker, with spaces


def _iso(year: str, month: int, day: int) -> str:
    """Write a date; empty when there is no such day. Two-digit years below 70 are in this century."""
    number = int(year)
    full = number if len(year) > 2 else number + (2000 if number < 70 else 1900)  # noqa: PLR2004 - as POSIX does
    try:
        return date(full, month, day).isoformat()
    except ValueError:
        return ""


def _date_words(cell: str, _value: str) -> str:
    if (found := _DAY_NAME_YEAR.fullmatch(cell)) is not None:
        day, name, year = found.groups()
    elif (found := _NAME_DAY_YEAR.fullmatch(cell)) is not None:
        name, day, year = found.groups()
    else:
        return cell
    short = name[:3].lower()
    return (_iso(year, _MONTHS.index(short) + 1, int(day)) or cell) if short in _MONTHS else cell


def _iso_date(cell: str, value: str) -> str:
    """Read a date; `value` is `day` or `month` first, or empty to leave ambiguous dates alone."""
    if not ("0" <= cell[:1] <= "9"):
        return _date_words(cell, value)
    if (found := _DATE_PARTS.fullmatch(cell)) is not None:
        first, second, year = int(found[1]), int(found[2]), found[3]
        day_first, month_first = _iso(year, second, first), _iso(year, first, second)
        if not value and day_first and month_first and first != second:
            return cell
        return (month_first or day_first or cell) if value == "month" else (day_first or month_first or cell)
    if (found := _YEAR_FIRST.fullmatch(cell)) is not None:
        return _iso(found[1], int(found[2]), int(found[3])) or cell
    return _date_words(cell, value)


def _percent(cell: str, value: str) -> str:
    """Turn a percentage into a fraction, or with `strip` only take the sign away."""
    if (found := _PERCENT.fullmatch(cell)) is None:
        return cell
    number = found[1].replace(",", ".")
    return number if value == "strip" else format((Decimal(number) / 100).normalize(), "f")


def _convert(cell: str, value: str) -> str:
    """Convert a number with a unit to `value`, written with two decimals and without the unit."""
    if (found := _MEASURE.fullmatch(cell)) is None:
        return cell
    factor = _FACTORS.get(value, {}).get(found[2].lower())
    return cell if factor is None else f"{float(found[1]) * factor:.2f}"


def _decimal_comma(cell: str, _value: str) -> str:
    if "," not in cell or _DECIMAL_COMMA.fullmatch(cell) is None:
        return cell
    return cell.replace(".", "").replace(" ", "").replace(",", ".")


def _thousands(cell: str, _value: str) -> str:
    return cell if _THOUSANDS.fullmatch(cell) is None else cell.replace(",", "").replace("'", "").replace(" ", "")


def _remove_separators(cell: str, _value: str) -> str:
    return cell if _SEPARATED.fullmatch(cell) is None else cell.replace(",", "").replace(".", "")


def _round(cell: str, _value: str) -> str:
    return cell if "." not in cell or _NUMBER.fullmatch(cell) is None else f"{Decimal(cell):.0f}"


def _phone(cell: str, value: str) -> str:
    """Write a phone number as E.164; `value` is the country code of numbers that have none."""
    if _PHONE.fullmatch(cell) is None:
        return cell
    digits = "".join(character for character in cell.replace("(0)", "") if character.isdecimal())
    if cell.startswith("+"):
        return f"+{digits}"
    if digits.startswith("00"):
        return f"+{digits[2:]}"
    return f"+{value}{digits.removeprefix('0')}" if value else cell


def _id_pad(cell: str, value: str) -> str:
    if (found := _ID.fullmatch(cell)) is None:
        return cell
    return f"{found[1]}{found[2]}{found[3].zfill(int(value or 4))}"


CELL_OPERATIONS: Final[Mapping[OperationKind, _CellOperation]] = {
    OperationKind.TRIM: lambda cell, _: " ".join(cell.split()),
    OperationKind.MISSING_TO_EMPTY: _missing,
    OperationKind.REMOVE_SEPARATORS: _remove_separators,
    OperationKind.ISO_DATES: _iso_date,
    OperationKind.DATE_WORDS: _date_words,
    OperationKind.PERCENT: _percent,
    OperationKind.PARENTHESES: lambda cell, _: _PARENTHESES.sub(r"-\1", cell),
    OperationKind.TRAILING_MINUS: lambda cell, _: _TRAILING_MINUS.sub(r"-\1", cell),
    OperationKind.CURRENCY_STRIP: lambda cell, _: split_currency(cell)[0],
    OperationKind.CURRENCY_CODE: lambda cell, _: _SYMBOLS.get(cell, cell.upper() if len(cell) == 3 else cell),  # noqa: PLR2004 - ISO 4217 codes have three letters
    OperationKind.CONVERT_UNIT: _convert,
    OperationKind.DECIMAL_COMMA: _decimal_comma,
    OperationKind.THOUSANDS: _thousands,
    OperationKind.TWO_DECIMALS: lambda cell, _: cell if _NUMBER.fullmatch(cell) is None else f"{Decimal(cell):.2f}",
    OperationKind.ROUND_NUMBERS: _round,
    OperationKind.EMAIL_LOWER: lambda cell, _: cell.lower() if "@" in cell else cell,
    OperationKind.PHONE: _phone,
    OperationKind.COUNTRY_CODE: lambda cell, _: _COUNTRIES.get(cell.lower(), cell.upper() if len(cell) == 2 else cell),  # noqa: PLR2004 - ISO 3166 alpha-2
    OperationKind.ID_UPPER: lambda cell, _: cell if _ID.fullmatch(cell) is None else cell.upper(),
    OperationKind.ID_PAD: _id_pad,
    OperationKind.UPPER_ALL: lambda cell, _: cell.upper(),
}
"""Operations that see one cell; the rest are in table_operations."""
