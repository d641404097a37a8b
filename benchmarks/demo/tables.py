"""A table with its CSV form, and the closed list of operations that the demo program can do on one."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class OperationKind(StrEnum):
    """Every operation, in the fixed order in which they are done."""

    SNAKE_HEADER = "snake_header"
    RENAME_COLUMNS = "rename_columns"
    TRIM = "trim"
    MISSING_TO_EMPTY = "missing_to_empty"
    DROP_EMPTY_COLUMNS = "drop_empty_columns"
    DROP_EMPTY_ROWS = "drop_empty_rows"
    DROP_TOTALS = "drop_totals"
    DROP_FOOTERS = "drop_footers"
    FILL_DOWN = "fill_down"
    FILL_ALL_DOWN = "fill_all_down"
    DROP_INCOMPLETE_ROWS = "drop_incomplete_rows"
    REMOVE_SEPARATORS = "remove_separators"
    ISO_DATES = "iso_dates"
    DATE_WORDS = "date_words"
    PERCENT = "percent"
    PARENTHESES = "parentheses"
    CURRENCY_SPLIT = "currency_split"
    CURRENCY_STRIP = "currency_strip"
    CURRENCY_CODE = "currency_code"
    TRAILING_MINUS = "trailing_minus"
    CONVERT_UNIT = "convert_unit"
    DECIMAL_COMMA = "decimal_comma"
    THOUSANDS = "thousands"
    TWO_DECIMALS = "two_decimals"
    ROUND_NUMBERS = "round_numbers"
    EMAIL_LOWER = "email_lower"
    PHONE = "phone"
    COUNTRY_CODE = "country_code"
    ID_UPPER = "id_upper"
    ID_PAD = "id_pad"
    BOOLEANS = "booleans"
    DROP_DUPLICATES = "drop_duplicates"
    KEEP_LATEST = "keep_latest"
    KEEP_FIRST = "keep_first"
    SORT = "sort"
    FILL_ZERO = "fill_zero"
    UPPER_ALL = "upper_all"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation with its parameters."""

    kind: OperationKind
    columns: tuple[str, ...] = ()
    value: str = ""
    pairs: tuple[tuple[str, str], ...] = ()
    off: bool = False

    def __str__(self) -> str:
        """Name the operation and its parameters on one line."""
        parameters = [*self.columns, self.value, *(f"{old}={new}" for old, new in self.pairs)]
        return f"{'no ' if self.off else ''}{self.kind}({', '.join(filter(None, parameters))})"


@dataclass(frozen=True, slots=True)
class DemoTable:
    """A header and rows of cells; every row is as wide as the header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = ()

    @classmethod
    def of(cls, lines: Iterable[Iterable[str]]) -> "DemoTable":
        """Build a table from ragged lines, the first of which is the header; short ones are padded."""
        cells = [tuple(line) for line in lines]
        width = max(map(len, cells), default=0)
        padded = [line + ("",) * (width - len(line)) for line in cells]
        return cls(padded[0], tuple(padded[1:])) if padded else cls(())

    @classmethod
    def parse(cls, text: str) -> "DemoTable":
        """Read CSV text."""
        return cls.of(csv.reader(io.StringIO(text, newline="")))

    def render(self) -> str:
        r"""Write CSV text with `\n` line endings."""
        text = self._written(csv.QUOTE_MINIMAL)
        # The csv module leaves a lone carriage return unquoted, and then reads it as the end of a line.
        return self._written(csv.QUOTE_ALL) if "\r" in text else text

    def _written(self, quoting: Literal[0, 1]) -> str:
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n", quoting=quoting)
        writer.writerow(self.header)
        writer.writerows(self.rows)
        return stream.getvalue()
