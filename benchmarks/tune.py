"""Search for settings in the worlds with planted truth, by an ordinary Optuna study.

    python -m benchmarks.tune distractors harmful --trials 30 --seeds 8 --rollouts 600 --file tuning.db

A trial trains once in each world under each seed; its score is the true score at the end as a share of the best one,
and its rollouts are those to 95% of that, or the whole budget. The same command goes on with a search that was
interrupted; `--file` is an SQLite storage that every tool of Optuna reads.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from json import dumps
from multiprocessing import Pool
from pathlib import Path
from statistics import fmean

from benchmarks.landscapes.runs import Job, run_job
from benchmarks.landscapes.worlds import WORLDS
from skillopt.settings import Settings
from skillopt.tasks import digest_of
from skillopt.tuning.studies import RANGES, Search, choose_ranges, open_study, plot, run_trials, trials_of

__all__ = ["main", "play"]


def play(job: Job) -> tuple[float, int]:
    """Train once; give the share of the best true score at the end, and the rollouts to 95% of it."""
    run = run_job(job)
    reach = run.reach if run.reach is not None and run.reach < job.rollouts else job.rollouts
    return min(1.0, run.at(job.rollouts) / run.best), reach


def main(arguments: Sequence[str] | None = None) -> None:
    """Search, write Optuna's plots beside the storage, and print the trials, best first."""
    chosen = _parser().parse_args(arguments)
    fixed = tuple((key, value) for key, _, value in (text.partition("=") for text in chosen.set))
    base = Job(chosen.worlds[0], "default", 0, chosen.rollouts, fixed).settings
    ranges = choose_ranges((), {name: getattr(base, name) for name in RANGES})
    start, seeds = {name: getattr(base, name) for name in ranges}, range(chosen.first, chosen.first + chosen.seeds)
    told = [chosen.worlds, chosen.rollouts, list(fixed), start, list(seeds)]
    name = f"worlds-{digest_of(dumps(told))[:12]}"
    with open_study(chosen.file, name) as study, Pool(chosen.workers) as pool:

        def measure(params: Mapping[str, int], seed: int) -> tuple[float, int]:
            changes = (*fixed, *((key, str(value)) for key, value in _followed(base, params).items()))
            jobs = [Job(world, "default", seed, chosen.rollouts, changes) for world in chosen.worlds]
            found = pool.map(play, jobs, chunksize=1)
            return round(fmean(score for score, _ in found), 9), round(fmean(rollouts for _, rollouts in found))

        run_trials(study, Search(ranges, start, seeds, measure), chosen.trials, _tell)
        trials = trials_of(study)
        plot(study, chosen.file.with_suffix(".html"))
    print("| trial | score | rollouts | seeds | settings |\n| ---: | ---: | ---: | ---: | --- |")
    for one in sorted(trials, key=lambda one: (one.pruned, -one.score, one.rollouts)):
        params = " ".join(f"{key}={value}" for key, value in one.params.items())
        print(f"| {one.number + 1} | {one.score:.3f} | {one.rollouts:.0f} | {len(one.scores)} | {params} |")


def _followed(base: Settings, params: Mapping[str, int]) -> dict[str, int]:
    return {**params, "min_edits": min(base.min_edits, params["edit_budget"])}


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune", description=main.__doc__)
    parser.add_argument("worlds", nargs="+", choices=list(WORLDS), metavar="WORLD", help=", ".join(WORLDS))
    parser.add_argument("--trials", type=int, default=20, help="settings to try, those in force included")
    parser.add_argument("--seeds", type=int, default=8, help="runs in each world")
    parser.add_argument("--first", type=int, default=1000, help="first seed; not those that results are shown for")
    parser.add_argument("--rollouts", type=int, default=600, help="what training may ask for")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a setting not searched")
    parser.add_argument("--file", type=Path, default=Path("tuning.db"), help="where the study is kept")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    return parser


if __name__ == "__main__":
    main()
