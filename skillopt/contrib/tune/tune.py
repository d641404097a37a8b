"""An Optuna study over settings, each trial being whole runs of the loop on a real suite."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from json import dumps
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Annotated, Any, Final

import optuna
import typer

from skillopt.commands.options import (
    JsonOption,
    QuietOption,
    RunOptions,
    SkillArgument,
    check_cap_option,
    with_run_options,
)
from skillopt.commands.output import interruptible, show
from skillopt.commands.progress import ProgressObserver
from skillopt.errors import SettingsError, UsageError
from skillopt.execution.drivers import Given, caps_of, load_drivers
from skillopt.execution.metering import Meter, OutOfBudget
from skillopt.execution.runner import RecordedRunner
from skillopt.gate.comparison import check_coverage
from skillopt.loop.events import HeldOutTestMeasured, RunEnded
from skillopt.loop.optimizer import train
from skillopt.protocols import RolloutRequest
from skillopt.runs.plan import incumbent_of, make_plan
from skillopt.sandbox.processes import shell_problem
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import state_folder, writer_lock
from skillopt.tasks import Split, Suite, digest_of

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
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search for settings that make training gain more.

    Every trial runs the real loop once for each seed; --max-rollouts caps the new rollouts of the command.
    Nothing is committed and the held-out test is not touched. The same command continues an interrupted search.
    """
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    check_cap_option(options.max_rollouts)
    selection = replace(options, max_rollouts=None).select(skill)
    base = selection.project().target(selection).settings
    if not base.patch_tests:
        raise SettingsError("expected the default loop, found patch_tests = 0, the published one, which is not tuned")
    plan = make_plan(selection)
    set_now = {name: getattr(base, name) for name in RANGES}
    ranges = {name: (min(*RANGES[name], now), max(*RANGES[name], now)) for name, now in set_now.items()}
    root, numbers = plan.repository.root, tuple(range(base.seed, base.seed + seeds))
    suite = tuning_suite(plan.suite.first_fold_suite, base.seed)
    text = incumbent_of(plan.target, plan.repository, "auto")
    uncapped = base.model_copy(update={"max_usd": None, "max_tokens": None})  # with a higher cap the same goes on
    identity = [uncapped.identity, *plan.identities, suite.digest, text.digest, sorted(ranges.items()), numbers]
    name, reason = f"{plan.target.name}-{digest_of(dumps(identity))[:12]}", ""
    storage = f"sqlite:///{state_folder(root) / 'tuning.db'}"
    with (
        interruptible(),
        ProgressObserver(quiet=quiet) as observer,
        writer_lock(root, name),
        closing(Ledger.open(root)) as ledger,
    ):
        before, meter = _calls(ledger, name), Meter(replace(caps_of(base), rollouts=options.max_rollouts or 0))
        study = optuna.create_study(direction="maximize", storage=storage, study_name=name, load_if_exists=True)
        runs = _Runs(
            base, ranges, numbers, root, text, suite=suite, meter=meter, study=name, ledger=ledger, observer=observer
        )
        observer.notice(f"{plan.drivers.notice}\nsearching {', '.join(ranges)} in study {name}".strip())
        try:
            runs.run_trials(study, trials)
        except OutOfBudget as over:
            reason = f"{over}; the same command with a higher cap continues"
        ended, paid = _trials_of(study), _calls(ledger, name) - before
        # Of equal scores the cheapest, and of those the first.
        best = min(ended, key=lambda one: (-one["score"], one["rollouts"]), default=None)
    found = {
        "study": name,
        "storage": storage,
        "seeds": numbers,
        "trials": ended,
        "best": best["number"] if best else None,
        "settings": "".join(f"{setting} = {value}\n" for setting, value in best["params"].items()) if best else "",
        "reason": reason,
        "paid_rollouts": paid,
    }
    show(found, _text, as_json=as_json)


def _calls(ledger: Ledger, study: str) -> int:
    """Count the rollouts of all commands of a search."""
    spent = ledger.spending(study).get("target")
    return spent.calls if spent else 0


def _text(found: Mapping[str, Any]) -> str:
    """Write a search: its trials, best first, and the lines for skillopt.toml."""
    lines = [f"study {found['storage']}: {found['study']}, {found['paid_rollouts']} new rollouts"]
    for one in sorted(found["trials"], key=lambda one: -one["score"]):
        measured = f"score {one['score']:.3f}, {one['rollouts']:.0f} rollouts a run"
        lines.append(f"trial {one['number'] + 1}: {measured}, {dumps(one['params'])}")
    if found["best"] is not None:
        lines.append("of many trials the best looks better than it is; for skillopt.toml:")
        lines.append(found["settings"].rstrip())
    return "\n".join([*lines, *filter(None, [found["reason"]])])


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


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of the loop that leave nothing behind but recorded answers."""

    settings: Settings
    ranges: Mapping[str, tuple[int, int]]
    seeds: tuple[int, ...]
    root: Path
    start: Skill
    suite: Suite
    meter: Meter
    study: str
    ledger: Ledger
    observer: ProgressObserver

    def run_trials(self, study: optuna.Study, trials: int) -> None:
        """Go on with a study until so many trials have ended, as if it had never been interrupted."""

        def run(trial: optuna.Trial) -> float:
            params = {name: trial.suggest_int(name, low, high) for name, (low, high) in self.ranges.items()}
            self.observer.notice(f"trial {done + 1} of {trials}: {dumps(params)}")
            scores, rollouts = zip(*(self._measure(params, seed) for seed in self.seeds), strict=True)
            trial.set_user_attr("scores", scores)
            trial.set_user_attr("rollouts", fmean(rollouts))
            return fmean(scores)

        while (done := len(_trials_of(study))) < trials:
            study.sampler = optuna.samplers.TPESampler(seed=int(digest_of(str(self.seeds[0]), str(done))[:8], 16))
            if not done:
                study.enqueue_trial({name: getattr(self.settings, name) for name in RANGES})
            study.optimize(run, n_trials=1)

    def _measure(self, params: Mapping[str, int], seed: int) -> tuple[float, int]:
        """Train with some settings under a seed; return the last text's score on the tasks held out, and rollouts."""
        own = {"seed": seed, "max_usd": None, "max_tokens": None, "max_minutes": None}  # these caps are the meter's
        settings = Settings.model_validate({**self.settings.model_dump(), **params, **own})
        given = Given(meter=Meter(), allowance=self.meter)
        drivers = replace(load_drivers(settings, self.suite, self.root, given), notice="")
        runner = RecordedRunner(self.ledger, self.study, drivers, self.observer)
        tasks, scores, asked = self.suite.tasks(Split.TEST), list[float](), 0
        for event in train(self.start, self.suite, settings, runner, shell_problem=shell_problem):
            runner.keep_failures()
            if isinstance(event, HeldOutTestMeasured):
                scores = [event.verdict.after]
                asked -= 2 * len(tasks)
            elif isinstance(event, RunEnded):
                asked += event.rollouts
        if not scores:  # no version was accepted
            found = runner.rollouts([RolloutRequest(self.start, task) for task in tasks])
            check_coverage("held-out tasks", found, settings.coverage)
            scores = [settings.metric.of(one.score) for one in found if one.score is not None]
        return fmean(scores), asked


def _trials_of(study: optuna.Study) -> tuple[dict[str, Any], ...]:
    """Read the trials that ended; those that were cut short are left out."""
    found = study.get_trials(states=(optuna.trial.TrialState.COMPLETE,))
    return tuple(
        {"number": at, "params": one.params, "score": one.value, **one.user_attrs} for at, one in enumerate(found)
    )
