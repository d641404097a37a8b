"""Read what is recorded of a run, for the command `report`. Spends nothing and changes nothing."""

from contextlib import closing
from pathlib import Path

from skillopt.project import Project
from skillopt.reports.load_suspicions import load_inspected_view
from skillopt.reports.load_view import find_run
from skillopt.reports.view import RunView
from skillopt.storage.ledger import Ledger

__all__ = ["report"]


def report(name: str | None = None, *, suite: Path | None = None, folder: Path | None = None) -> RunView:
    """Read what is recorded of a run.

    Args:
        name: Its id or the beginning of it, or the skill whose newest run is meant; None for the newest of all.
            A gate that is over is meant only where there is nothing else.
        suite: Where its tasks are, when that is not configured.
        folder: Where the command is given; the current folder when None.

    Raises:
        UsageError: There is no such run.
    """
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        return load_inspected_view(project, ledger, find_run(ledger, name), suite)
