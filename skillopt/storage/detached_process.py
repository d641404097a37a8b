"""Start a detached background process: its own session, no terminal, output to files, no parent that waits."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

__all__ = ["detach", "start_detached"]


def start_detached(command: Sequence[str], *, folder: Path, output: Path, errors: Path) -> None:
    """Start a program that soon calls `detach`, and wait until it has."""
    with output.open("wb") as out, errors.open("wb") as err:
        ended = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True, check=False
        )
    if ended.returncode:
        lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        raise OSError(f"it ended with {ended.returncode}: {lines[-1] if lines else 'no message'}")


def detach() -> None:
    """Continue in a forked child and end the parent, so that whoever started this process need not wait for it."""
    if os.fork():
        os._exit(0)
