"""Look for rollouts of a run whose score was got without the work, for the command `inspect`. Spends nothing."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.execution.masking import environment_masking
from skillopt.inspection.signs import Suspicion
from skillopt.project import Project
from skillopt.reports.load_suspicions import inspect_run
from skillopt.reports.load_view import find_run
from skillopt.safety.credentials import mask
from skillopt.storage.ledger import Ledger

__all__ = ["Inspection", "inspect"]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found in a run.

    Args:
        run: Its id.
        skill: Name of the skill.
        rollouts: Rollouts under texts that training wrote, which were looked at.
        ordinary: Rollouts under the text before training, which they were contrasted with.
        findings: What is suspicious, a line for each task and sign.
    """

    run: str
    skill: str
    rollouts: int
    ordinary: int
    findings: tuple[Suspicion, ...]


def inspect(
    name: str | None = None, *, all_splits: bool = False, suite: Path | None = None, folder: Path | None = None
) -> Inspection:
    """Contrast the rollouts of a run under trained text with ordinary ones of the same tasks.

    Args:
        name: Its id or the beginning of it, or the skill whose newest run is meant; None for the newest of all.
        all_splits: Whether rollouts of held-out tasks may be quoted, too.
        suite: Where its tasks are, when that is not configured.
        folder: Where the command is given; the current folder when None.

    Raises:
        UsageError: There is no such run, or its suite is not at hand.
    """
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        record = find_run(ledger, name)
        done = inspect_run(project, ledger, record, suite, all_splits=all_splits)
    masking = environment_masking()
    findings = tuple(replace(one, quote=mask(masking.text(one.quote))) for one in done.view.suspicions)
    return Inspection(record.id, record.skill, done.trained, done.ordinary, findings)
