"""Run the command of a job, as `python -m skillopt.commands.job_process FOLDER`, and write down its end."""

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Final

from skillopt.execution.interrupts import EXIT_INTERRUPTED
from skillopt.storage.jobs import detach, finish_job, job_process, note_progress_in

JOBS: Final = {
    "evaluate": "skillopt.commands.evaluate:evaluate",
    "optimize": "skillopt.commands.optimize:optimize",
    "propose": "skillopt.commands.propose:propose",
}
"""By the first word of a job's command, the function that takes the other words as its arguments."""


def main(folder: Path) -> int:
    """Run a job's command and write down what it ended with."""
    detach()
    # A parent in the background may have left Ctrl-C ignored, and cancelling is the same signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with job_process(folder) as command:
        if not command:
            return EXIT_INTERRUPTED
        note_progress_in(folder)
        code = 3
        try:
            code = run_job(command)
        except KeyboardInterrupt:
            code = EXIT_INTERRUPTED
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            finish_job(folder, code)
        os._exit(code)  # calls that were dropped would be waited for


def run_job(command: Sequence[str]) -> int:
    """Run the function of a job and return the documented exit code."""
    import typer  # slow, and so is what follows, and somebody waits until this process detaches

    from skillopt.commands.entry import run

    module, _, function = JOBS[command[0]].partition(":")
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    app.command(command[0])(getattr(import_module(module), function))
    return run(command[1:], app)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
