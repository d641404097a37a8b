"""The command `report`: what is recorded of a run, as text, Markdown, HTML or JSON; spends and changes nothing."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, RunArgument, SuiteOption
from skillopt.commands.output import write_report
from skillopt.errors import UsageError
from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_view
from skillopt.reports.rollouts import read_rollouts
from skillopt.reports.run_report import render_markdown, render_page, render_text
from skillopt.reports.view import render_json
from skillopt.storage.ledger import Ledger

_FORMATS: Final = ("text", "markdown", "html", "json")
_WIDEST: Final = 120  # longer lines are hard to read
_SUFFIXES: Final = {".md": "markdown", ".markdown": "markdown", ".json": "json", ".html": "html"}


def report(
    name: RunArgument = None,
    *,
    form: Annotated[
        str | None, typer.Option("--format", "-f", help="text, markdown, html or json; else by the suffix of --output.")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write to this file instead of stdout.")] = None,
    suite: SuiteOption = None,
    as_json: JsonOption = False,
) -> None:
    """Report a run: verdict, edits, gates, test, cost, tasks by version; as html with rollouts, too."""
    named = "json" if as_json else form or (_SUFFIXES.get(output.suffix.lower(), "") if output else "text")
    if named not in _FORMATS:
        expected = f"a report's format ({', '.join(_FORMATS)}) or a file with its suffix"
        raise UsageError(f"expected {expected}, found {form or str(output)!r}")
    project = Project.find(Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        found = find_run(ledger, name)
        view = load_view(project, ledger, found, suite)
        match named:
            case "html":
                text = render_page(view, read_rollouts(ledger, view))
            case "text":
                text = render_text(view, min(_WIDEST, shutil.get_terminal_size((_WIDEST, 1)).columns))
            case _:
                text = render_json(view) if named == "json" else render_markdown(view)
    if output is None:
        typer.echo(text.rstrip("\n"))
    else:
        write_report(output, text.rstrip("\n"))
        typer.echo(f"written to {output}", err=True)
