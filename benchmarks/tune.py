"""Search for settings in the worlds with planted truth, and keep the study as data.

    python -m benchmarks.tune NAME --worlds distractors harmful --seeds 8 --trials 30 --rollouts 600

Owns the command line and what a case is here: one world under one seed, scored by the truth. The search is that of
`skillopt tune` (skillopt.tuning), and the same command goes on with one that was interrupted. Does not own runs
(landscapes) or the page (study_page).
"""

import argparse
import os
import platform
import signal
import sys
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from json import dumps
from multiprocessing import Pool
from multiprocessing.pool import AsyncResult
from multiprocessing.pool import Pool as Processes
from pathlib import Path
from random import Random

from benchmarks.landscapes.runs import Job, run_job
from benchmarks.landscapes.worlds import WORLDS
from benchmarks.study_page import Kept, write_study
from skillopt import __version__
from skillopt.attempts import Confirmation, Result, confirm, recommend
from skillopt.errors import SkilloptError
from skillopt.search_space import DEFAULT_SPACE, Space, Value, overrides, read_space, space_of_names, start_values
from skillopt.settings import Preset, Settings
from skillopt.tuning import Search, Study, open_study, tune

__all__ = ["Cases", "main"]

_FOLDER = Path(__file__).with_name("studies")
_UNTURNED = frozenset({"epochs", "patience"})
"""In the worlds every run trains to its budget."""

_INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Cases:
    """The cases of a search: what they have in common, and how they are measured.

    Args:
        preset: Of the loop.
        rollouts: What training may ask for.
        changes: Settings that are not searched, by name, as text.
        objective: `end` for the share of the best true score at the budget, `reach` for 1 where 95% of it is reached.
    """

    preset: str
    rollouts: int
    changes: tuple[tuple[str, str], ...]
    objective: str

    def settings(self, world: str, seed: int = 0) -> Settings:
        """Give the settings that the search starts from."""
        return Job(world, self.preset, seed, self.rollouts, self.changes).settings

    def result(self, values: Mapping[str, Value], case: str) -> Result:
        """Train once and hold the outcome against the truth.

        Rollouts are those to 95% of the best true score, and the whole budget where that is not reached.
        """
        world, _, seed = case.rpartition("/")
        turned = overrides(self.settings(world), values)
        changes = (*self.changes, *((name, str(value)) for name, value in turned.items()))
        run = run_job(Job(world, self.preset, int(seed), self.rollouts, changes))
        reached = run.reach is not None and run.reach < self.rollouts
        score = float(reached) if self.objective == "reach" else min(1.0, run.at(self.rollouts) / run.best)
        return Result(round(score, 9), run.reach if run.reach is not None and reached else self.rollouts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Search, write the study and its page, and print where they are; 130 when interrupted."""
    chosen = _parser().parse_args(arguments)
    changes = tuple((key, value) for key, _, value in (text.partition("=") for text in chosen.set))
    cases = Cases(chosen.preset, chosen.rollouts, changes, chosen.score)
    try:
        search = _search(chosen, cases)
        file = chosen.folder / f"{chosen.name}.jsonl"
        with (
            open_study(file.with_suffix(".journal"), search) as study,
            Pool(chosen.workers, initializer=_leave_interrupts) as pool,
        ):
            measure = _Measuring(cases, pool, chosen.workers)
            tune(study, chosen.trials, measure, _tell)
            check = _check(study, chosen, measure)
            kept = Kept(_circumstances(chosen, search), tuple(study.attempts), check)
    except SkilloptError as error:
        print(f"benchmarks.tune: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted; every finished run is kept, the same command goes on", file=sys.stderr)
        return _INTERRUPTED
    page = write_study(file, kept)
    print(page.read_text(encoding="utf-8"))
    print(f"written: {file}, {page}, {file.with_suffix('.svg')}")
    return 0


class _Measuring:
    """Measures cases on all cores, and hands the results over in order."""

    def __init__(self, cases: Cases, pool: Processes, workers: int) -> None:
        self._cases = cases
        self._pool = pool
        self._workers = workers

    def __call__(self, values: Mapping[str, Value], cases: Sequence[str]) -> Generator[Result, None, None]:
        """Begin no more runs than there are cores before their turn: an attempt may be given up."""
        left = iter(cases)
        begun = deque(self._begin(values, case) for case in islice(left, self._workers))
        while begun:
            result = begun.popleft().get()
            begun.extend(self._begin(values, case) for case in islice(left, 1))
            yield result

    def _begin(self, values: Mapping[str, Value], case: str) -> "AsyncResult[Result]":
        return self._pool.apply_async(self._cases.result, (dict(values), case))


def _search(chosen: argparse.Namespace, cases: Cases) -> Search:
    base, space = cases.settings(chosen.worlds[0]), _space(chosen.space)
    order = [
        f"{world}/{seed}"
        for seed in range(chosen.first, chosen.first + chosen.seeds)
        for world in Random(f"{chosen.search_seed}/{seed}").sample(chosen.worlds, len(chosen.worlds))
    ]
    title = dumps([chosen.preset, chosen.rollouts, sorted(cases.changes), chosen.score])
    return Search(title, space, start_values(base, space), tuple(order), chosen.search_seed, chosen.prune_error)


def _space(asked: Sequence[str]) -> Space:
    names = [name for name in asked if not name.endswith(".toml")]
    if not asked:
        return {name: dial for name, dial in DEFAULT_SPACE.items() if name not in _UNTURNED}
    space = dict(space_of_names(names))
    for file in (name for name in asked if name.endswith(".toml")):
        space |= read_space(Path(file).read_text(encoding="utf-8"), file)
    return space


def _check(study: Study, chosen: argparse.Namespace, measure: _Measuring) -> Confirmation | None:
    """Compare the recommended settings with the first ones on seeds that chose nothing."""
    best = recommend(study.attempts)
    if not chosen.check or not best.number:
        return None
    seeds = range(chosen.first + chosen.seeds, chosen.first + chosen.seeds + chosen.check)
    cases = [f"{world}/{seed}" for seed in seeds for world in chosen.worlds]
    _tell(f"comparing attempt {best.number + 1} with the first one in {len(cases)} further runs each")
    start, own = (list(study.measured(values, cases, measure)) for values in (study.search.start, best.values))
    return confirm(start, own)


def _circumstances(chosen: argparse.Namespace, search: Search) -> dict[str, object]:
    """Say how the study came about; nothing in it depends on the machine's speed."""
    return {
        "study": chosen.name,
        "versions": {"skillopt-mcp": __version__, "optuna": version("optuna"), "python": platform.python_version()},
        "preset": chosen.preset,
        "set": chosen.set,
        "worlds": chosen.worlds,
        "seeds": [chosen.first, chosen.first + chosen.seeds - 1],
        "check_seeds": chosen.check,
        "rollouts": chosen.rollouts,
        "score": chosen.score,
        "prune_error": chosen.prune_error,
        "search_seed": chosen.search_seed,
        "space": {name: repr(dial) for name, dial in search.space.items()},
    }


def _tell(line: str) -> None:
    """Print a line about an attempt; those about single cases are too many."""
    if not line.startswith(" "):
        print(line, file=sys.stderr, flush=True)


def _leave_interrupts() -> None:
    """Leave Ctrl-C to the process that hands out the runs."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune", description=main.__doc__)
    parser.add_argument("name", help="of the study; a second command with this name goes on")
    parser.add_argument("--worlds", nargs="+", choices=list(WORLDS), default=["distractors", "harmful"])
    parser.add_argument("--trials", type=_positive, default=20, help="settings to try, the first ones included")
    parser.add_argument("--seeds", type=_positive, default=8, help="runs in each world")
    parser.add_argument("--first", type=int, default=1000, help="first seed; not those that results are shown for")
    parser.add_argument("--check", type=int, default=8, help="further seeds to compare the result on")
    parser.add_argument("--rollouts", type=_positive, default=600, help="what training may ask for")
    parser.add_argument(
        "--score", choices=["end", "reach"], default="end", help="true score at the end, or 95%% reached"
    )
    parser.add_argument("--preset", choices=[preset.value for preset in Preset], default=Preset.DEFAULT.value)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting not searched")
    parser.add_argument("--space", nargs="+", default=[], metavar="NAME|FILE", help="settings to search")
    parser.add_argument("--prune-error", type=float, default=0.1, help="risk of giving up settings as good as any")
    parser.add_argument("--search-seed", type=int, default=0, help="seed of what is tried")
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="where the study is kept")
    parser.add_argument("--workers", type=_positive, default=os.cpu_count() or 1, help="processes")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, found {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
