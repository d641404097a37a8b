"""Look for rollouts of a run whose score was got without the work, for the command `inspect`. Spends nothing."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.execution.masking import environment_masking
from skillopt.project import Project
from skillopt.reports.load_suspicions import inspect_run
from skillopt.reports.load_view import find_run
from skillopt.review.signs import Suspicion
from skillopt.safety.credentials import mask
from skillopt.storage.ledger import Ledger

__all__ = ["Inspection", "inspect"]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found in a run."""

    run: str
    skill: str
    rollouts: int
    ordinary: int
    findings: tuple[Suspicion, ...]


def inspect(
    name: str | None = None, *, all_splits: bool = False, suite: Path | None = None, folder: Path | None = None
) -> Inspection:
    """Contrast the rollouts of a run under trained text with ordinary ones of the same tasks."""
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        record = find_run(ledger, name)
        done = inspect_run(project, ledger, record, suite, all_splits=all_splits)
    masking = environment_masking()
    findings = tuple(replace(one, quote=mask(masking.text(one.quote))) for one in done.view.suspicions)
    return Inspection(record.id, record.skill, done.trained, done.ordinary, findings)
