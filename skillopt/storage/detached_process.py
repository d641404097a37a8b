"""Starting a program that outlives the one that starts it.

Owns cutting all ties: its own session, no terminal, output to files, nobody who must wait for it. Does not
own what it does.
"""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["let_go", "start_detached"]


def start_detached(command: Sequence[str], *, folder: Path, output: Path, errors: Path) -> None:
    """Start a program that soon calls `let_go`, and wait until it has.

    Args:
        command: The program and its arguments.
        folder: Where it works.
        output: File for its stdout.
        errors: File for its stderr.

    Raises:
        OSError: It cannot be started, or ended before it let go.
    """
    with output.open("wb") as out, errors.open("wb") as err:
        ended = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, check=False
        )
    if ended.returncode:
        said = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise OSError(f"it ended with {ended.returncode}: {said[-1] if said else 'without a word'}")


def let_go() -> None:
    """Go on in a process whose parent ends now, so that whoever started it need not wait for it."""
    if os.fork():
        os._exit(0)
