"""The commands that look back: `status`, `log`, `diff`, `rollback`, `report`, `watch`."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.app import app
from skillopt.cli.options import AllSplitsOption, JsonOption, SkillArgument, SuiteOption, select
from skillopt.cli.output import INTERRUPTED, as_json_text, show

if TYPE_CHECKING:
    from skillopt.project import Selection

__all__: list[str] = []


@app.command()
def status(*, as_json: JsonOption = False) -> None:
    """List the runs of this project."""
    from skillopt.commands.status import status as run  # noqa: PLC0415 - imported on use

    show(run(), as_json=as_json)


@app.command()
def log(
    skill: SkillArgument = None,
    *,
    graph: Annotated[bool, typer.Option("--graph", help="Draw the line of versions, with what each gained.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the accepted versions of the skill, newest first.

    Each with the target it was trained on, and stale when another one is configured.
    """
    if graph:
        from skillopt.commands.log import graph as draw  # noqa: PLC0415 - imported on use

        show(draw(select(skill)), as_json=as_json)
        return
    from skillopt.commands.log import log as run  # noqa: PLC0415 - imported on use

    show(run(select(skill)), as_json=as_json)


@app.command()
def diff(
    skill: SkillArgument = None,
    before: Annotated[str | None, typer.Argument(help="A version, or worktree; the first text when left out.")] = None,
    after: Annotated[str | None, typer.Argument(help="A version, or worktree; the newest when left out.")] = None,
    *,
    words: Annotated[bool, typer.Option("--words", help="Word by word: in colours, else [-gone-]{+new+}.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what changed between two versions of the skill."""
    if words:
        _show_words(select(skill), before, after, as_json=as_json)
        return
    from skillopt.commands.diff import diff as run  # noqa: PLC0415 - imported on use

    show(run(select(skill), before, after), as_json=as_json)


@app.command()
def rollback(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    version: Annotated[str, typer.Argument(help="The version to publish again.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Publish an older version as a new commit."""
    from skillopt.commands.rollback import rollback as run  # noqa: PLC0415 - imported on use

    show(run(select(skill), version), as_json=as_json)


@app.command()
def report(
    name: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Id of the run, or a skill for its newest; the newest of all.")
    ] = None,
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
    from skillopt.commands.pages import page  # noqa: PLC0415 - imported on use
    from skillopt.commands.report import report as run  # noqa: PLC0415 - as above
    from skillopt.report_files import write_report  # noqa: PLC0415 - as above
    from skillopt.reports import format_of, render_view  # noqa: PLC0415 - as above

    chosen = format_of("json" if as_json else form, output)
    if chosen == "html":
        text = page(name, all_splits=all_splits, suite=suite)
    else:
        text = render_view(run(name, suite=suite), chosen)
    if output is None:
        typer.echo(text.rstrip("\n"))
    else:
        write_report(output, text.rstrip("\n"))


@app.command()
def watch(
    name: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Id of the run, or a skill for its newest; the newest of all.")
    ] = None,
    *,
    interval: Annotated[
        float, typer.Option("--interval", metavar="SECONDS", min=0.1, help="Time between two looks.")
    ] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Show it once and end.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Follow a run on the terminal until it ends; Ctrl-C ends the watching only.

    What is no terminal gets one look.
    """
    import time  # noqa: PLC0415 - imported on use

    from rich.console import Console  # noqa: PLC0415 - as above

    from skillopt.commands.watch import followed  # noqa: PLC0415 - as above
    from skillopt.live import follow  # noqa: PLC0415 - as above
    from skillopt.reports import render_view  # noqa: PLC0415 - as above

    try:
        with followed(name) as look:
            if as_json:
                typer.echo(render_view(look(), "json"))
            else:
                follow(look, Console(highlight=False), lambda: time.sleep(interval), once=once)
    except KeyboardInterrupt as error:
        raise typer.Exit(INTERRUPTED) from error


def _show_words(selection: "Selection", before: str | None, after: str | None, *, as_json: bool) -> None:
    from skillopt.commands.diff import diff_by_words  # noqa: PLC0415 - imported on use
    from skillopt.history_text import render_words  # noqa: PLC0415 - as above

    found = diff_by_words(selection, before, after)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    typer.echo(as_json_text(found) if as_json else render_words(found, colour=colour))
