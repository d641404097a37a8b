"""Table operations on rows and columns, and several operations in a fixed order.

Operations that contradict each other are settled.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from benchmarks.demo.cell_operations import CELL_OPERATIONS, fits_header, snake_case, split_currency
from benchmarks.demo.tables import DemoTable, Operation, OperationKind

_TableOperation = Callable[[DemoTable, Operation], DemoTable]

_TOTAL = re.compile(r"\s*(?:grand[ -]?|sub[ -]?)?totals?\b|\s*sum\b", re.IGNORECASE)
_NOTE = re.compile(
    r"\s*(?:note|generated|source|report|exported|printed|prices|all (?:amounts|prices))\b", re.IGNORECASE
)
_ID_HEADER = re.compile(r"(?:^|_)id$|^sku$|(?:^|_)no$")
_DATE_HEADER = re.compile(r"date|_on$|updated")
_UNNAMED = re.compile(r"\s*(?:unnamed.*|column ?\d*)?", re.IGNORECASE)
_TRUE: Final = frozenset({"yes", "y", "true", "1", "x", "t"})
_FALSE: Final = frozenset({"no", "n", "false", "0", "f"})
_ENOUGH_BOOLEANS = 0.6
_ORDER: Final = {kind: position for position, kind in enumerate(OperationKind)}
_RIVALS: Final = {
    OperationKind.ROUND_NUMBERS: OperationKind.TWO_DECIMALS,
    OperationKind.KEEP_FIRST: OperationKind.KEEP_LATEST,
    OperationKind.FILL_ALL_DOWN: OperationKind.FILL_DOWN,
}
_ONE_PER_TABLE: Final = frozenset({OperationKind.SORT, OperationKind.KEEP_LATEST, OperationKind.FILL_DOWN})


def settle(operations: Iterable[tuple[Operation, bool]]) -> tuple[Operation, ...]:
    """Settle contradictions: the later operation wins, but a guess never beats a clear sentence."""
    kept: dict[tuple[str, ...], tuple[Operation, bool]] = {}
    for operation, clear in operations:
        slot = _slot(operation)
        rival = kept.get(slot)
        if rival is None or clear or not rival[1]:
            kept[slot] = (operation, clear)
    wanted = (operation for operation, _ in kept.values() if not operation.off)
    return tuple(sorted(wanted, key=lambda operation: (_ORDER[operation.kind], not operation.columns)))


def apply_operations(table: DemoTable, operations: Sequence[Operation]) -> DemoTable:
    """Do operations one after the other; any table and any operations give a table."""
    for operation in operations:
        cell = CELL_OPERATIONS.get(operation.kind)
        table = _TABLE_OPERATIONS[operation.kind](table, operation) if cell is None else _each_cell(table, operation)
    return table


def _slot(operation: Operation) -> tuple[str, ...]:
    """Name what only one operation can decide."""
    kind = _RIVALS.get(operation.kind, operation.kind)
    if kind is OperationKind.RENAME_COLUMNS:
        return (kind, *(old for old, _ in operation.pairs))
    if kind is OperationKind.CONVERT_UNIT:
        return (kind, operation.value)
    return (kind,) if kind in _ONE_PER_TABLE else (kind, *operation.columns)


def _each_cell(table: DemoTable, operation: Operation) -> DemoTable:
    """Change the cells of the columns that the operation names, or of those it fits."""
    change, value = CELL_OPERATIONS[operation.kind], operation.value
    header = table.header
    if operation.columns:
        touched = [snake_case(name) in operation.columns for name in header]
    else:
        touched = [fits_header(operation.kind, name) for name in header]
    if not any(touched) or not table.rows:
        return table
    columns = [
        [change(cell, value) if cell else cell for cell in column] if touch else column
        for touch, column in zip(touched, zip(*table.rows, strict=True), strict=True)
    ]
    return DemoTable(header, tuple(zip(*columns, strict=True)))


def _position(table: DemoTable, wanted: re.Pattern[str]) -> int | None:
    """Find the first column whose name matches."""
    return next((at for at, name in enumerate(table.header) if wanted.search(snake_case(name))), None)


def _positions(table: DemoTable, operation: Operation, otherwise: re.Pattern[str]) -> list[int]:
    """Find the columns an operation names, else the first that matches, else none."""
    named = [at for at, name in enumerate(table.header) if snake_case(name) in operation.columns]
    if named:
        return named
    found = _position(table, otherwise)
    return [] if found is None else [found]


def _with_rows(table: DemoTable, keep: Callable[[tuple[str, ...]], bool]) -> DemoTable:
    return DemoTable(table.header, tuple(row for row in table.rows if keep(row)))


def _rename(table: DemoTable, operation: Operation) -> DemoTable:
    names = {snake_case(old): new for old, new in operation.pairs}
    return DemoTable(tuple(names.get(snake_case(name), name) for name in table.header), table.rows)


def _drop_empty_columns(table: DemoTable, _operation: Operation) -> DemoTable:
    keep = [
        at
        for at, name in enumerate(table.header)
        if not _UNNAMED.fullmatch(name) or any(row[at].strip() for row in table.rows)
    ]
    return DemoTable(tuple(table.header[at] for at in keep), tuple(tuple(row[at] for at in keep) for row in table.rows))


def _drop_incomplete_rows(table: DemoTable, _operation: Operation) -> DemoTable:
    return _with_rows(table, lambda row: all(cell.strip() for cell in row))


def _drop_totals(table: DemoTable, _operation: Operation) -> DemoTable:
    return _with_rows(table, lambda row: _TOTAL.match(next(filter(None, row), "")) is None)


def _drop_footers(table: DemoTable, _operation: Operation) -> DemoTable:
    """Drop the last rows that hold nothing but one cell that reads like a note."""
    end = len(table.rows)
    while end and len(table.header) > 1:
        filled = [cell for cell in table.rows[end - 1] if cell.strip()]
        if len(filled) > 1 or (filled and not (_NOTE.match(filled[0]) or len(filled[0].split()) > 3)):  # noqa: PLR2004 - a sentence
            break
        end -= 1
    return DemoTable(table.header, table.rows[:end])


def _fill_down(table: DemoTable, operation: Operation) -> DemoTable:
    """Repeat the value above in empty cells of the named columns, or of the first one."""
    named = {at for at, name in enumerate(table.header) if snake_case(name) in operation.columns}
    everywhere = operation.kind is OperationKind.FILL_ALL_DOWN
    columns = set(range(len(table.header))) if everywhere else named or ({0} if table.header else set())
    above = [""] * len(table.header)
    rows = []
    for row in table.rows:
        filled = row
        if any(row):
            filled = tuple(above[at] if at in columns and not cell else cell for at, cell in enumerate(row))
            above = list(filled)
        rows.append(filled)
    return DemoTable(table.header, tuple(rows))


def _currency_split(table: DemoTable, operation: Operation) -> DemoTable:
    """Move currency codes out of number cells into a column `currency` right of them."""
    for at, name in enumerate(table.header):
        parts = [split_currency(row[at], codes_only=True) for row in table.rows]
        named = not operation.columns or snake_case(name) in operation.columns or operation.columns == ("currency",)
        if not named or not any(code for _, code in parts):
            continue
        beside = _position(table, re.compile(r"^currency$"))
        header = list(table.header)
        rows = [list(row) for row in table.rows]
        if beside is None:
            beside = at + 1
            header.insert(beside, "currency")
            for row in rows:
                row.insert(beside, "")
        for row, (number, code) in zip(rows, parts, strict=True):
            row[at] = number
            row[beside] = row[beside] or code
        return DemoTable(tuple(header), tuple(map(tuple, rows)))
    return table


def _booleans(table: DemoTable, operation: Operation) -> DemoTable:
    """Write true and false in columns that hold little but yes/no answers."""
    columns: list[Sequence[str]] = []
    for name, column in zip(table.header, zip(*table.rows, strict=True), strict=False):
        answers = [cell.strip().lower() for cell in column]
        known = sum(answer in _TRUE or answer in _FALSE for answer in answers)
        enough = known and known >= _ENOUGH_BOOLEANS * sum(map(bool, answers))
        if not enough or (operation.columns and snake_case(name) not in operation.columns):
            columns.append(column)
            continue
        columns.append(
            [
                "true" if a in _TRUE else "false" if a in _FALSE else cell
                for a, cell in zip(answers, column, strict=True)
            ]
        )
    return DemoTable(table.header, tuple(zip(*columns, strict=True))) if columns else table


def _drop_duplicates(table: DemoTable, _operation: Operation) -> DemoTable:
    return DemoTable(table.header, tuple(dict.fromkeys(table.rows)))


def _keep_one(table: DemoTable, operation: Operation) -> DemoTable:
    """Keep one row per key: the first, or the one with the latest date."""
    keys = _positions(table, operation, _ID_HEADER)
    dated = _position(table, _DATE_HEADER)
    if not keys:
        return _drop_duplicates(table, operation)
    best: dict[tuple[str, ...], int] = {}
    for at, row in enumerate(table.rows):
        key = tuple(row[column].casefold() for column in keys)
        kept = best.setdefault(key if any(key) else (str(at), "no key"), at)
        later = dated is None or row[dated] > table.rows[kept][dated]
        if at != kept and operation.kind is OperationKind.KEEP_LATEST and later:
            best[key] = at
    chosen = set(best.values())
    return DemoTable(table.header, tuple(row for at, row in enumerate(table.rows) if at in chosen))


def _sort(table: DemoTable, operation: Operation) -> DemoTable:
    """Sort rows as text; `value` may say `descending`, or `date` for the first date column."""
    date_wanted = "date" in operation.value.split()
    columns = _positions(table, operation, _DATE_HEADER if date_wanted else _ID_HEADER)
    backwards = "descending" in operation.value
    return DemoTable(
        table.header, tuple(sorted(table.rows, key=lambda row: [row[at] for at in columns], reverse=backwards))
    )


def _fill_zero(table: DemoTable, _operation: Operation) -> DemoTable:
    return DemoTable(table.header, tuple(tuple(cell or "0" for cell in row) for row in table.rows))


_TABLE_OPERATIONS: Final[Mapping[OperationKind, _TableOperation]] = {
    OperationKind.SNAKE_HEADER: lambda table, _: DemoTable(tuple(map(snake_case, table.header)), table.rows),
    OperationKind.RENAME_COLUMNS: _rename,
    OperationKind.DROP_EMPTY_COLUMNS: _drop_empty_columns,
    OperationKind.DROP_EMPTY_ROWS: lambda table, _: _with_rows(table, lambda row: any(cell.strip() for cell in row)),
    OperationKind.DROP_INCOMPLETE_ROWS: _drop_incomplete_rows,
    OperationKind.DROP_TOTALS: _drop_totals,
    OperationKind.DROP_FOOTERS: _drop_footers,
    OperationKind.FILL_DOWN: _fill_down,
    OperationKind.FILL_ALL_DOWN: _fill_down,
    OperationKind.CURRENCY_SPLIT: _currency_split,
    OperationKind.BOOLEANS: _booleans,
    OperationKind.DROP_DUPLICATES: _drop_duplicates,
    OperationKind.KEEP_LATEST: _keep_one,
    OperationKind.KEEP_FIRST: _keep_one,
    OperationKind.SORT: _sort,
    OperationKind.FILL_ZERO: _fill_zero,
}
