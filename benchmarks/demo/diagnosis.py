"""Diagnose the failing tasks from a verifier's feedback: ranked symptoms that they share.

It does not depend on the layout of prompts.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from benchmarks.demo.advice import Symptom
from benchmarks.demo.symptoms import ISO_DATE, NUMERIC_DATE, symptom_of

_TEXT = r'"(?:[^"\\]|\\.)*"'
_CELL = re.compile(rf"\S+ row (\d+) column ({_TEXT}): expected ({_TEXT}), found ({_TEXT})")
_COLUMNS = re.compile(r"\S+: expected columns (\[.*\]), found (\[.*\])")
_COUNTS = re.compile(r"\S+: expected (\d+) rows?, found (\d+)")
_EXTRA = re.compile(r"\S+ row \d+: unexpected row (.*)")
_NOT_WORD = re.compile(r"[^0-9a-z]+")
_UNNAMED = re.compile(r"(?:unnamed.*)?", re.IGNORECASE)
_ID_NAME = re.compile(r"(?:^|_)id$|^sku$")
_DEFAULTS: Final = {"first": "day", "second": "month", "code": "49", "width": "4", "example": "ORD-0042", "pairs": ""}
_JUNK: Final = frozenset({Symptom.TOTALS, Symptom.FOOTERS, Symptom.EMPTY_ROWS})


@dataclass(frozen=True, slots=True)
class WrongCell:
    """A cell of the output that differs from what was expected; rows count from 1."""

    row: int
    column: str
    expected: str
    found: str


@dataclass(slots=True)
class Feedback:
    """What a verifier said about one task."""

    task: str
    cells: list[WrongCell] = field(default_factory=list)
    columns: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    counts: tuple[int, int] | None = None
    extra: list[tuple[str, ...]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class RankedSymptom:
    """A symptom, the tasks that show it, and details for the wording of a rule."""

    symptom: Symptom
    tasks: tuple[str, ...]
    details: Mapping[str, str]


def read_feedback(task: str, text: str) -> Feedback:
    """Read feedback lines; lines of another form, or cut ones, are passed over."""
    feedback = Feedback(task)
    for line in text.splitlines():
        try:
            _read_line(feedback, line.strip())
        except ValueError:
            continue
    return feedback


def diagnose(feedbacks: Sequence[Feedback]) -> tuple[RankedSymptom, ...]:
    """Find what is wrong, most widespread first."""
    tasks: dict[Symptom, dict[str, None]] = defaultdict(dict)
    details: dict[Symptom, Counter[tuple[str, str]]] = defaultdict(Counter)
    for feedback in feedbacks:
        for symptom, detail in _symptoms(feedback):
            tasks[symptom][feedback.task] = None
            details[symptom].update(detail.items())
    order = list(Symptom)
    ranked = sorted(tasks, key=lambda symptom: (-len(tasks[symptom]), order.index(symptom)))
    return tuple(
        RankedSymptom(symptom, tuple(tasks[symptom]), _settled(symptom, details[symptom])) for symptom in ranked
    )


def _read_line(feedback: Feedback, line: str) -> None:
    """Add what one line says; raise ValueError when its JSON cannot be read."""
    if (found := _CELL.fullmatch(line)) is not None:
        column, expected, seen = (str(json.loads(part)) for part in found.groups()[1:])
        feedback.cells.append(WrongCell(int(found[1]), column, expected, seen))
    elif (found := _COLUMNS.fullmatch(line)) is not None:
        wanted, header = (tuple(map(str, json.loads(part))) for part in found.groups())
        feedback.columns = (wanted, header)
    elif (found := _COUNTS.fullmatch(line)) is not None:
        feedback.counts = (int(found[1]), int(found[2]))
    elif (found := _EXTRA.fullmatch(line)) is not None:
        row = json.loads(found[1])
        feedback.extra.append(tuple(map(str, row.values() if isinstance(row, dict) else row)))


def _symptoms(feedback: Feedback) -> Iterator[tuple[Symptom, dict[str, str]]]:
    """Yield the symptoms of one task, each once for every detail."""
    yield from _header_symptoms(feedback)
    seen: set[Symptom] = set()
    for cell in feedback.cells:
        symptom = symptom_of(cell.expected, cell.found)
        if symptom is not None and not (symptom is Symptom.FILLED_DOWN and feedback.counts):
            seen.add(symptom)
            yield symptom, _details(symptom, cell)
    for symptom in _row_symptoms(feedback, seen):
        yield symptom, {}


def _header_symptoms(feedback: Feedback) -> Iterator[tuple[Symptom, dict[str, str]]]:
    if feedback.columns is None:
        return
    wanted, header = feedback.columns
    named = [name for name in header if not _UNNAMED.fullmatch(name.strip())]
    if len(named) < len(header):
        yield Symptom.EMPTY_COLUMN, {}
    if "currency" in wanted and len(named) < len(wanted):
        yield Symptom.CURRENCY_INSIDE, {}
    if len(named) != len(wanted):
        return
    for want, name in zip(wanted, named, strict=True):
        plain = _NOT_WORD.sub("_", name.lower()).strip("_")
        if plain != want:
            yield Symptom.SYNONYMS, {f"pair `{plain}` to `{want}`": ""}
        elif name != want:
            yield Symptom.HEADER_CASE, {}


def _row_symptoms(feedback: Feedback, seen: set[Symptom]) -> Iterator[Symptom]:
    """Yield what rows that are too many, too few or misplaced show."""
    wanted, found = feedback.counts or (0, 0)
    if found < wanted:
        yield Symptom.ROWS_LOST
        return
    rows: dict[int, list[WrongCell]] = defaultdict(list)
    for cell in feedback.cells:
        rows[cell.row].append(cell)
    junk = {symptom for row in feedback.extra for value in row if (symptom := symptom_of("?", value)) in _JUNK} | (
        _JUNK & seen
    )
    blank = any(len(cells) > 1 and not any(cell.found for cell in cells) for cells in rows.values())
    if found > wanted and (blank or any(not any(row) for row in feedback.extra)):
        junk.add(Symptom.EMPTY_ROWS)
    yield from (symptom for symptom in Symptom if symptom in junk)
    if found > wanted and not junk:
        yield Symptom.STALE_ROWS if _is_stale(rows) else Symptom.DOUBLE_ROWS
    if found == wanted and _is_permuted(feedback.cells):
        yield Symptom.ORDER


def _is_stale(rows: Mapping[int, Sequence[WrongCell]]) -> bool:
    """Return whether the first row that is off has the right id but an older date."""
    for _, cells in sorted(rows.items()):
        dates = [cell for cell in cells if ISO_DATE.fullmatch(cell.expected)]
        ids = [symptom_of(cell.expected, cell.found) for cell in cells if _ID_NAME.search(cell.column)]
        if any(symptom not in {Symptom.IDS, Symptom.SPACES} for symptom in ids):
            return False
        if any(ISO_DATE.fullmatch(cell.found) and cell.found[:4] < cell.expected[:4] for cell in dates):
            return True
        if any(cell.expected[2:4] not in cell.found for cell in dates):
            return True
    return False


def _is_permuted(cells: Sequence[WrongCell]) -> bool:
    """Return whether a column of ids holds the right ids in the wrong rows."""
    by_column: dict[str, list[WrongCell]] = defaultdict(list)
    for cell in cells:
        if _ID_NAME.search(cell.column):
            by_column[cell.column].append(cell)
    for column in by_column.values():
        expected = {_bare(cell.expected) for cell in column}
        found = {_bare(cell.found) for cell in column}
        moved = sum(_bare(cell.expected) != _bare(cell.found) for cell in column)
        if moved > 1 and len(expected & found) * 2 >= len(expected):
            return True
    return False


def _bare(identity: str) -> str:
    return re.sub(r"(?<=\D)0+", "", "".join(identity.lower().split()))


def _details(symptom: Symptom, cell: WrongCell) -> dict[str, str]:
    """Take from a cell what a rule about it should say."""
    match symptom:
        case Symptom.DATES:
            parts = NUMERIC_DATE.fullmatch(cell.found.strip())
            day_first = parts is not None and int(parts[1]) == int(cell.expected[8:]) != int(parts[2])
            month_first = parts is not None and int(parts[2]) == int(cell.expected[8:]) != int(parts[1])
            return {"first": "day"} if day_first else {"first": "month"} if month_first else {}
        case Symptom.PHONE:
            digits = "".join(filter(str.isdecimal, cell.found))
            local = digits.removeprefix("0")
            code = cell.expected[1:].removesuffix(local)
            return {"code": code} if digits.startswith("0") and 0 < len(code) < 4 else {}  # noqa: PLR2004 - calling codes have up to 3 digits
        case Symptom.IDS:
            return {"width": str(sum(map(str.isdecimal, cell.expected))), "example": cell.expected}
        case _:
            return {}


def _settled(symptom: Symptom, details: Counter[tuple[str, str]]) -> dict[str, str]:
    """Choose the most frequent value of each detail, and join renamed columns in one list."""
    chosen = dict(_DEFAULTS)
    if symptom is Symptom.SYNONYMS:
        chosen["pairs"] = ", ".join(sorted(name.removeprefix("pair ") for name, _ in details))
        return chosen
    for (name, value), _ in sorted(details.items(), key=lambda item: (item[1], item[0])):
        chosen[name] = value
    if symptom is Symptom.DATES:
        chosen["second"] = "month" if chosen["first"] == "day" else "day"
    return chosen
