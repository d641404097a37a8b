"""The command that keeps all skills trained: `nightly`."""

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli.app import app
from skillopt.cli.options import JsonOption, QuietOption, SetOption, WorkersOption, flags_of
from skillopt.cli.output import interruptible, show

__all__: list[str] = []


@app.command()
def nightly(
    *,
    max_rollouts: Annotated[int, typer.Option("--max-rollouts", min=0, help="Rollouts that the night may begin.")] = 0,
    max_usd: Annotated[float, typer.Option("--max-usd", min=0, help="US dollars that the night may spend.")] = 0.0,
    forge: Annotated[str | None, typer.Option("--forge", help="Where to open pull requests: github or none.")] = None,
    remote: Annotated[str | None, typer.Option("--remote", help="Git remote to push to; empty for none.")] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", metavar="FILE", help="Append Markdown, as to $GITHUB_STEP_SUMMARY.")
    ] = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train every skill that is due, and offer what improved.

    One pull request for each skill, kept up to date. Running it again goes on where it stopped. Ends with 3 when
    something failed; the other skills have had their turn all the same.
    """
    from skillopt.cli.progress import ProgressWatch  # noqa: PLC0415 - as above
    from skillopt.commands.nightly import Budget  # noqa: PLC0415 - imported on use
    from skillopt.commands.nightly import nightly as run  # noqa: PLC0415 - as above
    from skillopt.night_summary import render_night  # noqa: PLC0415 - as above
    from skillopt.report_files import append_report  # noqa: PLC0415 - as above

    flags = flags_of(settings, workers=workers, forge=forge, remote=remote)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        found = run(Budget(max_rollouts, max_usd), flags=flags, watch=watch)
    show(found, as_json=as_json)
    if summary is not None:
        append_report(summary, render_night(found), "--summary")
    if found.broken:
        raise typer.Exit(3)
