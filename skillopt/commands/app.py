"""The application: every command under its heading, imported when it is called, and the options before a command."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from typer._click import Command, Context, HelpFormatter  # Typer has its own Click, and names it nowhere else
from typer.core import TyperGroup

from skillopt import __version__
from skillopt.contrib import CONTRIB
from skillopt.errors import UsageError, describe_mistake
from skillopt.execution.interrupts import EXIT_INTERRUPTED, EndingOnCtrlC

_OWN: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    "Start here": {
        "init": ("init:init", "Write skillopt.toml for the skills found here."),
        "write-tasks": ("write_tasks:write_tasks", "Draft tasks from a skill's text, for you to review."),
        "doctor": ("doctor:doctor", "Check what a run needs."),
        "estimate": ("estimate:estimate", "Estimate cost and power of a run; spends nothing."),
        "optimize": ("optimize:optimize", "Train the skill, or continue a run."),
        "shrink": ("shrink:shrink", "Delete text of the skill that no task needs."),
        "docs": ("docs:docs", "Read the documentation, which comes with the program."),
    },
    "Tasks": {
        "import": ("import_tasks:import_tasks", "Copy tasks of another tool into a suite."),
        "suite": ("suite:suite", "Look at the tasks of a skill."),
    },
    "Measure": {
        "evaluate": ("evaluate:evaluate", "Score the skill, a version, or no skill."),
        "gate": ("gate:gate", "Test a change of skills, by whoever made it."),
    },
    "Versions and drafts": {
        "status": ("status:status", "List the newest runs of this project."),
        "log": ("log:log", "List the versions of the skill, newest first, and its draft."),
        "diff": ("diff:diff", "Show what changed between two versions of the skill."),
        "show": ("show:show", "Show a version: what changed, and why."),
        "take": ("decisions:take", "Make the draft a version after you approve it."),
        "rollback": ("decisions:rollback", "Publish an older version as a new commit."),
        "decline": ("decisions:decline", "Refuse versions, the draft, or edits."),
    },
    "Reports": {
        "report": ("report:report", "Report a run: verdict, edits, gates, test, cost, tasks by version."),
    },
    "Nights and jobs": {
        "jobs": ("jobs:jobs", "List the jobs that agents started, show one, or end it."),
        "nightly": ("nightly:nightly", "Train every skill that is due, and propose improvements."),
    },
}
COMMANDS: Final[Mapping[str, Mapping[str, tuple[str, str]]]] = {
    heading: {
        **{name: (f"skillopt.commands.{path}", line) for name, (path, line) in _OWN.get(heading, {}).items()},
        **{
            name: (path, line)
            for package in CONTRIB.values()
            for name, (place, path, line) in package.commands.items()
            if place == heading
        },
    }
    for heading in _OWN
}
"""By heading and name, in the order of help: where the command is, and its line in the list of commands."""


_MEANT: Final = {"train": "optimize", "run": "optimize", "learn": "optimize", "test": "evaluate"}
"""Other words for commands, which no likeness of letters finds."""


def load_command(name: str) -> Command | None:
    """Import a command by its name; None where there is none."""
    for heading in COMMANDS.values():
        if name in heading:
            module, _, attribute = heading[name][0].partition(":")
            with EndingOnCtrlC():
                found: Any = getattr(import_module(module), attribute)  # or a Typer of some
            if isinstance(found, typer.Typer):
                return typer.main.get_command(found)
            single = typer.Typer(add_completion=False, rich_markup_mode=None)
            single.command(name)(found)
            return typer.main.get_command(single)
    return None


class _CommandList(TyperGroup):
    """Imports a command when it is called, so that the others cost nothing, and lists all of them under headings."""

    def list_commands(self, ctx: Context) -> list[str]:  # noqa: ARG002 - Click's signature
        """List the names in the order of help."""
        return [name for heading in COMMANDS.values() for name in heading]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:
        """Import the command of a name."""
        found = load_command(cmd_name)
        near = [] if found else get_close_matches(cmd_name, self.list_commands(ctx), n=1)
        if meant := _MEANT.get(cmd_name) or next(iter(near), ""):
            ctx.fail(f"No such command {cmd_name!r}. Did you mean {meant!r}?")
        return found

    def make_context(self, *arguments: Any, **more: Any) -> Context:  # noqa: ANN401 - as Click has them
        """Read the options before a command, for which Typer imports more."""
        with EndingOnCtrlC():
            return super().make_context(*arguments, **more)

    def invoke(self, ctx: Context) -> object:
        """Run the command; Typer itself would end on Ctrl-C in silence, and tell mistakes in pydantic's words."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            mistakes: Any = getattr(error.__cause__, "errors", None)  # of pydantic, which takes long to import
            if mistakes is not None:
                error.message = describe_mistake(mistakes()[0])
            raise
        except KeyboardInterrupt as error:
            typer.echo("interrupted", err=True)
            raise typer.Exit(EXIT_INTERRUPTED) from error

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """Write a section for each heading."""
        width = max(map(len, self.list_commands(ctx)))
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), line) for name, (_, line) in commands.items()])


app = typer.Typer(
    name="skillopt",
    cls=_CommandList,
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
        try:
            os.chdir(folder)
        except OSError as error:
            message = f"-C: cannot enter {str(folder)!r}: {error.strerror}"
            raise UsageError(message) from error
