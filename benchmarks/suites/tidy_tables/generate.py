"""Generate the suite: `python -m benchmarks.suites.tidy_tables.generate [folder]`.

Owns which task gets which table and defects, and writing the files. The same code writes the same
bytes every time; without a folder it writes beside itself.
"""

import csv
import io
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from benchmarks.suites.tidy_tables.defects import DEFECTS, Defect, Mess, applicable
from benchmarks.suites.tidy_tables.records import KINDS, TableKind, clean_table

__all__ = ["SPLITS", "generate", "main"]

SPLITS: Final = {"train": 72, "val": 48, "test": 72}
"""Number of tasks in each split."""

_SEED: Final = "tidy-tables-1"
_SIZES: Final = (2, 3, 2, 4, 2, 3, 2, 3, 4, 5)
_VENDORS: Final = (
    "Nordwind GmbH", "Kontor & Sohn", "Atelier Verde", "Brightline Supplies", "Halden Logistik", "Moreau Frères",
    "Casa Lume", "Polaris Trading", "Unterberg AG", "Riverside Wholesale",
)  # fmt: skip
_ASKS: Final = (
    (
        "Clean the vendor table input.csv to the house format and write output.csv. "
        "It is the {about} that {vendor} sent for {month}."
    ),
    (
        "{vendor} sent us their {about} for {month} as input.csv. "
        "Bring it into our house format and save the result as output.csv."
    ),
    (
        "We need the {about} of {vendor} ({month}) in house format before it can be imported. "
        "Read input.csv, write output.csv."
    ),
)
_MONTHS: Final = ("January", "February", "March", "April", "May", "June", "September", "October", "November")


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one task is made of."""

    id: str
    split: str
    kind: TableKind
    defects: tuple[Defect, ...]


def generate(folder: Path) -> None:
    """Write `suite.yaml`, `tasks.jsonl` and `data/` into a folder."""
    lines = []
    for plan in _plans():
        draw = Random(f"{_SEED} {plan.id}")
        table = clean_table(plan.kind, draw)
        mess = Mess.of(table, draw)
        for defect in plan.defects:
            defect.spoil(mess)
        home = folder / "data" / plan.id
        home.mkdir(parents=True, exist_ok=True)
        _write(home / "input.csv", [mess.header, *mess.rows])
        _write(home / "expected.csv", [plan.kind.header, *table.rows])
        lines.append(json.dumps(_task(plan, draw), ensure_ascii=False))
    (folder / "tasks.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "suite.yaml").write_text("name: tidy-tables\n", encoding="utf-8")


def main(arguments: Sequence[str]) -> None:
    """Generate into the folder named on the command line, or beside this file."""
    generate(Path(arguments[0]) if arguments else Path(__file__).parent)


def _plans() -> Iterator[_Plan]:
    """Deal defects to tasks so that each occurs about equally often in every split."""
    for split, count in SPLITS.items():
        draw = Random(f"{_SEED} {split}")
        kinds = [tuple(KINDS.values())[at % len(KINDS)] for at in range(count)]
        sizes = [_SIZES[at // len(KINDS) % len(_SIZES)] for at in range(count)]
        credit = {defect.name: draw.random() * defect.weight for defect in DEFECTS}
        for number, (kind, size) in enumerate(zip(kinds, sizes, strict=True), 1):
            yield _Plan(f"{split}-{number:03d}", split, kind, _deal(kind, size, credit, draw))


def _deal(kind: TableKind, size: int, credit: dict[str, float], draw: Random) -> tuple[Defect, ...]:
    """Take the defects whose turn it is: credit grows by weight, and being taken costs one round."""
    pool = applicable(kind, ())
    total = sum(defect.weight for defect in pool)
    for defect in pool:
        credit[defect.name] += defect.weight * size
    taken: list[Defect] = []
    for _ in range(size):
        due = max(applicable(kind, taken), key=lambda defect: credit[defect.name] + draw.random() * total / 4)
        credit[due.name] -= total
        taken.append(due)
    return tuple(sorted(taken, key=DEFECTS.index))


def _task(plan: _Plan, draw: Random) -> dict[str, object]:
    prompt = draw.choice(_ASKS).format(
        about=plan.kind.about, vendor=draw.choice(_VENDORS), month=f"{draw.choice(_MONTHS)} {draw.choice((2024, 2025))}"
    )
    tags = [plan.kind.name, *(f"defect:{defect.name}" for defect in plan.defects)]
    return {
        "id": plan.id,
        "split": plan.split,
        "prompt": prompt,
        "files": {"input.csv": f"data/{plan.id}/input.csv"},
        "verifier": {
            "kind": "table",
            "file": "output.csv",
            "expected": "expected.csv",
            "files": {"expected.csv": f"data/{plan.id}/expected.csv"},
        },
        "tags": tags,
        "timeout": 300,
    }


def _write(path: Path, lines: Sequence[Sequence[str]]) -> None:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    path.write_bytes(stream.getvalue().encode())


if __name__ == "__main__":
    main(sys.argv[1:])
