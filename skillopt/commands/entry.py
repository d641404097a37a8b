"""Run a command and end with the documented exit code; our errors become one line on stderr."""

import os
import sys
import threading
from collections.abc import Sequence

import typer

from skillopt.commands.output import INTERRUPTED
from skillopt.execution.installation import check_installation, namesake

__all__ = ["main", "run"]


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give the documented exit code."""
    try:
        broken = check_installation()
        if broken:
            typer.echo(f"skillopt: {broken}", err=True)
            return 2
        warning = namesake()
        if warning:
            typer.echo(f"skillopt: {warning}", err=True)
        from skillopt.commands.masked_output import masked_output

        with masked_output():
            return _run_masked(arguments)
    except KeyboardInterrupt:  # before or after the part of a command that knows how to go on
        typer.echo("interrupted", err=True)
        return INTERRUPTED


def _run_masked(arguments: Sequence[str] | None) -> int:
    from skillopt.commands.app import app

    try:
        app(None if arguments is None else list(arguments), prog_name="skillopt")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        from skillopt.errors import SkilloptError
        from skillopt.safety.escaping import escape_terminal_lines

        if not isinstance(error, SkilloptError):
            raise
        typer.echo(f"skillopt: {escape_terminal_lines(str(error))}", err=True)
        return error.exit_code
    return 0


def main() -> None:
    """Run the command line and end the process with the documented exit code."""
    code = run()
    if code == INTERRUPTED and threading.active_count() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(INTERRUPTED)  # calls that were dropped would be waited for, for minutes perhaps
    sys.exit(code)
