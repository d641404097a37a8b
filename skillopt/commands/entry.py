"""Run a command and end with the documented exit code; our errors become one line on stderr, secrets are masked."""

import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO, cast

from skillopt import __version__
from skillopt.execution.interrupts import EXIT_INTERRUPTED, ending_on_ctrl_c

if TYPE_CHECKING:
    from typer import Typer

    from skillopt.execution.masking import Masking


def run(arguments: Sequence[str] | None = None, app: "Typer | None" = None) -> int:
    """Run a command, by default of the command line, and give the documented exit code."""
    try:
        with ending_on_ctrl_c():
            from skillopt.execution.installation import namesake

            if warning := namesake():
                sys.stderr.write(f"skillopt: {warning}\n")
            if (sys.argv[1:] if arguments is None else list(arguments)) == ["--version"]:
                sys.stdout.write(f"skillopt-mcp {__version__}\n")  # importing all commands takes ten times as long
                return 0
            from skillopt.commands.app import app as command_line
            from skillopt.execution.masking import environment_masking

        with _masked_output(environment_masking()):
            return _run_masked(app or command_line, arguments)
    except KeyboardInterrupt:  # before or after the part of a command that knows how to go on
        sys.stderr.write("interrupted\n")
        return EXIT_INTERRUPTED


def _run_masked(app: "Typer", arguments: Sequence[str] | None) -> int:
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


class MaskedStream:
    """A text stream that masks each text before it is written, and is the stream otherwise."""

    def __init__(self, stream: TextIO, masking: "Masking") -> None:
        self._stream = stream
        self._masking = masking

    def write(self, text: str) -> int:
        """Write a text, masked; give the length that it had."""
        self._stream.write(self._masking.text(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        """Write texts, each masked."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a text stream has
        """Return what the stream itself has."""
        return getattr(self._stream, name)


@contextmanager
def _masked_output(masking: "Masking") -> Iterator[None]:
    """Mask what is printed inside."""
    before = (sys.stdout, sys.stderr)
    sys.stdout, sys.stderr = (cast("TextIO", MaskedStream(stream, masking)) for stream in before)  # it is one by duck
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def main() -> None:
    """Run the command line and end the process with the documented exit code."""
    code = run()
    if code == EXIT_INTERRUPTED and threading.active_count() > 1:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(EXIT_INTERRUPTED)  # calls that were dropped would be waited for, for minutes perhaps
    sys.exit(code)
