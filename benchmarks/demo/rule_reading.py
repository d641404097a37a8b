"""Parse a skill's sentences as rules: which operations each asks for, with which parameters.

The Markdown body is split into sentences, which are matched against the tables of rule_patterns. It is pattern
matching, not understanding.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from markdown_it import MarkdownIt

from benchmarks.demo.cell_operations import snake_case
from benchmarks.demo.rule_patterns import CLEAR, VAGUE, Interpretation, RequestPattern, VaguePattern
from benchmarks.demo.tables import Operation, OperationKind

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_SENTENCE_END = re.compile(r"(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)(?<!vs\.)(?<=[.!?])[)\"'\u2019\u201d]?\s+(?=[A-Z`\"'“(*])")
_CLAUSE_END = re.compile(r";\s+|,? but (?=(?:do not|don't|never)\b)")
_FORBIDS = re.compile(
    r"\b(?:do not|don't|never|avoid|must not|should not|shouldn't|no need to)\b"
    r"(?! (?:leave|keep|write|have|allow|use)\b)"
)
_QUOTED = re.compile(r"`([^`]{1,60})`")
_PAIR = re.compile(r"`([^`]{1,60})`\s*(?:→|->|=>|to|becomes?|as|into|is)\s*`([^`]{1,60})`")
_PLAIN_PAIR = re.compile(
    r"(?:\brename|,|\band)\s+(?:the\s+)?(?:columns?\s+)?\"?([\w.\-]+)\"?"
    r"\s+(?:to|→|->|=>)\s+\"?(\w+)"
)
_SCOPED_BY_NAME: Final = frozenset(OperationKind) - {
    OperationKind.RENAME_COLUMNS,
    OperationKind.SNAKE_HEADER,
    OperationKind.CURRENCY_SPLIT,
    OperationKind.BOOLEANS,
    OperationKind.CURRENCY_CODE,
    OperationKind.MISSING_TO_EMPTY,
}
_COLUMN_NAME = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
_NOT_COLUMNS: Final = frozenset(
    {"true", "false", "input", "output", "csv", "null", "yes", "no", "kg", "cm", "lb", "in"}
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One sentence of a skill, as the demo program understands it."""

    sentence: str
    readings: tuple[tuple[Operation, ...], ...]
    clear: bool


@lru_cache(maxsize=512)
def read_rules(body: str) -> tuple[Rule, ...]:
    """Read the rules of a Markdown body in order; safe to call from several threads."""
    return tuple(read_sentence(sentence) for sentence in sentences_of(body))


def sentences_of(body: str) -> Iterator[str]:
    """Yield the sentences of list items and paragraphs; headings, code and comments are not read."""
    tokens = MarkdownIt("commonmark").parse(body)
    for opening, inline in pairwise(tokens):
        if opening.type == "paragraph_open":
            text = " ".join(_COMMENT.sub(" ", inline.content).split())
            yield from filter(None, (part.strip() for part in _SENTENCE_END.split(text)))


@lru_cache(maxsize=4096)
def read_sentence(sentence: str) -> Rule:
    """Recognise what one sentence asks for."""
    found: dict[Operation, None] = {}
    vague: VaguePattern | None = None
    lowered = sentence.lower().replace("\u2019", "'")
    for text in _CLAUSE_END.split(lowered) if _FORBIDS.search(lowered) else [lowered]:
        found.update(dict.fromkeys(operation for pattern in CLEAR for operation in _operations(pattern, text)))
        vague = vague or next((pattern for pattern in VAGUE if _is_vague(pattern, text)), None)
    if found or vague is None:
        return Rule(sentence, (tuple(found),) if found else (), clear=True)
    return Rule(sentence, tuple(tuple(map(_plain, reading)) for reading in vague.readings), clear=False)


def _plain(reading: Interpretation) -> Operation:
    return Operation(reading[0], value=reading[1])


def _is_vague(pattern: VaguePattern, text: str) -> bool:
    if _FORBIDS.search(text) or (pattern.unless is not None and pattern.unless.search(text)):
        return False
    return all(need.search(text) for need in pattern.needs)


def _operations(pattern: RequestPattern, text: str) -> Iterator[Operation]:
    """Yield what a clause asks for by one pattern: nothing, one operation, or one per renamed column."""
    places = [need.search(text) for need in pattern.needs]
    if not all(places) or (pattern.unless is not None and pattern.unless.search(text)):
        return
    value = pattern.value(text)
    if value is None:
        return
    if pattern.kind is OperationKind.RENAME_COLUMNS:
        for old, new in _pairs(text):
            yield Operation(pattern.kind, pairs=((snake_case(old), new),))
        return
    forbidden = _FORBIDS.search(text)
    off = forbidden is not None and all(place is None or forbidden.start() < place.end() for place in places)
    yield Operation(pattern.kind, _columns(pattern.kind, text), value, off=off)


def _pairs(text: str) -> list[tuple[str, str]]:
    """Find old and new column names, in backquotes or plain."""
    return _PAIR.findall(text) or (_PLAIN_PAIR.findall(text) if "renam" in text else [])


def _columns(kind: OperationKind, text: str) -> tuple[str, ...]:
    """Find the column names that a sentence puts in backquotes; file names and values are not columns."""
    if kind not in _SCOPED_BY_NAME:
        return ()
    names = (name for name in _QUOTED.findall(text) if _COLUMN_NAME.fullmatch(name))
    return tuple(dict.fromkeys(name for name in names if name not in _NOT_COLUMNS))
