"""The command that keeps all skills trained: `nightly`."""

from typing import Annotated

import typer

from skillopt.cli.options import JsonOption, QuietOption, SetOption, SummaryOption, WorkersOption, flags_of
from skillopt.cli.output import interruptible, show

__all__ = ["nightly"]


def nightly(
    *,
    max_rollouts: Annotated[int, typer.Option("--max-rollouts", min=0, help="Rollouts that the night may begin.")] = 0,
    max_usd: Annotated[float, typer.Option("--max-usd", min=0, help="US dollars that the night may spend.")] = 0.0,
    forge: Annotated[str | None, typer.Option("--forge", help="Where to open pull requests: github or none.")] = None,
    remote: Annotated[str | None, typer.Option("--remote", help="Git remote to push to; empty for none.")] = None,
    summary: SummaryOption = None,
    settings: SetOption = None,
    workers: WorkersOption = None,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train every skill that is due, and offer what improved.

    One pull request for each skill, kept up to date. Running it again goes on where it stopped. Ends with 3 when
    something failed; the other skills have had their turn all the same.
    """
    from skillopt.cli.progress import ProgressWatch
    from skillopt.commands.nightly import Budget
    from skillopt.commands.nightly import nightly as run
    from skillopt.night_summary import render_night
    from skillopt.report_files import append_report

    flags = flags_of(settings, workers=workers, forge=forge, remote=remote)
    with interruptible(), ProgressWatch(quiet=quiet) as watch:
        found = run(Budget(max_rollouts, max_usd), flags=flags, watch=watch)
    show(found, as_json=as_json)
    if summary is not None:
        append_report(summary, render_night(found), "--summary")
    if found.broken:
        raise typer.Exit(3)
