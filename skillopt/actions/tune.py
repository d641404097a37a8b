"""The user action `tune`: an Optuna study over settings, each trial being whole runs of the loop on a real suite."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from json import dumps
from random import Random
from statistics import fmean

from skillopt.errors import UsageError
from skillopt.execution.drivers import caps_of, load_drivers
from skillopt.execution.executors import make_executor
from skillopt.execution.metering import NO_CAPS, Meter, OutOfBudget
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.gate.gate import check_coverage
from skillopt.loop.events import HeldOutTestMeasured, RunEnded, StepStarted
from skillopt.loop.optimizer import train
from skillopt.project import Selection
from skillopt.protocols import RolloutRequest
from skillopt.runs.plan import RunPlan, Start, incumbent_of, make_plan
from skillopt.settings import TABLES, Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import state_folder, writer_lock
from skillopt.tasks import Split, Suite, digest_of
from skillopt.tuning import studies
from skillopt.tuning.studies import Search, Trial

__all__ = ["TuneOptions", "Tuned", "tune", "tuning_suite"]

_HELD_OUT, _LEAST_HELD_OUT = 0.25, 4


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """How a search is made: settings to try (those in force first), runs of the loop for each, and names of settings.

    `max_rollouts` caps what all commands of the search newly run together; None for no cap.
    """

    trials: int = 16
    seeds: int = 8
    space: tuple[str, ...] = ()
    max_rollouts: int | None = None


@dataclass(frozen=True, slots=True)
class Tuned:
    """What a search came to: its trials, the place of the best one, and the lines of that one for skillopt.toml.

    `storage` is Optuna's database, `plot` the file of its plots, and `reason` says why the search ended early.
    """

    study: str
    storage: str
    seeds: tuple[int, ...]
    trials: tuple[Trial, ...]
    best: int | None
    settings: str
    reason: str
    paid_rollouts: int
    plot: str


def tune(
    selection: Selection, options: TuneOptions, *, start: Start = "auto", observer: RunObserver | None = None
) -> Tuned:
    """Search for better settings, or go on with the search that was interrupted; commits nothing."""
    studies.check_optuna()
    base = selection.project().target(selection).settings
    ranges = studies.choose_ranges(options.space, {name: getattr(base, name) for name in studies.RANGES})
    plan, observer = make_plan(selection), observer or RunObserver()
    root, seeds = plan.repository.root, tuple(range(base.seed, base.seed + options.seeds))
    suite = tuning_suite(plan.suite.first_fold_suite, base.seed)
    skill = incumbent_of(plan.target, plan.repository, start)
    uncapped = base.model_copy(
        update={"max_usd": None, "max_tokens": None}
    )  # with a higher cap the same search goes on
    identity = [uncapped.identity, *plan.identities, suite.digest, skill.digest, sorted(ranges.items()), seeds]
    name, folder, reason = f"{plan.target.name}-{digest_of(dumps(identity))[:12]}", state_folder(root), ""
    storage, page = folder / "tuning.db", folder / f"{name}.html"
    with writer_lock(root, name), studies.open_study(storage, name) as study, closing(Ledger.open(root)) as ledger:
        runs = _Runs(plan, suite, skill, (ledger, name, observer), options.max_rollouts)
        search = Search(ranges, {key: getattr(base, key) for key in ranges}, seeds, runs.measure)
        observer.notice(f"{plan.drivers.notice}\nsearching {', '.join(ranges)} in study {name}".strip())
        try:
            studies.run_trials(study, search, options.trials, observer.notice)
        except OutOfBudget as over:
            reason = f"{over}; the same command with a higher cap goes on"
        trials, paid = studies.trials_of(study), runs.rollouts - runs.before
        # Of equal scores the cheapest, and of those the first.
        best = min((one for one in trials if not one.pruned), key=lambda one: (-one.score, one.rollouts), default=None)
        if best:
            studies.plot(study, page)
    lines = _toml(_changes(base, best.params) if best and best.params != search.start else {})
    shown = (lines, reason, paid, str(page) if best else "")
    return Tuned(name, str(storage), seeds, trials, best.number if best else None, *shown)


def _toml(changes: Mapping[str, int]) -> str:
    """Write settings as they stand in skillopt.toml, each in its table."""
    lines = {name: f"{name} = {value}\n" for name, value in sorted(changes.items())}
    top = "".join(line for name, line in lines.items() if not TABLES[name])
    advanced = "".join(line for name, line in lines.items() if TABLES[name])
    return f"{top}[advanced]\n{advanced}" if advanced else top


def _changes(base: Settings, params: Mapping[str, int]) -> dict[str, int]:
    """Return the settings that a trial sets; `min_edits` follows an `edit_budget` below it."""
    most = params.get("edit_budget", base.edit_budget)
    return {**params, **({"min_edits": most} if base.min_edits > most else {})}


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
    """Runs of the loop that leave nothing behind but what was answered."""

    def __init__(
        self, plan: RunPlan, suite: Suite, skill: Skill, kept: tuple[Ledger, str, RunObserver], cap: int | None
    ) -> None:
        self._plan, self._suite, self._skill, self._kept, self._cap = plan, suite, skill, kept, cap
        self.before = self.rollouts
        self._meter = Meter(replace(caps_of(plan.target.settings), rollouts=max(0, (cap or 0) - self.before)))
        for usage in kept[0].spending(kept[1]).values():
            self._meter.replayed(usage)

    @property
    def rollouts(self) -> int:
        """Count what all commands of the search have run."""
        spent = self._kept[0].spending(self._kept[1])
        return spent["target"].calls if "target" in spent else 0

    def measure(self, params: Mapping[str, int], seed: int) -> tuple[float, int]:
        """Train with some settings under a seed; give the last text's score on the tasks held out, and the rollouts."""
        if self._cap is not None and self._cap <= self.rollouts:
            raise OutOfBudget("all rollouts that the search may run are used up")
        base, (ledger, study, observer) = self._plan.target.settings, self._kept
        own = {"seed": seed, "max_usd": None, "max_tokens": None, "max_minutes": None}  # these caps are the meter's
        settings = Settings.model_validate({**base.model_dump(), **_changes(base, params), **own})
        # What is recorded was counted above: a meter without caps takes it.
        root, free = self._plan.repository.root, Meter(NO_CAPS)
        drivers = replace(load_drivers(settings, self._suite, root, meter=free, allowance=self._meter), notice="")
        executor = make_executor(settings, observer.notice, drivers.cluster)
        runner = RecordedRunner(ledger, study, drivers, executor, observer, settings.executor.breaker)
        tasks, scores, asked = self._suite.tasks(Split.TEST), list[float](), 0
        for event in train(self._skill, self._suite, settings, runner):
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
