"""Heat map of tasks by versions: which are shown, in which order, and where a task flipped.

Limits are stated on the page. A cell that was not run is not a failure: it neither flips nor counts.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.reports.task_grid import FOLDS, Cell, CellState, HeatRow
from skillopt.reports.view import VersionView

__all__ = ["HeatCell", "HeatLine", "HeatMap", "SplitMap", "make_heat_map"]

_MOST_LINES: Final = 160
"""Tasks of a split that are shown."""
_MOST_VERSIONS: Final = 12
_LEAST_PANEL, _MOST_ROWS = 8, 24
"""Tasks below one heading: at least, and at most before the rest is folded."""
_WIDTH, _NAMES, _COLUMN = 60.0, 7.8, 2.5
"""About how wide the page, the names of a panel and one of its columns are."""
_SPLITS: Final = ("train", "val", *FOLDS, "test", "")


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A task under a version as it is shown: `flip` is `fixed`, `broken`, or empty, against the last one that ran."""

    text: str
    state: str
    level: int
    flip: str = ""

    @property
    def words(self) -> str:
        """Say it to a screen reader."""
        return f"{self.state}, {self.flip}" if self.flip else self.state

    @property
    def classes(self) -> str:
        """Name how it looks."""
        state = {"passed": "passed", "mixed": "mixed", "failed": f"failed l{self.level}"}.get(self.state, "")
        return f"{state} {self.flip}".strip()


@dataclass(frozen=True, slots=True)
class HeatLine:
    """A task and its cells, one for each version shown; it ends well if it passes under the last one that ran."""

    task: str
    cells: tuple[HeatCell, ...]
    ends_well: bool

    @property
    def flips(self) -> frozenset[str]:
        """Tell in which directions it flipped."""
        return frozenset(cell.flip for cell in self.cells if cell.flip)


@dataclass(frozen=True, slots=True)
class SplitMap:
    """The tasks of a split, in panels that stand side by side, and how many were left out and how many never ran.

    What needs a look is in `panels`; the `folded` ones can be opened.
    """

    split: str
    panels: tuple[tuple[HeatLine, ...], ...]
    folded: tuple[tuple[HeatLine, ...], ...]
    shown: int
    left_out: int
    never_run: int
    fixed: int
    broken: int


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The versions shown, by number, how many were left out, and the splits."""

    versions: tuple[int, ...]
    versions_left_out: int
    splits: tuple[SplitMap, ...]


def make_heat_map(rows: Sequence[HeatRow], versions: Sequence[VersionView]) -> HeatMap:
    """Choose what is shown: the first version and the last ones; of each split what flipped and failed first."""
    places = list(range(len(versions)))
    if len(places) > _MOST_VERSIONS:
        places = [0, *places[-(_MOST_VERSIONS - 1) :]]
    splits = []
    for split in _SPLITS:
        mine = [row for row in rows if row.split == split]
        if mine:
            splits.append(_split_map(split, mine, places))
    return HeatMap(tuple(versions[at].number for at in places), len(versions) - len(places), tuple(splits))


def _split_map(split: str, rows: Sequence[HeatRow], places: Sequence[int]) -> SplitMap:
    ran = [row for row in rows if any(row.cells[at].repeats for at in places)]
    lines = sorted((_line(row, places) for row in ran), key=_urgency)
    shown = lines[:_MOST_LINES]
    beside = max(1, int(_WIDTH / (_NAMES + _COLUMN * len(places))))
    first = shown if len(shown) <= beside * _MOST_ROWS + _LEAST_PANEL else shown[: beside * _MOST_ROWS]
    panels, folded = _panels(first, beside), _panels(shown[len(first) :], beside)
    flips = Counter(flip for line in lines for flip in line.flips)
    never = len(rows) - len(ran)
    return SplitMap(split, panels, folded, len(shown), len(lines) - len(shown), never, flips["fixed"], flips["broken"])


def _panels(lines: Sequence[HeatLine], beside: int) -> tuple[tuple[HeatLine, ...], ...]:
    size = max(_LEAST_PANEL, -(-len(lines) // beside))
    return tuple(tuple(lines[at : at + size]) for at in range(0, len(lines), size))


def _line(row: HeatRow, places: Sequence[int]) -> HeatLine:
    cells: list[HeatCell] = []
    last: Cell | None = None
    for at in places:
        cell = row.cells[at]
        cells.append(_cell(cell, last))
        last = cell if cell.repeats else last
    return HeatLine(row.task, tuple(cells), last is not None and _passes(last))


def _cell(cell: Cell, last: Cell | None) -> HeatCell:
    flip = ""
    if last is not None and cell.repeats:
        before, after = _passes(last), _passes(cell)
        flip = "fixed" if after and not before else "broken" if before and not after else ""
    match cell.state:
        case CellState.PASSED:
            text = "✓"
        case CellState.MIXED:
            text = f"{cell.passed}/{cell.repeats}"
        case CellState.FAILED:
            text = "0" if not cell.score else f"{cell.score:.2f}".removeprefix("0")
        case CellState.NOT_EVALUATED:
            text = "·"
    level = 0 if cell.score is None else round(cell.score * 4)
    return HeatCell(text, cell.state.value, level, flip)


def _passes(cell: Cell) -> bool:
    """Return whether more than half of the repeats passed, so that one unlucky repeat of seven breaks nothing."""
    return 2 * cell.passed > cell.repeats


def _urgency(line: HeatLine) -> int:
    """Order what needs a look first: broken, not passing in the end, fixed, the rest."""
    if line.ends_well:
        return 2 if line.flips else 3
    return 0 if "broken" in line.flips else 1
