"""What a paid training must be asked before it begins: whether to spend, or which cap it lacks."""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from skillopt.commands.estimate import Estimated, estimate
from skillopt.errors import UsageError
from skillopt.forecast.typical_costs import is_paid
from skillopt.project import Selection
from skillopt.runs.plan import Start, make_plan
from skillopt.runs.recorded_success import training_runs_of
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger

__all__ = ["Spending", "foresee_spending", "is_capped"]

_FREE = frozenset({"demo"})

_RUNS = 6
"""Simulated runs of each kind of optimizer model, half as many as `estimate` takes: somebody waits for the training."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a training is about to spend.

    Args:
        paid: Whether target or optimizer model is billed for.
        first: Whether no training with this target or this model is recorded in the project.
        capped: Whether a setting caps what it spends.
        estimated: What it is likely to take.
    """

    paid: bool
    first: bool
    capped: bool
    estimated: Estimated


def foresee_spending(selection: Selection, start: Start = "auto") -> Spending | None:
    """Foresee what a training spends; None where there is nothing to say.

    That is where demo programs do everything, and where such a training is recorded already and needs no cap.

    Args:
        selection: The skill, its suite and settings.
        start: Which text to begin with when work tree and branch differ.

    Raises:
        UsageError: Something is missing or wrong, or the suite can show nothing.
    """
    plan = make_plan(selection)
    settings = plan.target.settings
    if {settings.harness, settings.model} <= _FREE:
        return None
    paid, capped = is_paid(settings.harness) or is_paid(settings.model), is_capped(settings)
    first = not _trained_before(selection.project().root, plan.identities[:2])
    if not first and (capped or not paid):
        return None
    return Spending(paid, first, capped, estimate(selection, start=start, runs=_RUNS))


def is_capped(settings: Settings) -> bool:
    """Tell whether a cap bounds what a run, or a command, may spend."""
    return bool(settings.max_usd or settings.max_tokens or settings.max_rollouts or settings.max_minutes)


def _trained_before(root: Path, identities: Sequence[str]) -> bool:
    """Tell whether a training with one of some targets or models is recorded."""
    with suppress(UsageError), closing(Ledger.open(root, read_only=True)) as ledger:  # there may be no ledger yet
        return bool(training_runs_of(ledger, identities))
    return False
