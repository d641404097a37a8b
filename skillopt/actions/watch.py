"""Follow the record of a run while it goes on, for the command `watch`; nothing is written."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_progress
from skillopt.reports.view import RunView
from skillopt.storage.ledger import Ledger

__all__ = ["watch_run"]


@contextmanager
def watch_run(name: str | None = None, *, folder: Path | None = None) -> Iterator[Callable[[], RunView]]:
    """Open the record of a run to be looked at again and again."""
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        run = find_run(ledger, name).id
        yield lambda: load_progress(project, ledger, ledger.run(run))
