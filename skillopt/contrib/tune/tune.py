"""The command `tune`: an Optuna study over settings, each trial being whole runs of the loop on a real suite."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from json import dumps
from pathlib import Path
from random import Random
from statistics import fmean
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    RunOptions,
    SkillArgument,
    StartOption,
    check_cap_option,
    with_run_options,
)
from skillopt.commands.output import interruptible, show
from skillopt.commands.progress import ProgressObserver
from skillopt.errors import SettingsError, UsageError
from skillopt.execution.drivers import Given, caps_of, load_drivers
from skillopt.execution.metering import NO_CAPS, Meter, OutOfBudget
from skillopt.execution.runner import RecordedRunner
from skillopt.gate.comparison import check_coverage
from skillopt.loop.events import HeldOutTestMeasured, RunEnded, StepStarted
from skillopt.loop.optimizer import train
from skillopt.protocols import RolloutRequest
from skillopt.runs.plan import RunPlan, incumbent_of, make_plan
from skillopt.sandbox.processes import shell_problem
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import state_folder, writer_lock
from skillopt.tasks import Split, Suite, digest_of

if TYPE_CHECKING:  # an extra
    import optuna

# Settings that differ in targets, metric, caps or `confidence` cannot be compared, or promise something else.
RANGES: Final[Mapping[str, tuple[int, int]]] = {"patch_tests": (1, 6), "edit_budget": (2, 40)}
_HELD_OUT, _LEAST_HELD_OUT = 0.25, 4


@with_run_options
def tune(
    skill: SkillArgument = None,
    *,
    trials: Annotated[int, typer.Option("--trials", min=1, help="Settings to try, including those in force.")] = 16,
    seeds: Annotated[int, typer.Option("--repeats", min=1, help="Runs of the loop for each of them.")] = 8,
    options: RunOptions,
    start: StartOption = "auto",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search for settings that make training gain more.

    Every trial runs the real loop once for each seed; --max-rollouts caps the new rollouts of the whole search.
    Nothing is committed and the held-out test is not touched. The same command continues a search that was
    interrupted. Needs Optuna: pip install 'PATH-OF-CLONE[tune]'.
    """
    _optuna()
    check_cap_option(options.max_rollouts)
    selection = replace(options, max_rollouts=None).select(skill)
    base = selection.project().target(selection).settings
    if not base.patch_tests:
        raise SettingsError("expected the default loop, found patch_tests = 0, the published one, which is not tuned")
    plan, first = make_plan(selection), {name: getattr(base, name) for name in RANGES}
    ranges = {name: (min(RANGES[name][0], at), max(RANGES[name][1], at)) for name, at in first.items()}
    root, numbers = plan.repository.root, tuple(range(base.seed, base.seed + seeds))
    suite = tuning_suite(plan.suite.first_fold_suite, base.seed)
    text = incumbent_of(plan.target, plan.repository, start)
    uncapped = base.model_copy(update={"max_usd": None, "max_tokens": None})  # with a higher cap the same goes on
    identity = [uncapped.identity, *plan.identities, suite.digest, text.digest, sorted(ranges.items()), numbers]
    name, folder, reason = f"{plan.target.name}-{digest_of(dumps(identity))[:12]}", state_folder(root), ""
    storage = folder / "tuning.db"
    with (
        interruptible(),
        ProgressObserver(quiet=quiet) as observer,
        writer_lock(root, name),
        _open_study(storage, name) as study,
        closing(Ledger.open(root)) as ledger,
    ):
        runs = _Runs(plan, suite, text, (ledger, name, observer), options.max_rollouts)
        observer.notice(f"{plan.drivers.notice}\nsearching {', '.join(ranges)} in study {name}".strip())
        try:
            _run_trials(study, ranges, first, numbers, runs, trials)
        except OutOfBudget as over:
            reason = f"{over}; the same command with a higher cap continues"
        ended, paid = _trials_of(study), runs.rollouts - runs.before
        # Of equal scores the cheapest, and of those the first.
        best = min((one for one in ended if not one.pruned), key=lambda one: (-one.score, one.rollouts), default=None)
    changes = best.params if best and best.params != first else {}
    found: dict[str, Any] = {
        "study": name,
        "storage": str(storage),
        "seeds": numbers,
        "trials": ended,
        "best": best.number if best else None,
        "settings": "".join([f"{setting} = {changes[setting]}\n" for setting in sorted(changes)]),
        "reason": reason,
        "paid_rollouts": paid,
    }
    show(found, _text, as_json=as_json)


def _text(found: Mapping[str, Any]) -> str:
    """Write a search: its trials, best first, and the lines for skillopt.toml."""
    trials, best = found["trials"], found["best"]
    lines = [f"study {found['study']}: {len(trials)} trials, each of up to {len(found['seeds'])} runs of the loop"]
    lines += [found["reason"]] if found["reason"] else []
    if best is None:
        return "\n".join([*lines, "no trial is complete yet; the same command continues"])
    lines += ["| trial | score | rollouts | runs | settings |", "| ---: | ---: | ---: | ---: | --- |"]
    for one in sorted(trials, key=lambda one: (one.number != best, one.pruned, -one.score)):
        runs = f"{len(one.scores)}{', pruned' if one.pruned else ''}"
        params = " ".join(f"{name}={value}" for name, value in one.params.items())
        lines.append(f"| {one.number + 1} | {one.score:.3f} | {one.rollouts:.0f} | {runs} | {params} |")
    advice = f"trial {best + 1}, whose score is biased upwards, as the best of many; for skillopt.toml:"
    lines.append(
        f"best: {advice}\n{found['settings'].rstrip()}" if found["settings"] else "best: the settings in force"
    )
    lines += [f"used: {found['paid_rollouts']} new rollouts", f"study: sqlite:///{found['storage']}"]
    return "\n".join(lines)


def tuning_suite(suite: Suite, seed: int) -> Suite:
    """Return the suite that a search trains on: a quarter of `train` is its test, and the held-out `test` is not in it.

    What is held out motivates no edit and decides no gate, so it scores settings without the bias of the gate's tasks.
    """
    train = suite.tasks(Split.TRAIN)
    count = round(_HELD_OUT * len(train))
    if count < _LEAST_HELD_OUT:
        raise UsageError(f"expected at least 16 train tasks, a quarter of which score settings, found {len(train)}")
    held_out = {task.id for task in Random(f"{seed}/held out").sample(train, count)}
    left = [(split, task) for split, task in suite.splits if split is not Split.TEST]
    return Suite(suite.name, tuple((Split.TEST if task.id in held_out else split, task) for split, task in left))


class _Runs:
    """Runs of the loop that leave nothing behind but recorded answers."""

    def __init__(
        self, plan: RunPlan, suite: Suite, skill: Skill, kept: tuple[Ledger, str, ProgressObserver], cap: int | None
    ) -> None:
        self._plan, self._suite, self._skill, self._kept, self._cap = plan, suite, skill, kept, cap
        self.before, self.notice = self.rollouts, kept[2].notice
        self._meter = Meter(replace(caps_of(plan.target.settings), rollouts=max(0, (cap or 0) - self.before)))
        for usage in kept[0].spending(kept[1]).values():
            self._meter.replayed(usage)

    @property
    def rollouts(self) -> int:
        """Count the rollouts of all commands of the search."""
        spent = self._kept[0].spending(self._kept[1])
        return spent["target"].calls if "target" in spent else 0

    def measure(self, params: Mapping[str, int], seed: int) -> tuple[float, int]:
        """Train with some settings under a seed; return the last text's score on the tasks held out, and rollouts."""
        if self._cap is not None and self._cap <= self.rollouts:
            raise OutOfBudget("search budget exhausted")
        base, (ledger, study, observer) = self._plan.target.settings, self._kept
        own = {"seed": seed, "max_usd": None, "max_tokens": None, "max_minutes": None}  # these caps are the meter's
        settings = Settings.model_validate({**base.model_dump(), **params, **own})
        # What is recorded was counted above: a meter without caps takes it.
        root, free = self._plan.repository.root, Meter(NO_CAPS)
        drivers = replace(
            load_drivers(settings, self._suite, root, Given(meter=free, allowance=self._meter)), notice=""
        )
        runner = RecordedRunner(ledger, study, drivers, observer)
        tasks, scores, asked = self._suite.tasks(Split.TEST), list[float](), 0
        for event in train(self._skill, self._suite, settings, runner, shell_problem=shell_problem):
            runner.keep_failures()
            if isinstance(event, StepStarted):  # all else would be a line for everything in each run
                observer.event(event)
            elif isinstance(event, HeldOutTestMeasured):
                scores = [event.verdict.after]
                asked -= 2 * len(tasks)
            elif isinstance(event, RunEnded):
                asked += event.rollouts
        if not scores:
            found = runner.rollouts([RolloutRequest(self._skill, task) for task in tasks])
            check_coverage("held-out tasks", found, settings.coverage)
            runner.keep_failures()
            scores = [settings.metric.of(one.score) for one in found if one.score is not None]
        return fmean(scores), asked


@dataclass(frozen=True, slots=True)
class _Trial:
    """Settings that were tried: their place, scores in the order of the seeds, and mean rollouts of a run."""

    number: int
    params: Mapping[str, int]
    score: float
    scores: tuple[float, ...]
    rollouts: float
    pruned: bool


@contextmanager
def _open_study(file: Path, name: str) -> "Iterator[optuna.Study]":
    """Open a study in an SQLite file that holds any number of them, or begin it."""
    library = _optuna()
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


def _run_trials(
    study: "optuna.Study",
    ranges: Mapping[str, tuple[int, int]],
    first: Mapping[str, int],
    seeds: tuple[int, ...],
    runs: _Runs,
    trials: int,
) -> None:
    """Go on with a study until so many trials have ended, as if it had never been interrupted."""
    library = _optuna()

    def run(trial: "optuna.Trial") -> float:
        params = {name: trial.suggest_int(name, low, high) for name, (low, high) in ranges.items()}
        runs.notice(f"trial {done + 1} of {trials}: {', '.join(f'{name}={value}' for name, value in params.items())}")
        scores, rollouts = [], []
        for seed in seeds:
            score, taken = runs.measure(params, seed)
            scores.append(score)
            rollouts.append(taken)
            trial.report(score, seed)
            trial.set_user_attr("rollouts", fmean(rollouts))
            runs.notice(f"  seed {seed}: score {score:.3f}, {taken} rollouts")
            if len(scores) < len(seeds) and trial.should_prune():
                raise library.TrialPruned
        return fmean(scores)

    while (done := len(_trials_of(study))) < trials:
        study.sampler = library.samplers.TPESampler(seed=int(digest_of(str(seeds[0]), str(done))[:8], 16))
        if not done:
            study.enqueue_trial(dict(first))
        study.optimize(run, n_trials=1)


def _trials_of(study: "optuna.Study") -> tuple[_Trial, ...]:
    """Read the trials that ended; those that were cut short are left out."""
    states = _optuna().trial.TrialState
    found = study.get_trials(states=(states.COMPLETE, states.PRUNED))
    scores = [tuple(one.intermediate_values.values()) for one in found]
    return tuple(
        _Trial(at, one.params, fmean(scores[at]), scores[at], one.user_attrs["rollouts"], one.state == states.PRUNED)
        for at, one in enumerate(found)
    )


@cache
def _optuna() -> ModuleType:
    """Import Optuna with what its pruner needs, or say how to install it."""
    try:
        library, *_ = (import_module(name) for name in ("optuna", "scipy"))
    except ImportError as error:
        raise UsageError("expected Optuna, found none; install it: pip install 'PATH-OF-CLONE[tune]'") from error
    library.logging.set_verbosity(library.logging.ERROR)
    return library
