"""The command `report`: what is recorded of a run, in one of the forms of `reports/`; spends and changes nothing."""

from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import AllSplitsOption, JsonOption, RunArgument, SuiteOption
from skillopt.commands.output import write_report
from skillopt.project import Project
from skillopt.reports import format_of, render_view
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
from skillopt.storage.ledger import Ledger

__all__ = ["report", "run_page"]


def report(
    name: RunArgument = None,
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format", "-f", help="markdown, pull-request, json, junit or html; else by the suffix of --output."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead of stdout.")] = None,
    all_splits: AllSplitsOption = False,
    suite: SuiteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Report a run: verdict, edits, gates, test, cost, tasks by version; as html with rollouts, too."""
    chosen = format_of("json" if as_json else form, output)
    project, is_page = Project.find(Path.cwd()), chosen == "html"
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        found = find_run(ledger, name)
        view = load_inspected_view(project, ledger, found, suite, all_splits=all_splits and not is_page)
        text = run_page(ledger, view, all_splits=all_splits) if is_page else render_view(view, chosen)
    if output is None:
        typer.echo(text.rstrip("\n"))
    else:
        write_report(output, text.rstrip("\n"))
        typer.echo(f"written to {output}", err=True)


def run_page(ledger: Ledger, view: RunView, *, all_splits: bool = False, most: int = MOST_ROLLOUTS) -> str:
    """Render a run as an HTML page with rollouts: of train tasks, or of the first of two folds, unless all are asked.

    A task whose split is not known may be held out, and is not shown.
    """
    splits = {row.task: row.split for row in view.heat}
    names = {version.digest: f"v{version.number}" if version.number else "start" for version in view.versions}
    identity = view.target + (f" judge={view.judge}" if view.judge else "")
    listed = [
        RolloutEntry(row.key, row.task, split, names.get(row.skill, "draft"), row.repeat, row.score, row.passed)
        for row in ledger.run_results(view.run, list(names), identity)
        if (split := splits.get(row.task, "")) in SEEN_SPLITS or all_splits
    ]
    chosen = choose_rollouts(listed, most)
    found = ledger.rollouts([one.key for one in chosen])
    seen = tuple(ViewedRollout(one, found[one.key]) for one in chosen if one.key in found)
    return render_page(view, RolloutSelection(seen, len(listed), all_splits, most))
