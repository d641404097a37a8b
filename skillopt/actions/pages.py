"""Render a run as an HTML page with the rollouts that it may show.

Those are rollouts of train tasks, or of the first of two folds, unless the user asks for all.
"""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_inspected_view
from skillopt.reports.rollout_page import (
    MOST_ROLLOUTS,
    RolloutEntry,
    RolloutSelection,
    ViewedRollout,
    choose_rollouts,
    render_page,
)
from skillopt.reports.view import SEEN_SPLITS, RunView
from skillopt.storage.ledger import Ledger, ResultRow

__all__ = ["page", "run_page"]


def page(
    name: str | None = None, *, all_splits: bool = False, suite: Path | None = None, folder: Path | None = None
) -> str:
    """Render a run as one HTML page."""
    project = Project.find(folder or Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        view = load_inspected_view(project, ledger, find_run(ledger, name), suite)
        return run_page(ledger, view, all_splits=all_splits)


def run_page(ledger: Ledger, view: RunView, *, all_splits: bool = False, most: int = MOST_ROLLOUTS) -> str:
    """Render a run whose view is there."""
    listed = _listed(ledger, view, all_splits=all_splits)
    chosen = choose_rollouts(listed, most)
    found = ledger.rollouts([one.key for one in chosen])
    seen = tuple(ViewedRollout(one, found[one.key]) for one in chosen if one.key in found)
    return render_page(view, RolloutSelection(seen, len(listed), all_splits, most))


def _listed(ledger: Ledger, view: RunView, *, all_splits: bool) -> list[RolloutEntry]:
    """List the rollouts that may be shown; a task whose split is not known may be held out."""
    splits = {row.task: row.split for row in view.heat}
    names = {version.digest: f"v{version.number}" if version.number else "start" for version in view.versions}
    identity = view.target + (f" judge={view.judge}" if view.judge else "")
    rows: Sequence[ResultRow] = ledger.run_results(view.run, list(names), identity)
    return [
        RolloutEntry(
            row.key,
            row.task,
            splits.get(row.task, ""),
            names.get(row.skill, "draft"),
            row.repeat,
            row.score,
            row.passed,
        )
        for row in rows
        if all_splits or splits.get(row.task) in SEEN_SPLITS
    ]
