"""Patterns by which the demo program recognises each operation in a sentence.

The patterns are in patterns.toml: clear requests, and vague ones with the interpretations between which a draw decides.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.demo.tables import OperationKind

Interpretation = tuple[OperationKind, str]
"""An operation and its value."""


@dataclass(frozen=True, slots=True)
class RequestPattern:
    """A sentence asks for `kind` when it has all of `needs` and nothing of `unless`."""

    kind: OperationKind
    needs: tuple[re.Pattern[str], ...]
    unless: re.Pattern[str] | None = None
    value: Callable[[str], str | None] = lambda _: ""


@dataclass(frozen=True, slots=True)
class VaguePattern:
    """A sentence that names a topic but not what to do; `readings` are equally likely."""

    needs: tuple[re.Pattern[str], ...]
    readings: tuple[tuple[Interpretation, ...], ...]
    unless: re.Pattern[str] | None = None


def _date_order(sentence: str) -> str | None:
    """Find which part of a numeric date a sentence puts first, disregarding `not month first`."""
    text = re.sub(_TABLES["words"]["iso"], "", sentence)
    text = re.sub(r"\b(?:not|never|rather than|instead of)\s+(?:the\s+)?(?:month|day)(?:[- ]first|\b)", "", text)
    day = _DAY_FIRST.search(text)
    month = _MONTH_FIRST.search(text)
    if day and (not month or day.start() < month.start()):
        return "day"
    return "month" if month else None


def _calling_code(sentence: str) -> str | None:
    found = re.search(r"\+(\d{1,3})\b", sentence)
    return found[1] if found else None


def _width(sentence: str) -> str:
    found = re.search(r"\b(two|three|four|five|six|seven|eight|[2-8])[- ]+(?:\w+ )?digits?\b", sentence)
    names = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"}
    return names.get(found[1], found[1]) if found else "4"


def _sort_value(sentence: str) -> str:
    order = "descending" if re.search(r"descend|(?:newest|latest|largest|highest) first|revers", sentence) else ""
    by_date = re.search(r"\bdates?\b|chronolog|(?:newest|latest|oldest) first", sentence)
    return f"{order} {'date' if by_date else ''}".strip()


def _percent_value(sentence: str) -> str:
    return "fraction" if re.search(r"fraction|divid|0\.\d|/ ?100|hundredth", sentence) else "strip"


_DAY_FIRST = re.compile(
    r"\bday[- ]first|\bday (?:comes |is |stands )?(?:first|before)|\bdd ?[/.\-] ?mm|\bday[/.]month|european|"
    r"the first (?:part|number) is the day"
)
_MONTH_FIRST = re.compile(
    r"\bmonth[- ]first|\bmonth (?:comes |is |stands )?(?:first|before)|\bmm ?[/.\-] ?dd|\bmonth[/.]day|american|"
    r"\bu\.?s\.? (?:style|format|convention|dates)"
)
_TABLES: Final[Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8"))
_VALUES: Final[Mapping[str, Callable[[str], str | None]]] = {
    "date_order": _date_order,
    "calling_code": _calling_code,
    "width": _width,
    "sort_value": _sort_value,
    "percent_value": _percent_value,
}


def _pattern(text: str) -> re.Pattern[str]:
    for name, meant in _TABLES["words"].items():
        text = text.replace(f"{{{name}}}", meant)
    return re.compile(text)


def _needs(row: Mapping[str, Any]) -> tuple[tuple[re.Pattern[str], ...], re.Pattern[str] | None]:
    return tuple(map(_pattern, row["needs"])), _pattern(row["unless"]) if "unless" in row else None


def _clear() -> Iterator[RequestPattern]:
    for row in _TABLES["clear"]:
        named: str = row.get("value", "")
        value = _VALUES[named] if named in _VALUES else partial(_fixed, named)
        yield RequestPattern(OperationKind(row["kind"]), *_needs(row), value)


def _fixed(value: str, _sentence: str) -> str:
    return value


def _vague() -> Iterator[VaguePattern]:
    for row in _TABLES["vague"]:
        needs, unless = _needs(row)
        yield VaguePattern(needs, tuple(tuple(map(_interpretation, reading)) for reading in row["readings"]), unless)


def _interpretation(text: str) -> Interpretation:
    kind, _, value = text.partition("=")
    return OperationKind(kind), value


CLEAR: Final = tuple(_clear())
"""Requests that say what to do; one sentence can make several."""

VAGUE: Final = tuple(_vague())
"""Requests that leave open what to do; a draw picks one reading."""
