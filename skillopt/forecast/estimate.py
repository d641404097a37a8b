"""Estimate of what `optimize` would take and show, from tables of simulated runs and the ledger; spends nothing."""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from time import monotonic
from typing import Final

from skillopt.errors import RepositoryError, SkilloptError, UsageError
from skillopt.execution.access import given_keys, missing_access
from skillopt.execution.drivers import checks_warning, load_drivers
from skillopt.forecast.consumption import CallCost, Consumption, MostLikely, foresee
from skillopt.forecast.typical_costs import at_pace, is_near_chat, is_paid, judge_calls, typical_call, typical_rollout
from skillopt.loop.rollout_plan import settle_folds
from skillopt.project import Project, Selection, Target
from skillopt.runs.plan import Start, incumbent_of, protected_siblings
from skillopt.runs.prospect import GainChance, Prospect, chances_of_gains, expect_prospect, rollouts_needed
from skillopt.runs.recorded import recorded_rates
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.storage.mean_costs import MeanCost, mean_cost, recorded_seconds
from skillopt.targets.drivers import find_harness_driver, find_model_driver, load_model
from skillopt.tasks import Split, Suite

_FEWEST_ROLLOUTS: Final = 3
"""Recorded rollouts from which their mean cost says more than a typical one."""

_GATED_TWICE: Final = 12
"""Rollouts a `val` task from which a cap leaves the last gate all it can use."""

_WORTH_A_RUN: Final = 0.3
_SHOWN: Final = 0.2


@dataclass(frozen=True, slots=True)
class Records:
    """What the ledger has of the tasks, the target and the optimizer model."""

    tasks: int = 0
    passed: float = 0.0
    rollout: MeanCost | None = None
    call: MeanCost | None = None
    timed: int = 0
    seconds: float | None = None
    pace: float | None = None

    @property
    def share(self) -> float | None:
        """The share of recorded tasks that pass; None where none is recorded."""
        return self.passed / self.tasks if self.tasks else None

    def costs(self, settings: Settings, suite: Suite, skill: Skill) -> tuple[CallCost, CallCost]:
        """Return the cost of a rollout and of a call: as measured where it was often enough, else as typical."""
        rollout, call = typical_rollout(settings, suite, skill), typical_call(settings, skill)
        if self.pace:
            rollout, call = at_pace(rollout, call, self.pace, settings)
        if self.rollout and self.rollout.calls >= _FEWEST_ROLLOUTS:
            pace = self.rollout.pace
            seconds = self.seconds or (pace and pace * settings.workers)
            rollout = _measured(self.rollout, rollout, seconds)
        return rollout, _measured(self.call, call, self.call.pace) if self.call else call


def _measured(mean: MeanCost, typical: CallCost, seconds: float | None) -> CallCost:
    tokens, error = mean.tokens
    if seconds is None or typical.seconds is None:
        seconds = typical.seconds
    return CallCost(tokens, mean.usd[0] if mean.usd else None, seconds, error / tokens if tokens else 0.0)


@dataclass(frozen=True, slots=True)
class Estimated:
    """What a run takes and shows; the caps of the settings are applied."""

    skill: str
    tasks: tuple[int, int, int]
    harness: str
    model: str
    workers: int
    executor: str
    pass_rate: float | None
    known: Records
    likely: Consumption
    better: float
    chances: tuple[GainChance, ...]
    prospect: Prospect
    caution: str
    judge_calls: MostLikely
    keys: str
    cap: str
    missing: str
    go: bool
    verdict: str


def estimate(
    selection: Selection, *, start: Start = "auto", pass_rate: float | None = None, times: bool = False
) -> Estimated:
    """Look up what a run on a suite takes and shows; spends nothing, and runs at most a call that `times` a server."""
    project = selection.project()
    target = project.target(selection)
    skill, settings = _start(project, target, start), target.settings
    suite = target.suite().spread(settings.targets)
    for name in settings.targets:
        find_harness_driver(name, settings.agents)
    if settings.model:
        find_model_driver(settings.model)
    prospect, chances = expect_prospect(suite, settings), chances_of_gains(suite, settings)
    records = read_records(project.root, target, skill, suite)
    if times and not records.timed and is_near_chat(settings):
        records = replace(records, pace=_time_token(settings))
    likely, better = foresee(
        suite,
        settings,
        records.share if pass_rate is None else pass_rate,
        records.costs(settings, suite, skill),
        protected_siblings(project, target, selection.flags),
    )
    settled = settle_folds(suite, settings)
    train, val, test = (settled.units(split) for split in Split)
    missing = missing_access(settings, suite, trains=True)
    go, verdict = (False, f"no-go: {missing}") if missing else _decide(better, prospect, chances)
    return Estimated(
        target.name,
        (train or val, val, test),
        settings.harness,
        settings.model,
        settings.workers,
        settings.ray or "threads",
        pass_rate,
        records,
        likely,
        better,
        chances,
        prospect,
        checks_warning(suite, settings.sandbox),
        likely.rollouts.times([judge_calls(suite)] * 3),
        "; ".join(filter(None, (given_keys(name, settings.agents) for name in settings.targets))),
        _cap(likely, suite, settings, len(settled.tasks(Split.VAL))),
        missing,
        go,
        verdict,
    )


def _time_token(settings: Settings) -> float | None:
    """Return the seconds that a nearby model server takes for a token that it writes; None where it does not answer."""
    model, begun = load_model(settings.harness.removeprefix("chat/"), settings, target=True), monotonic()
    try:
        written = model.reply("Write the numbers from 1 to 40, with blanks between them.").usage.output_tokens
    except SkilloptError:
        return None
    return (monotonic() - begun) / written if written else None


def _start(project: Project, target: Target, start: Start) -> Skill:
    """Return the text that training would begin with; the folder's own outside of a repository."""
    try:
        repository = project.repository()
    except RepositoryError:
        return target.skill()
    return incumbent_of(target, repository, start)


def read_records(root: Path, target: Target, skill: Skill, suite: Suite) -> Records:
    """Read what a forecast goes by."""
    try:
        ledger = Ledger.open(root, read_only=True)
    except SkilloptError:
        return Records()  # nothing was run yet
    # Where rollouts run changes none of their identities, and a forecast needs neither Ray nor its cluster.
    settings = target.settings.model_copy(update={"ray": ""})
    with closing(ledger):
        target_identity = model_identity = ""
        for optimizer in (False, True):
            with suppress(SkilloptError):  # a client that is missing has recorded nothing that could be found
                drivers = load_drivers(settings, suite, root, optimizer=optimizer)
                target_identity = drivers.target_identity
                model_identity = drivers.model.identity if drivers.model else ""
        rates = recorded_rates(ledger, skill.digest, target_identity, suite)
        rows = ledger.costs()
        timed = [seconds for _, seconds in recorded_seconds(ledger, target_identity)]
    rollout, call = mean_cost(rows, "rollout", target_identity), mean_cost(rows, "reply", model_identity)
    seconds = fmean(timed) if len(timed) >= _FEWEST_ROLLOUTS else None
    passed = sum(passed / runs for passed, runs in rates.values())
    return Records(len(rates), passed, rollout, call, len(timed), seconds)


def _cap(likely: Consumption, suite: Suite, settings: Settings, val: int) -> str:
    """Return the option for a cap that nine of ten runs stay below, and under which a gain can be shown.

    It leaves the last gate enough, and `optimize` does not refuse it.
    """
    if settings.max_rollouts or settings.max_usd or settings.max_tokens:
        return ""
    most = max(likely.rollouts.high, _GATED_TWICE * val)
    rounded = -(-round(most) // 10) * 10
    return f"--max-rollouts {rollouts_needed(suite, settings.model_copy(update={'max_rollouts': rounded}))}"


def _decide(better: float, prospect: Prospect, chances: Sequence[GainChance]) -> tuple[bool, str]:
    ends = f"{better:.0%} of simulated runs like this end with a better text"
    if better < _WORTH_A_RUN:
        return False, f"no-go: {ends}; too few tasks fail: add harder ones"
    if chances and chances[-1].here < _SHOWN and prospect.least_here is not None:
        power = f"the power for a gain of {100 * chances[-1].gain:.0f} points is {chances[-1].here:.0%}"
        return True, f"go for a draft to review: {ends}, but {power}; add tasks"
    return True, f"go: {ends}"


@dataclass(frozen=True, slots=True)
class Payment:
    """Whether a command is paid for, for the first time, and under a cap."""

    paid: bool
    first: bool
    capped: bool


def payment_of(root: Path, settings: Settings, names: Sequence[str]) -> Payment:
    """Return whether a command is paid for."""
    paid = any(is_paid(name, settings) for name in names if name)
    return Payment(paid, not (paid and was_billed(root)), settings.capped)


def was_billed(root: Path) -> bool:
    """Return whether the ledger has a call with a price."""
    with suppress(UsageError), closing(Ledger.open(root, read_only=True)) as ledger:  # there may be no ledger yet
        return ledger.was_billed()
    return False
