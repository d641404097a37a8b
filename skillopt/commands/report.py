"""The command `report`: its options, and its result as text."""

from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import AllSplitsOption, JsonOption, RunArgument, SuiteOption
from skillopt.commands.output import write_report

__all__ = ["report"]


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
    from skillopt.actions.pages import page
    from skillopt.actions.report import report as run
    from skillopt.reports import format_of, render_view

    chosen = format_of("json" if as_json else form, output)
    if chosen == "html":
        text = page(name, all_splits=all_splits, suite=suite)
    else:
        text = render_view(run(name, all_splits=all_splits, suite=suite), chosen)
    if output is None:
        typer.echo(text.rstrip("\n"))
    else:
        write_report(output, text.rstrip("\n"))
        typer.echo(f"written to {output}", err=True)
