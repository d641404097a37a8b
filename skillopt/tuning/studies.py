"""Optuna studies: TPE sampler, Wilcoxon pruner, a database that every tool of Optuna reads, and plots."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from statistics import fmean
from types import ModuleType
from typing import TYPE_CHECKING, Final

from skillopt.errors import SettingsError, UsageError
from skillopt.tasks import digest_of

if TYPE_CHECKING:
    import optuna

__all__ = [
    "RANGES",
    "Search",
    "Trial",
    "check_optuna",
    "choose_ranges",
    "open_study",
    "plot",
    "run_trials",
    "trials_of",
]

# What decides the price of a gain. Targets, metric, caps and `confidence` are not here: trials that differ in them
# cannot be compared, or promise something else.
RANGES: Final[Mapping[str, tuple[int, int]]] = {
    "patch_tests": (1, 6),
    "edit_budget": (2, 40),
    "token_budget": (500, 6000),
    "proposal_groups": (1, 4),
    "epochs": (2, 8),
    "batch_size": (4, 48),
    "patience": (1, 4),
}
_PUBLISHED: Final = frozenset({"epochs", "batch_size", "patience"})
"""Those that only the loop without patch tests, the published one, reads."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a study searches, starting with what is set now; the seeds are those of the runs of each trial.

    `measure` runs the loop with some settings under a seed, and gives a score in [0, 1] and the rollouts that it took.
    """

    ranges: Mapping[str, tuple[int, int]]
    start: Mapping[str, int]
    seeds: Sequence[int]
    measure: Callable[[Mapping[str, int], int], tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Trial:
    """Settings that were tried: their place, scores in the order of the seeds, and mean rollouts of a run."""

    number: int
    params: Mapping[str, int]
    score: float
    scores: tuple[float, ...]
    rollouts: float
    pruned: bool


def choose_ranges(names: Iterable[str], start: Mapping[str, int]) -> Mapping[str, tuple[int, int]]:
    """Return the ranges of some settings, widened to where they start; with no names, of all that the loop reads."""
    if unknown := set(names) - set(RANGES):
        raise SettingsError(f"--space: expected some of {', '.join(RANGES)}, found {min(unknown)!r}")
    chosen = tuple(names) or [name for name in RANGES if (name in _PUBLISHED) is (not start["patch_tests"])]
    return {name: (min(RANGES[name][0], start[name]), max(RANGES[name][1], start[name])) for name in chosen}


@contextmanager
def open_study(file: Path, name: str) -> "Iterator[optuna.Study]":
    """Open a study in an SQLite file that holds any number of them, or begin it."""
    library = check_optuna()
    storage = library.storages.RDBStorage(f"sqlite:///{file}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", library.exceptions.ExperimentalWarning)
            pruner = library.pruners.WilcoxonPruner()
        known = {"storage": storage, "study_name": name, "load_if_exists": True}
        study = library.create_study(direction="maximize", pruner=pruner, **known)
        for left in study.get_trials(states=(library.trial.TrialState.RUNNING,)):  # its process was killed
            study.tell(left.number, state=library.trial.TrialState.FAIL)
        yield study
    finally:
        storage.remove_session()
        storage.engine.dispose()


def run_trials(study: "optuna.Study", search: Search, trials: int, notice: Callable[[str], None]) -> None:
    """Go on with a study until so many trials have ended; what an interruption cut short is begun again.

    A study that was interrupted goes on as one that was not: what a trial tries depends on the seed, on its place and
    on the trials that ended before it.
    """
    library = check_optuna()

    def run(trial: "optuna.Trial") -> float:
        params = {name: trial.suggest_int(name, low, high) for name, (low, high) in search.ranges.items()}
        notice(f"trial {done + 1} of {trials}: {', '.join(f'{name}={value}' for name, value in params.items())}")
        scores, rollouts = [], []
        for seed in search.seeds:
            score, taken = search.measure(params, seed)
            scores.append(score)
            rollouts.append(taken)
            trial.report(score, seed)
            trial.set_user_attr("rollouts", fmean(rollouts))
            notice(f"  seed {seed}: score {score:.3f}, {taken} rollouts")
            if len(scores) < len(search.seeds) and trial.should_prune():
                raise library.TrialPruned
        return fmean(scores)

    while (done := len(trials_of(study))) < trials:
        study.sampler = library.samplers.TPESampler(seed=int(digest_of(str(search.seeds[0]), str(done))[:8], 16))
        if not done:
            study.enqueue_trial(dict(search.start))
        study.optimize(run, n_trials=1)


def trials_of(study: "optuna.Study") -> tuple[Trial, ...]:
    """Read the trials that ended; those that were cut short are left out."""
    states = check_optuna().trial.TrialState
    found = study.get_trials(states=(states.COMPLETE, states.PRUNED))
    scores = [tuple(one.intermediate_values.values()) for one in found]
    return tuple(
        Trial(at, one.params, fmean(scores[at]), scores[at], one.user_attrs["rollouts"], one.state == states.PRUNED)
        for at, one in enumerate(found)
    )


def plot(study: "optuna.Study", file: Path) -> None:
    """Write Optuna's plots (scores in order, and by setting) as one HTML file that needs nothing else."""
    plots = check_optuna().visualization
    figures = (plots.plot_optimization_history(study), plots.plot_slice(study))
    shown = "".join(figure.to_html(full_html=False, include_plotlyjs=not at) for at, figure in enumerate(figures))
    page = f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>{study.study_name}</title>\n{shown}'
    file.write_text(page, encoding="utf-8")


@cache
def check_optuna() -> ModuleType:
    """Import Optuna with what its pruner and plots need, or say how to install it."""
    try:
        library, *_ = (import_module(name) for name in ("optuna", "plotly", "scipy"))
    except ImportError as error:
        raise UsageError("expected Optuna, found none; install it: pip install 'PATH-OF-CLONE[tune]'") from error
    library.logging.set_verbosity(library.logging.ERROR)
    return library
