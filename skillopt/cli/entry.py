"""The way in: run a command and end with the documented exit code.

Owns turning our errors into a line on stderr. Importing the modules of commands registers them, in the
order in which help lists them.
"""

import os
import sys
import threading
from collections.abc import Sequence

import typer

# In the order of help.
# isort: off
from skillopt.cli import projects, training, tuning, proposing, nightly, reviewing, history, lineage, pages, jobs

# isort: on
from skillopt.cli.app import app
from skillopt.cli.output import INTERRUPTED

__all__ = ["COMMANDS", "main", "run"]

COMMANDS = (projects, training, tuning, proposing, nightly, reviewing, history, lineage, pages, jobs)
"""The modules that hold the commands."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give the documented exit code.

    Args:
        arguments: What follows `skillopt`; None for those of this process.
    """
    try:
        app(None if arguments is None else list(arguments), prog_name="skillopt")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except KeyboardInterrupt:  # before or after the part of a command that knows how to go on
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        from skillopt.errors import SkilloptError  # noqa: PLC0415 - imported on use

        if not isinstance(error, SkilloptError):
            raise
        typer.echo(f"skillopt: {error}", err=True)
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
