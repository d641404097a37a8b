"""Run a command and end with the documented exit code; our errors become one line on stderr, secrets are masked."""

import os
import sys

from skillopt import TYPE_CHECKING, __version__
from skillopt.execution.interrupts import EXIT_INTERRUPTED, EndingOnCtrlC, end_process

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typer import Typer


def run(arguments: "Sequence[str] | None" = None, app: "Typer | None" = None) -> int:
    """Run a command, by default of the command line, and give the documented exit code."""
    try:
        with EndingOnCtrlC():
            from skillopt.execution.installation import namesake

            if warning := namesake():
                sys.stderr.write(f"skillopt: {warning}\n")
            if (sys.argv[1:] if arguments is None else list(arguments)) == ["--version"]:
                sys.stdout.write(f"skillopt-mcp {__version__}\n")  # importing all commands takes ten times as long
                return 0
            from skillopt.commands.app import app as command_line
            from skillopt.execution.masking import environment_masking, masked_output

        with masked_output(environment_masking()):
            return _run_masked(app or command_line, arguments)
    except KeyboardInterrupt:  # before or after the part of a command that knows how to go on
        sys.stderr.write("interrupted\n")
        return EXIT_INTERRUPTED


def _run_masked(app: "Typer", arguments: "Sequence[str] | None") -> int:
    try:
        app(None if arguments is None else list(arguments), prog_name="skillopt")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        from skillopt.errors import ProviderError, SkilloptError
        from skillopt.safety.escaping import escape_terminal_lines

        if not isinstance(error, SkilloptError):
            raise
        kind = f"{error.kind}: " if isinstance(error, ProviderError) else ""
        sys.stderr.write(f"skillopt: {escape_terminal_lines(str(error).removeprefix(kind))}\n")
        return error.exit_code
    return 0


def main() -> None:
    """Run the command line and end the process with the documented exit code."""
    end_process(run())
