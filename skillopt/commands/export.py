"""The user action `export`: recorded rollouts and replies as a table, in Parquet or JSON lines."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from skillopt.errors import UsageError
from skillopt.project import Project
from skillopt.storage.answer_rows import AnswerRow, read_rows
from skillopt.storage.ledger import Ledger

__all__ = ["Exported", "export"]

_BATCH: Final = 10_000
"""Rows of a row group, which is what is held in memory."""

_WHOLE: Final = ("repeat", "input_tokens", "output_tokens", "judge_calls", "judge_tokens")
_TYPES: Final = {
    **dict.fromkeys(_WHOLE, "int64"),
    **dict.fromkeys(("score", "usd", "judge_usd"), "float64"),
    "passed": "bool_",
}
"""Types of the columns that are no text."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: where, how many rows, how many bytes."""

    path: str
    rows: int
    size: int


def export(path: Path, *, whole: bool = False, folder: Path | None = None) -> Exported:
    """Write all recorded answers to a file, by its ending as Parquet or as JSON lines; all of it or nothing.

    Args:
        path: The file, `.parquet` or `.jsonl`; one that is there is replaced.
        whole: With the whole rollouts and replies, trajectories included.
        folder: A folder of the project; the current one when None.

    Raises:
        UsageError: The ending is another, PyArrow is missing, there is no ledger, or the file cannot be written.
        LedgerError: The ledger is damaged.
    """
    writers = {".parquet": _write_parquet, ".jsonl": _write_lines}
    if path.suffix not in writers:
        raise UsageError(f"expected a file that ends in .parquet or .jsonl, found {str(path)!r}")
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        source = ledger.path
    staged = path.with_name(f"{path.name}.new")
    try:
        rows = writers[path.suffix](staged, read_rows(source, whole=whole))
        staged.replace(path)
        return Exported(str(path), rows, path.stat().st_size)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}; name a file that can be written") from error
    finally:
        staged.unlink(missing_ok=True)


def _write_lines(path: Path, rows: Iterable[AnswerRow]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for count, row in enumerate(rows, 1):  # noqa: B007 - counted as they are written
            file.write(f"{json.dumps(_columns(row), ensure_ascii=False)}\n")
    return count


def _write_parquet(path: Path, rows: Iterator[AnswerRow]) -> int:
    arrow, parquet = _pyarrow()
    fields = [(name, getattr(arrow, _TYPES.get(name, "string"))()) for name in AnswerRow.__dataclass_fields__]
    schema = arrow.schema(fields)
    count = 0
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        while batch := [_columns(row) for row in islice(rows, _BATCH)]:
            writer.write_table(arrow.Table.from_pylist(batch, schema=schema))
            count += len(batch)
    return count


def _columns(row: AnswerRow) -> dict[str, object]:
    """Give the values by column; `asdict` copies each of them, which takes longer than all the rest."""
    return {name: getattr(row, name) for name in AnswerRow.__dataclass_fields__}


def _pyarrow() -> tuple[ModuleType, Any]:
    """Import PyArrow, or say how to install it."""
    try:
        return import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError as error:
        raise UsageError(
            "expected PyArrow, found none; install it: pip install 'PATH-OF-CLONE[export]', or export to a .jsonl file"
        ) from error
