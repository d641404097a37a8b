"""Patterns by which the demo program recognises each operation in a sentence.

Two declarative tables: clear requests, and vague ones with the interpretations between which a draw decides. All
patterns see lower-case text.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from benchmarks.demo.tables import OperationKind

__all__ = ["CLEAR", "VAGUE", "Interpretation", "RequestPattern", "VaguePattern"]

_K = OperationKind
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


def _all(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in patterns)


def _date_order(sentence: str) -> str | None:
    """Find which part of a numeric date a sentence puts first, disregarding `not month first`."""
    text = re.sub(_ISO, "", sentence)
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
_DROP = (
    r"\b(?:drop|remove|delete|discard|skip|strip|omit|exclude|eliminate|get rid of|leave out|throw (?:away|"
    r"out)|ignore|take out)"
)
_ISO = r"\biso\b|iso[- ]?8601|yyyy-mm-dd|year-month-day"
_ROWS = r"\b(?:rows?|lines?)\b"
_SAME = r"duplicat|\bsame\b|more than once|\btwice\b|repeated"
_HEADER = r"\bheaders?\b|column (?:name|title|label|heading)|field names?|\bheadings?\b"
_IDS = r"\bids?\b|identifiers?|\bskus?\b|_id\b"

CLEAR: Final[tuple[RequestPattern, ...]] = (
    RequestPattern(
        _K.TRIM,
        _all(r"\b(?:trim|strip|collapse|squeeze|remove|drop)", r"\b(?:spaces?|whitespace)\b"),
        re.compile(r"thousand|group|phone|\brows?\b"),
    ),
    RequestPattern(_K.SNAKE_HEADER, _all(f"{_HEADER}|\\bcolumns?\\b", r"snake|underscore")),
    RequestPattern(_K.RENAME_COLUMNS, _all(r"\brenam|\bcall|header|column|\bnames?\b", r"`|\brenam")),
    RequestPattern(
        _K.MISSING_TO_EMPTY,
        _all(
            r"n/a|\bnull\b|placeholder|missing[- ]values?|markers?|\bdash(?:es)?\b",
            r"\b(?:empty|blank)\b",
            r"\b(?:write|replac|leav|turn|treat|make|chang|becom|mean|are|is|convert|empt)",
        ),
        re.compile(r"\bzero\b|\b0\b|" + _DROP + r"[^.]*" + _ROWS),
    ),
    RequestPattern(
        _K.DROP_EMPTY_COLUMNS,
        _all(_DROP, r"(?:empty|blank|unnamed|nameless|without (?:a )?(?:name|header))\b[^.]*\bcolumns?|"
            r"columns?\b[^.]*\b(?:empty|blank|unnamed|without|no (?:name|header|values))"),
    ),
    RequestPattern(
        _K.DROP_EMPTY_ROWS,
        _all(
            _DROP,
            r"\b(?:empty|blank)(?: \w+)? (?:rows?|lines?)|(?:rows?|lines?)\b[^.]*\b(?:all|every|completely|"
                r"entirely|nothing|only)\b[^.]*",
            r"empty|blank|nothing",
        ),
        re.compile(r"\b(?:an?|any|one|some) (?:empty|blank|missing) (?:cell|value|field)"),
    ),
    RequestPattern(
        _K.DROP_INCOMPLETE_ROWS,
        _all(_DROP, _ROWS, r"\b(?:an?|any|one|some|missing|with) [^.]*\b(?:empty|blank|"
            r"missing)\b[^.]*\b(?:cells?|values?|fields?|data)|incomplete|missing (?:values?|cells?|data)"),
        re.compile(r"\ball (?:of )?(?:its |the |their )?cells|\bevery cell|all empty|completely|entirely|"
            r"placeholder|marker"),
    ),
    RequestPattern(
        _K.DROP_TOTALS,
        _all(_DROP, r"\b(?:sub-?|grand )?totals?\b|\bsum(?:mary)? (?:rows?|lines?)|(?:rows?|"
            r"lines?) (?:that )?sums?\b"),
    ),
    RequestPattern(_K.DROP_FOOTERS, _all(_DROP, r"\bfooters?|\bfootnotes?|\bnotes?\b|\bremarks?\b|disclaimers?|"
        r"comment (?:rows|lines)")),
    RequestPattern(
        _K.FILL_DOWN,
        _all(r"\bfill|\bcarry|\brepeat|\bcopy|forward-?fill", r"\babove\b|\bdown(?:wards?)?\b|forward|previous|"
            r"preceding"),
        re.compile(r"\b(?:every|all|any) (?:\w+ )?(?:empty|blank|missing) (?:cell|value|field)"),
    ),
    RequestPattern(
        _K.FILL_ALL_DOWN,
        _all(
            r"\bfill|\bcarry|\brepeat|\bcopy|forward-?fill",
            r"\babove\b|\bdown(?:wards?)?\b|forward|previous|preceding",
            r"\b(?:every|all|any) (?:\w+ )?(?:empty|blank|missing) (?:cell|value|field)",
        ),
    ),
    RequestPattern(
        _K.REMOVE_SEPARATORS,
        _all(_DROP, r"\b(?:all|every|any)\b[^.]*\b(?:commas?|dots?|periods?|separators?|punctuation)|"
            r"commas and (?:dots|periods|points)", r"number|amount|value|figure|digit|cell"),
        re.compile(r"thousand|group"),
    ),
    RequestPattern(
        _K.DATE_WORDS,
        _all(r"\bdates?\b", r"month names?|named months?|names? of (?:the )?months?|written[- ]out|spelled|"
            r"textual", f"{_ISO}|\\d{{4}}-\\d\\d-\\d\\d"),
        re.compile(r"\b(?:day|month)[- ]first"),
    ),
    RequestPattern(_K.ISO_DATES, _all(r"\bdates?\b|\bdd\b|\bmm\b"), re.compile(r"\bsort|duplicat|"
        r"latest"), _date_order),
    RequestPattern(_K.PERCENT, _all(r"percent|%", r"fraction|divid|0\.\d|/ ?100|"
        r"hundredth|" + _DROP + r"[^.]*\bsigns?|without[^.]*\bsigns?"), value=_percent_value),
    RequestPattern(_K.PARENTHESES, _all(r"parenthes[ei]s|bracket|\(\d", r"negativ|minus")),
    RequestPattern(_K.TRAILING_MINUS, _all(r"minus", r"trailing|\bafter\b|behind|at the end|to the front|"
        r"in front|\bend(?:s|ing)? (?:in|with)")),
    RequestPattern(
        _K.CURRENCY_SPLIT,
        _all(r"currenc", r"\b(?:own|separate|new|extra|additional) (?:`?currency`? )?column|`currency`|"
            r"column (?:called|named) "),
        re.compile(r"\brenam|" + _DROP + r"[^.]*columns?\b"),
    ),
    RequestPattern(
        _K.CURRENCY_STRIP,
        _all(r"currenc[^.]*\b(?:symbol|sign|code)|[€$£]|currenc", _DROP + r"|plain number|bare number|"
            r"number(?:s)? only|only the number|without"),
        re.compile(r"\bupper|iso[- ]?4217|three-letter"),
    ),
    RequestPattern(_K.CURRENCY_CODE, _all(r"currenc", r"\bupper|iso[- ]?4217|three-letter|"
        r"\biso\b"), re.compile(r"\bnot iso")),
    RequestPattern(_K.CONVERT_UNIT, _all(r"\bkg\b|kilogram", r"convert|pound|\blbs?\b|weights?|"
        r"express"), value=lambda _: "kg"),
    RequestPattern(_K.CONVERT_UNIT, _all(r"\bcm\b|centimet", r"convert|inch|lengths?|dimension|"
        r"express"), value=lambda _: "cm"),
    RequestPattern(
        _K.DECIMAL_COMMA,
        _all(r"decimal[- ]commas?|commas?\b[^.]*\bdecimals?\b|decimal (?:separator|mark|point|"
            r"sign)s?[^.]*\bcommas?|\d,\d\d? (?:is|means|becomes|to)"),
    ),
    RequestPattern(_K.THOUSANDS, _all(r"thousand|digit[- ]group|grouping", _DROP + r"|without|\bno\b|free of")),
    RequestPattern(
        _K.TWO_DECIMALS,
        _all(r"(?:two|2)[- ]decimal|(?:two|2) (?:digits|places) after|exactly (?:two|2) (?:digits|places)"),
        re.compile(r"\bkg\b|\bcm\b|kilogram|centimet"),
    ),
    RequestPattern(
        _K.ROUND_NUMBERS,
        _all(r"\bround|whole numbers?|\bintegers?\b", r"number|amount|value|price|figure|decimal|`"),
        re.compile(r"\b(?:two|2)\b"),
    ),
    RequestPattern(_K.EMAIL_LOWER, _all(r"e-?mail", r"\blower")),
    RequestPattern(
        _K.PHONE,
        _all(r"phone|mobile|fax", r"e\.?164|\+\d|international|country code|digits only"),
        value=_calling_code,
    ),
    RequestPattern(
        _K.COUNTRY_CODE,
        _all(r"countr", r"\bcodes?\b|two-letter|alpha-2|3166"),
        re.compile(r"phone|calling|dial|\+\d|e\.?164"),
    ),
    RequestPattern(_K.ID_UPPER, _all(_IDS, r"\bupper|capitals?\b"), re.compile(r"countr|currenc")),
    RequestPattern(_K.ID_PAD, _all(_IDS, r"\bpad|leading zero|zero-?fill|\bdigits\b"), re.compile(r"phone"), _width),
    RequestPattern(_K.BOOLEANS, _all(r"\btrue\b", r"\bfalse\b")),
    RequestPattern(
        _K.DROP_DUPLICATES,
        _all(_DROP + r"|\bkeep", r"\b(?:exact|identical|verbatim)\b[^.]*(?:duplicat|rows?|cop(?:y|ies)|lines?)|"
            r"(?:duplicat|rows?|lines?)\b[^.]*\b(?:identical|equal in (?:all|every)|in every cell)"),
        re.compile(r"latest|newest|most recent|\bfirst\b"),
    ),
    RequestPattern(_K.KEEP_LATEST, _all(_SAME, r"\blatest|newest|most recent|last updated")),
    RequestPattern(_K.KEEP_FIRST, _all(_SAME, r"\bfirst\b", r"\bkeep|\bdrop|\bremove"), re.compile(r"exact|"
        r"identical|latest|newest|day[- ]first")),
    RequestPattern(
        _K.SORT,
        _all(r"\bsort|\border (?:the |all )?(?:rows|table|lines|output)|\barrange", r"\bby\b|ascend|descend|"
            r"chronolog|newest first"),
        value=_sort_value,
    ),
    RequestPattern(_K.FILL_ZERO, _all(r"missing|empty|blank", r"\b0\b|\bzeros?\b", r"\bfill|replac|\bwrite|\bset|"
        r"\bput|\benter")),
    RequestPattern(
        _K.UPPER_ALL,
        _all(r"upper-?\s?case|\bcapitals\b|capitalis|capitaliz", r"\b(?:all|every|each|any)\b(?: \w+)? (?:text|"
            r"cells?|values?|words?|letters)|\ball[- ]?text"),
        re.compile(f"{_IDS}|currenc|countr|\\bcodes?\\b"),
    ),
)  # fmt: skip
"""Requests that say what to do; one sentence can make several."""

VAGUE: Final[tuple[VaguePattern, ...]] = (
    VaguePattern(
        _all(r"\bdates?\b", r"\bfix|consisten|normali[sz]|standard|\bclean|convert|format|\bwrite|uniform|"
            r"tidy|" + _ISO),
        (((_K.ISO_DATES, "month"),), ((_K.ISO_DATES, "day"),), ((_K.ISO_DATES, ""),), ()),
        re.compile(r"\bsort|duplicat|latest|month names?|named month|spelled|textual|written[- ]out"),
    ),
    VaguePattern(
        _all(r"duplicat", _DROP + r"|\bde-?dup|\bclean|\bhandle|\bkeep"),
        (((_K.DROP_DUPLICATES, ""),), ((_K.KEEP_FIRST, ""),)),
        re.compile(r"\bexact|identical|latest|newest|most recent|last updated|\bfirst\b|in every cell|verbatim"),
    ),
    VaguePattern(
        _all(r"\bnumbers?\b|\bamounts?\b|\bprices?\b", r"\bfix|consisten|normali[sz]|standard|\bclean|tidy|uniform"),
        (((_K.CURRENCY_STRIP, ""), (_K.THOUSANDS, "")), ((_K.ROUND_NUMBERS, ""),), ((_K.REMOVE_SEPARATORS, ""),), ()),
        re.compile(r"phone|thousand|decimal|currenc|comma|separator|round|integer"),
    ),
    VaguePattern(
        _all(r"phone", r"\bfix|consisten|normali[sz]|standard|\bclean|tidy|uniform|format|international|e\.?164"),
        (((_K.PHONE, "1"),), ((_K.PHONE, ""),)),
        re.compile(r"\+\d"),
    ),
    VaguePattern(
        _all(r"missing|\bgaps\b", r"\bhandle|\bfix|\bclean|deal with|consisten|take care"),
        (((_K.MISSING_TO_EMPTY, ""),), ((_K.FILL_ZERO, ""),), ((_K.DROP_INCOMPLETE_ROWS, ""),)),
        re.compile(r"\bempty\b|\bblank\b|\bzero|\b0\b|" + _DROP),
    ),
    VaguePattern(
        _all(r"percent", r"\bfix|consisten|normali[sz]|\bclean|convert|as numbers?|plain numbers?"),
        (((_K.PERCENT, "strip"),), ((_K.PERCENT, "fraction"),)),
        re.compile(r"fraction|divid|0\.\d|/ ?100|\bsigns?\b|hundredth"),
    ),
    VaguePattern(
        _all(r"\bsort\b|\border the rows", r"rows?|table|output"),
        (((_K.SORT, ""),), ((_K.SORT, "date"),), ((_K.SORT, "descending"),)),
        re.compile(r"\bby\b|ascend|descend|chronolog|newest"),
    ),
)  # fmt: skip
"""Requests that leave open what to do; a draw picks one reading."""
