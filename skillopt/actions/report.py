"""Read what is recorded of a run, for the command `report`. Spends nothing and changes nothing."""

from contextlib import closing
from pathlib import Path

from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_inspected_view
from skillopt.reports.view import RunView
from skillopt.storage.ledger import Ledger

__all__ = ["report"]


def report(
    name: str | None = None, *, all_splits: bool = False, suite: Path | None = None, folder: Path | None = None
) -> RunView:
    """Read what is recorded of a run."""
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        return load_inspected_view(project, ledger, find_run(ledger, name), suite, all_splits=all_splits)
