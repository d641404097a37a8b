"""The application: every command, in the order of `--help`, and the options that come before a command."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Final

import typer

from skillopt import __version__
from skillopt.cli import (
    audit,
    clean,
    docs,
    doctor,
    estimate,
    evaluate,
    evidence,
    gate,
    handoff,
    init,
    jobs,
    nightly,
    optimize,
    propose,
    prune,
    status,
    transfer,
    trigger,
    tune,
)
from skillopt.cli.grouped_help import GroupedHelp
from skillopt.cli.history import blame, decline, diff, log, rename, rollback, show
from skillopt.cli.reports import export, inspect, report, serve, watch
from skillopt.cli.tasks import harvest, import_tasks, suite, write_tasks

__all__ = ["app"]

_COMMANDS: Final[Mapping[str, tuple[Callable[..., None], ...]]] = {
    "Start here": (
        init.init,
        write_tasks.write_tasks,
        doctor.doctor,
        estimate.estimate,
        optimize.optimize,
        docs.docs,
    ),
    "Tasks": (import_tasks.import_tasks, harvest.harvest),
    "Measure": (evaluate.evaluate, audit.audit, trigger.trigger, transfer.transfer, gate.gate),
    "Versions and drafts": (
        status.status,
        log.log,
        diff.diff,
        show.show,
        blame.blame,
        rollback.take,
        rollback.rollback,
        decline.decline,
        decline.undecline,
        decline.drop,
        rename.rename,
    ),
    "Reports": (report.report, inspect.inspect, watch.watch, serve.serve, export.export),
    "Nights and jobs": (jobs.jobs, jobs.job, jobs.cancel),
    "Remove": (clean.clean, prune.prune),
    "Other ways to train": (evidence.evidence, propose.propose, tune.tune),
}
"""Every command under its heading, in the order of help."""

_NAMES: Final = {"import_tasks": "import"}
"""Names that are words of Python's own."""

app = typer.Typer(
    name="skillopt",
    cls=GroupedHelp,
    help="Train the skills of coding agents: rollouts, bounded edits, a validation gate, versions in git.",
    epilog="Exit codes: 0 done, 1 negative verdict, 2 usage or configuration, 3 infrastructure failure or invalid "
    "measurement, 130 interrupted (run the same command to continue).",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help takes half the time to show
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def root(
    folder: Annotated[
        Path | None, typer.Option("-C", metavar="FOLDER", help="Work as if started in this folder.")
    ] = None,
    version: Annotated[bool, typer.Option("--version", help="Print the version and end.")] = False,
) -> None:
    """Handle what comes before the command."""
    if version:
        typer.echo(f"skillopt-mcp {__version__}")
        raise typer.Exit
    if folder is not None:
        from skillopt.errors import UsageError

        try:
            os.chdir(folder)
        except OSError as error:
            message = f"-C: cannot enter {str(folder)!r}: {error.strerror}"
            raise UsageError(message) from error


for heading, commands in _COMMANDS.items():
    for command in commands:
        app.command(_NAMES.get(command.__name__), rich_help_panel=heading)(command)
app.add_typer(nightly.nightly, name="nightly", rich_help_panel="Nights and jobs")
app.add_typer(suite.suite, name="suite", rich_help_panel="Tasks")
app.add_typer(handoff.handoff, name="handoff", rich_help_panel="Other ways to train")
