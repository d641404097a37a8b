"""Estimate of what `optimize` would take and show, from simulated runs and the ledger; spends nothing."""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from skillopt.errors import RepositoryError, SkilloptError, UsageError
from skillopt.execution.access import given_keys, missing_access
from skillopt.execution.drivers import load_drivers
from skillopt.execution.suite_checks import checks_warning
from skillopt.forecast.foresight import CallCost, Foresight, Trained, foresee
from skillopt.forecast.proposer import ASSUMED
from skillopt.forecast.typical_costs import is_paid, typical_call, typical_rollout
from skillopt.forecast.world import StartingRates
from skillopt.loop.rollout_plan import settle_folds
from skillopt.project import Project, Selection, Target
from skillopt.runs.plan import Start, incumbent_of
from skillopt.runs.prospect import (
    GainChance,
    Prospect,
    chances_of_gains,
    describe_earlier_runs,
    expect_prospect,
    rollouts_needed,
)
from skillopt.runs.recorded_outcomes import recorded_edits, recorded_rates
from skillopt.runs.siblings import protected_siblings
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.storage.mean_costs import MeanCost, mean_cost, recorded_seconds
from skillopt.targets.drivers import find_harness_driver, find_model_driver
from skillopt.tasks import Split, Suite

__all__ = [
    "SIMULATED_RUNS",
    "Estimated",
    "Known",
    "Payment",
    "Records",
    "estimate",
    "payment_of",
    "read_records",
    "was_billed",
]

SIMULATED_RUNS: Final = 18
"""Simulated runs, by optimizer models of each kind."""

_FEWEST_ROLLOUTS: Final = 3
"""Recorded rollouts from which their mean cost says more than a typical one."""

_FEWEST_EDITS: Final = 8
"""Recorded edits from which an optimizer model is known by what became of them."""

_GATED_TWICE: Final = 12
"""Rollouts a `val` task from which a cap leaves the last gate all it can use."""

_WORTH_A_RUN: Final = 0.3
_SHOWN: Final = 0.2


@dataclass(frozen=True, slots=True)
class Known:
    """What is recorded for a forecast."""

    tasks: int = 0
    passed: float = 0.0
    rollouts: int = 0
    calls: int = 0
    edits: int = 0
    lasted: int = 0
    timed: int = 0

    @property
    def recorded_edits(self) -> bool:
        """Whether enough edits of the optimizer model are recorded to know it by what became of them."""
        return self.edits >= _FEWEST_EDITS


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
    known: Known
    likely: Foresight
    chances: tuple[GainChance, ...]
    prospect: Prospect
    earlier: str
    caution: str
    keys: str
    cap: str
    go: bool
    verdict: str


def estimate(
    selection: Selection,
    *,
    start: Start = "auto",
    pass_rate: float | None = None,
    runs: int = SIMULATED_RUNS,
) -> Estimated:
    """Simulate runs of a suite; runs nothing and spends nothing."""
    project = selection.project()
    target = project.target(selection)
    skill, settings, suite = _start(project, target, start), target.settings, target.suite()
    if settings.harness:
        find_harness_driver(settings.harness, settings.agents)
    if settings.model:
        find_model_driver(settings.model)
    prospect = expect_prospect(suite, settings)
    records = read_records(project.root, target, skill, suite)
    likely = foresee(
        Trained(suite, settings, protected_siblings(project, target, selection.flags)),
        StartingRates(records.rates, pass_rate),
        records.rights,
        records.costs(settings, suite, skill),
        runs // len(records.rights),
    )
    settled = settle_folds(suite, settings)
    train, val, test = (len(settled.tasks(split)) for split in Split)
    missing = missing_access(settings, suite, trains=True)
    go, verdict = (False, f"no-go: {missing}") if missing else _decide(likely, prospect)
    return Estimated(
        target.name,
        (train or val, val, test),
        settings.harness,
        settings.model,
        settings.workers,
        settings.ray or "threads",
        pass_rate,
        records.known,
        likely,
        chances_of_gains(suite, settings),
        prospect,
        records.earlier,
        checks_warning(suite, settings.sandbox),
        given_keys(settings.harness, settings.agents),
        _cap(likely, suite, settings, val),
        go,
        verdict,
    )


def _start(project: Project, target: Target, start: Start) -> Skill:
    """Return the text that training would begin with; the folder's own outside of a repository."""
    try:
        repository = project.repository()
    except RepositoryError:
        return target.skill()
    return incumbent_of(target, repository, start)


@dataclass(frozen=True, slots=True)
class Records:
    """What the ledger has of the tasks, the target and the optimizer model."""

    known: Known
    rates: dict[str, tuple[int, int]]
    rollout: MeanCost | None
    call: MeanCost | None
    seconds: float | None
    earlier: str

    @property
    def rights(self) -> tuple[float, ...]:
        """The share of right proposals of the optimizer model as it is known; else those that are assumed."""
        known = self.known
        return ((known.lasted + 1) / (known.edits + 2),) if known.recorded_edits else ASSUMED

    def costs(self, settings: Settings, suite: Suite, skill: Skill) -> tuple[CallCost, CallCost]:
        """Return the cost of a rollout and of a call: as measured, else as typical."""
        workers = settings.workers
        return (
            _measured(self.rollout, typical_rollout(settings, suite, skill), _FEWEST_ROLLOUTS, self.seconds, workers),
            _measured(self.call, typical_call(settings, skill), 1, None, 1),
        )


def _measured(mean: MeanCost | None, typical: CallCost, fewest: int, seconds: float | None, workers: int) -> CallCost:
    """Return the cost of a call: as measured where it was measured often enough; what was not measured is typical."""
    if mean is None or mean.calls < fewest:
        return typical
    tokens, error = mean.tokens
    if seconds is None and mean.pace is not None:
        seconds = mean.pace * workers
    if seconds is None or typical.seconds is None:
        seconds = typical.seconds
    return CallCost(tokens, mean.usd[0] if mean.usd else None, seconds, error / tokens if tokens else 0.0)


def read_records(root: Path, target: Target, skill: Skill, suite: Suite) -> Records:
    """Read what a forecast goes by."""
    try:
        ledger = Ledger.open(root, read_only=True)
    except SkilloptError:
        return Records(Known(), {}, None, None, None, "")  # nothing was run yet
    # Where rollouts run changes none of their identities, and a forecast needs neither Ray nor its cluster.
    settings = target.settings.model_copy(update={"ray": ""})
    with closing(ledger):
        earlier = describe_earlier_runs(ledger, target.name, suite, target.settings)
        target_identity = model_identity = ""
        for optimizer in (False, True):
            with suppress(SkilloptError):  # a client that is missing has recorded nothing that could be found
                drivers = load_drivers(settings, suite, root, optimizer=optimizer)
                target_identity = drivers.target_identity
                model_identity = drivers.model.identity if drivers.model else ""
        rates = dict(recorded_rates(ledger, skill.digest, target_identity, suite))
        lasted, edits = recorded_edits(ledger, model_identity)
        rows = ledger.costs()
        timed = [seconds for _, seconds in recorded_seconds(ledger, target_identity)]
    rollout, call = mean_cost(rows, "rollout", target_identity), mean_cost(rows, "reply", model_identity)
    known = Known(
        len(rates),
        sum(passed / runs for passed, runs in rates.values()),
        rollout.calls if rollout else 0,
        call.calls if call else 0,
        edits,
        lasted,
        len(timed),
    )
    return Records(known, rates, rollout, call, fmean(timed) if len(timed) >= _FEWEST_ROLLOUTS else None, earlier)


def _cap(likely: Foresight, suite: Suite, settings: Settings, val: int) -> str:
    """Return the option for a cap that nine of ten simulated runs stay below, and under which a gain can be shown.

    It leaves the last gate enough, and `optimize` does not refuse it.
    """
    if settings.max_rollouts or settings.max_usd or settings.max_tokens:
        return ""
    most = max(likely.rollouts.high, _GATED_TWICE * val)
    rounded = -(-round(most) // 10) * 10
    return f"--max-rollouts {rollouts_needed(suite, settings.model_copy(update={'max_rollouts': rounded}))}"


def _decide(likely: Foresight, prospect: Prospect) -> tuple[bool, str]:
    """Return whether a run is worth it."""
    better, here, proven = (f"{share:.0%}" for share in (likely.better, likely.here, likely.proven))
    ends = f"{better} of simulated runs end with a truly better text"
    if likely.better < _WORTH_A_RUN:
        return False, f"no-go: {ends}; add tasks, raise the cap, or choose a stronger optimizer model"
    if likely.here < _SHOWN and prospect.least_here is not None:
        return True, f"go for a draft to read: {ends}, but only {here} with one that is shown to be better; add tasks"
    shown = f"{here} with one that is shown to be better, rightly or by luck (proven or proven here)"
    return True, f"go: {ends}, {shown}, {proven} with one that is proven"


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
