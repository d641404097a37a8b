"""Run the command of a job, as `python -m skillopt.commands.job_process FOLDER`, and write down its end."""

import os
import signal
import sys
from pathlib import Path

from skillopt.storage.jobs import detach, finish_job, job_process, note_progress_in


def main(folder: Path) -> int:
    """Run a job's command and write down what it ended with."""
    detach()
    from skillopt.commands.entry import run  # slow, and somebody waits until this lets go

    # A parent in the background may have left Ctrl-C ignored, and cancelling is the same signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with job_process(folder) as command:
        if not command:
            return 130
        note_progress_in(folder)
        code = 3
        try:
            code = run(command)
        except KeyboardInterrupt:
            code = 130
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            finish_job(folder, code)
        os._exit(code)  # calls that were dropped would be waited for


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
