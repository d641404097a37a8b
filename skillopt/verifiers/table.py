"""Verifier `table`: the result is the expected table, cell by cell.

The feedback names the cells that are wrong, in lines of one fixed form that a program can read back:

    output.csv: missing
    output.csv: expected columns ["a", "b"], found ["A", "b "]
    output.csv: expected 12 rows, found 14
    output.csv row 3 column "date": expected "2024-03-05", found "05/03/2024"
    output.csv row 3: expected 6 cells, found 7
    output.csv row 5: missing row {"a": "1", "b": "2"}
    output.csv row 13: unexpected row {"a": "9", "b": ""}

Rows are counted from 1 below the header, in the expected table where a row has a partner or is
missing, else in the result.
"""

import csv
import io
import math
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, zip_longest
from pathlib import PurePosixPath
from typing import Annotated, Final, Literal

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import (
    FileName,
    ToleranceOptions,
    failed,
    last_code_block,
    quote_json,
    read_options,
    read_reference,
    read_result,
    shorten_end,
)

_Format = Literal["csv", "tsv"]
_WIDEST: Final = 50  # columns that feedback names


class TableOptions(ToleranceOptions):
    """Options of the verifier `table`."""

    expected: Annotated[FileName, Field(description="Reference file that holds the expected table.")]
    key: Annotated[
        tuple[str, ...] | str,
        Field(description="Columns that identify a row; with them the order of rows does not count."),
    ] = ()


@dataclass(frozen=True, slots=True)
class TextTable:
    """A header and rows of text; a row can be shorter or longer than the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class TableVerifier:
    """Scores the share of right cells, those of the header included; passes when all are right.

    A name in the header is right at its place. Cells are matched by the name of their column. Every
    cell of a missing or extra row or column is wrong.
    """

    def __init__(self, spec: VerifierSpec) -> None:
        options = read_options(TableOptions, spec)
        content = read_reference(spec, options.expected)
        reference_format = _format_of(options.expected)
        self._format = _format_of(options.file or options.expected)
        try:
            expected = read_table(content, reference_format)
        except ValueError as error:
            raise SuiteError(f"verifier 'table': {options.expected}: {error}; correct the file") from error
        for at, row in enumerate(expected.rows, 1):
            if len(row) != len(expected.header):
                raise SuiteError(
                    f"verifier 'table': {options.expected} row {at}: expected {len(expected.header)} cells, "
                    f"found {len(row)}; correct the file"
                )
        key = (options.key,) if isinstance(options.key, str) else options.key
        if strangers := [name for name in key if name not in expected.header]:
            raise SuiteError(f"verifier 'table': key: expected columns of {options.expected}, found {strangers}")
        if key and len(set(_keys(expected, key))) < len(expected.rows):
            raise SuiteError(
                f"verifier 'table': key: expected one row per {list(key)} in {options.expected}, found more"
            )
        self._options, self._key, self._expected = options, key, expected
        self._limit = max(1_000_000, 20 * len(content))
        # The same bytes in the same format are the same table; there is no need to parse them.
        self._same = content if reference_format is self._format else None

    def score(self, trajectory: Trajectory, workspace: str) -> Score:
        """Compare the result with the expected table; of an answer, the last code block counts."""
        result = read_result(self._options.file, trajectory, workspace, self._limit)
        if isinstance(result, Score):
            return result
        if result[1] == self._same:
            return Score(1.0, passed=True)
        content = result[1]
        if self._options.file is None:
            content = last_code_block(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        try:
            found = read_table(content, self._format)
        except ValueError as error:
            return failed(f"{result[0]}: {error}")
        comparison = _Comparison(result[0], self._expected, found, self._options)
        for expected_row, found_row in _align(self._expected, found, self._key):
            comparison.compare_rows(expected_row, found_row)
        return comparison.score()


class _Comparison:
    """Counts right and wrong cells, and keeps of each kind of defect as many as could be shown."""

    def __init__(self, name: str, expected: TextTable, found: TextTable, options: TableOptions) -> None:
        self._name, self._expected, self._found, self._options = name, expected, found, options
        self._tolerant = options.absolute_tolerance > 0 or options.relative_tolerance > 0
        self._columns = _columns(expected.header, found.header)
        self._extra_columns = len(found.header) - sum(column is not None for column in self._columns)
        self._same_header = expected.header == found.header
        places = list(zip_longest(expected.header, found.header))
        self._total, self._wrong = len(places), sum(left != right for left, right in places)
        # What is wrong with rows, by its kind; a wrong cell is a defect of its column.
        self._defects: defaultdict[str | int, list[tuple[int, int, str]]] = defaultdict(list)

    def compare_rows(self, expected_at: int | None, found_at: int | None) -> None:
        """Compare two rows, or count a row that has no partner; rows are given by their indices."""
        if expected_at is not None and found_at is not None:
            self._compare_cells(expected_at, self._expected.rows[expected_at], self._found.rows[found_at])
            return
        kind, at, table = (
            ("missing", expected_at, self._expected) if found_at is None else ("unexpected", found_at, self._found)
        )
        self._total += len(table.header)
        self._wrong += len(table.header)
        if at is not None and self._has_room(kind):
            cells = zip(table.header[:_WIDEST], table.rows[at], strict=False)
            row = quote_json({shorten_end(name): shorten_end(cell) for name, cell in cells})
            self._defects[kind].append((at, -1, f" row {at + 1}: {kind} row {row}"))

    def score(self) -> Score:
        """Sum up: the header and the number of rows, then one defect of every kind, a second, up to the limit."""
        if not self._wrong:
            return Score(1.0, passed=True)
        lines, headers = [], (self._expected.header, self._found.header)
        if not self._same_header:
            names = (quote_json([shorten_end(name) for name in header[:_WIDEST]]) for header in headers)
            lines.append(": expected columns {}, found {}".format(*names))
        rows = len(self._expected.rows), len(self._found.rows)
        if rows[0] != rows[1]:
            lines.append(": expected {} rows, found {}".format(*rows))
        rounds = filter(None, chain.from_iterable(zip_longest(*self._defects.values())))
        lines += [line for _, _, line in sorted(islice(rounds, self._options.max_feedback))]
        feedback = "\n".join(f"{self._name}{line}" for line in lines)
        return Score(1 - self._wrong / self._total, passed=False, feedback=feedback)

    def _compare_cells(self, at: int, expected: Sequence[str], found: Sequence[str]) -> None:
        width = len(self._found.header)
        excess = self._extra_columns + max(len(found) - width, 0)
        self._total += len(expected) + excess
        self._wrong += excess
        if self._same_header and expected == found:
            return
        if len(found) != width and self._has_room("width"):
            self._defects["width"].append((at, -1, f" row {at + 1}: expected {width} cells, found {len(found)}"))
        for index, (column, wanted) in enumerate(zip(self._columns, expected, strict=True)):
            given = found[column] if column is not None and column < len(found) else None
            if given is not None and (given == wanted or (self._tolerant and self._is_close(wanted, given))):
                continue
            self._wrong += 1
            # A column or an empty cell that is not there has its own line.
            if column is not None and (given or "") != wanted and self._has_room(index):
                name = quote_json(self._expected.header[index])
                line = f" row {at + 1} column {name}: expected {quote_json(wanted)}, found {quote_json(given or '')}"
                self._defects[index].append((at, index, line))

    def _is_close(self, expected: str, found: str) -> bool:
        try:
            left, right = float(expected), float(found)
        except ValueError:
            return False
        options = self._options
        return math.isclose(left, right, rel_tol=options.relative_tolerance, abs_tol=options.absolute_tolerance)

    def _has_room(self, kind: str | int) -> bool:
        return len(self._defects[kind]) < self._options.max_feedback


def read_table(content: bytes, written: _Format) -> TextTable:
    """Read a table, a byte order mark and blank lines left out."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"expected UTF-8 text, found {error.reason} at byte {error.start}") from error
    reader = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if written == "tsv" else ",")
    try:
        header, *rows = filter(None, map(tuple, reader))
    except csv.Error as error:
        raise ValueError(f"expected {written.upper()}, found line {reader.line_num} broken: {error}") from error
    except ValueError as error:
        raise ValueError("expected a header, found nothing") from error
    return TextTable(header, tuple(rows))


def _format_of(name: str) -> _Format:
    return "tsv" if PurePosixPath(name).suffix.lower() in (".tsv", ".tab") else "csv"


def _columns(expected: Sequence[str], found: Sequence[str]) -> list[int | None]:
    """Find each expected column in the found header; of columns of one name, the first is matched first."""
    places: defaultdict[str, deque[int]] = defaultdict(deque)
    for at, name in enumerate(found):
        places[name].append(at)
    return [places[name].popleft() if places[name] else None for name in expected]


def _keys(table: TextTable, key: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each row's values of the key columns; a cell that is not there is empty."""
    columns = [table.header.index(name) for name in key]
    return [tuple(row[column] if column < len(row) else "" for column in columns) for row in table.rows]


def _align(expected: TextTable, found: TextTable, key: Sequence[str]) -> "Iterator[tuple[int | None, int | None]]":
    """Pair rows by key, or by position without one or when the result lacks a key column."""
    if not key or not set(key) <= set(found.header):
        yield from zip_longest(range(len(expected.rows)), range(len(found.rows)))
        return
    places: dict[tuple[str, ...], int] = {}
    unexpected = [at for at, value in enumerate(_keys(found, key)) if places.setdefault(value, at) != at]
    for at, value in enumerate(_keys(expected, key)):
        yield at, places.pop(value, None)
    yield from ((None, at) for at in sorted((*places.values(), *unexpected)))
