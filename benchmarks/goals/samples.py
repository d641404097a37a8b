"""The runs that goals are measured on: ours as shipped, the published loop and GEPA in the same cells.

Owns making the runs, in processes, each once whatever number of goals is about it. Does not own a run (landscapes,
peers) or what is measured of it (measures).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import Pool

from benchmarks.goals.measures import Year
from benchmarks.landscapes.runs import Job, Run, run_job
from benchmarks.peers.arena import Figures
from benchmarks.peers.contestants import GEPA, NO_GATE, Batch, play
from benchmarks.peers.small_loops import SMALL_LOOPS
from skillopt.errors import InfrastructureError
from skillopt.gate.grades import Grade

OURS = "default"
PUBLISHED = ("paper", "paper, to the cap")
"""The published loop, as shipped and without its end by epochs."""

_CHUNK = 5


@dataclass(frozen=True, slots=True)
class Cell:
    """Where a goal is measured."""

    world: str
    rollouts: int
    nights: int = 0


@dataclass(frozen=True, slots=True)
class Samples:
    """What was run, by cell, and there by who ran."""

    runs: dict[tuple[Cell, str], list[Run]] = field(default_factory=dict)
    rivals: dict[tuple[Cell, str], list[Figures]] = field(default_factory=dict)
    years: dict[Cell, list[Year]] = field(default_factory=dict)
    broken: dict[tuple[Cell, str], list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Unit:
    """Some seeds of a cell, for one process."""

    cell: Cell
    who: str
    seeds: range


_Made = Run | Figures | Year | str


def make_samples(
    wanted: Iterable[tuple[Cell, str]],
    seeds: range,
    changes: Sequence[tuple[str, str]],
    workers: int,
    tell: Callable[[int, int], None] = lambda _done, _pieces: None,
) -> Samples:
    """Run each cell once for each of its runners."""
    found = Samples()
    units = [
        _Unit(cell, who, seeds[at : at + _CHUNK])
        for cell, who in dict.fromkeys(wanted)
        for at in range(0, len(seeds), _CHUNK)
    ]
    # The longest first, so that no process works on alone at the end.
    units.sort(key=lambda unit: -unit.cell.rollouts * max(1, unit.cell.nights))
    with Pool(workers) as pool:
        for done, (unit, made) in enumerate(pool.imap(partial(_make, changes=tuple(changes)), units), 1):
            _sort_in(found, unit, made)
            tell(done, len(units))
    return found


def _sort_in(found: Samples, unit: _Unit, made: Sequence[_Made]) -> None:
    for one in made:
        match one:
            case Run():
                found.runs.setdefault((unit.cell, unit.who), []).append(one)
            case Figures():
                found.rivals.setdefault((unit.cell, unit.who), []).append(one)
            case Year():
                found.years.setdefault(unit.cell, []).append(one)
            case str():
                found.broken.setdefault((unit.cell, unit.who), []).append(one)


def _make(unit: _Unit, changes: tuple[tuple[str, str], ...]) -> tuple[_Unit, list[_Made]]:
    if unit.who in (*GEPA, NO_GATE, *SMALL_LOOPS):
        return unit, [*play(Batch(unit.cell.world, unit.who, unit.seeds, unit.cell.rollouts))]
    return unit, [_run(unit, seed, changes) for seed in unit.seeds]


def _run(unit: _Unit, seed: int, changes: tuple[tuple[str, str], ...]) -> _Made:
    cell = unit.cell
    preset, _, to_the_cap = unit.who.partition(", ")
    job = Job(cell.world, preset, seed, cell.rollouts, changes if unit.who == OURS else (), shipped=not to_the_cap)
    try:
        return _year(job, cell.nights) if cell.nights else run_job(job)
    except InfrastructureError as error:
        return f"seed {seed}: {error}"


def _year(job: Job, nights: int) -> Year:
    """Train night after night on the same tasks, each time from the last version; no draft becomes one by itself."""
    made: list[Run] = []
    text, spent = "", 0.0
    for night in range(1, nights + 1):
        made.append(run_job(replace(job, night=night, start=text, spent=spent)))
        spent += made[-1].spent
        handed = made[-1].handed
        text = handed.text if handed.kind == "version" or handed.grade == Grade.PROVEN else text
    return Year(tuple(made))
