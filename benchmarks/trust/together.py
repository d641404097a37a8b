"""Commands on one project at the same time: each does its work or says who is in the way; nothing is paid twice."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import connect
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.projects import OPTIMIZE, git, make_project, skillopt
from benchmarks.trust.table import ClassResult, Found
from skillopt.storage.jobs import JobState, start_job, wait_for_job

__all__ = ["try_together"]

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_SECONDS: Final = 300
_ORDERLY: Final = (0, 1, 2, 3)
_NIGHT: Final = ("nightly", "--json", "--quiet", "--remote", "origin")
_RUN: Final = ("optimize", "rows", "--json", "--quiet", "--workers", "4", "--seed", "2")
_PAIRS: Final[dict[str, tuple[Sequence[str], ...]]] = {
    "two users on one clone": (OPTIMIZE, OPTIMIZE),
    "two nights on one clone": (_NIGHT, _NIGHT),
    "rollback during a run": (_RUN, ("rollback", "rows")),
    "take during a run": (_RUN, ("take", "rows")),
    "drop during a run": (_RUN, ("drop", "rows", "1")),
    "decline during a run": (_RUN, ("decline", "rows")),
    "clean during a run": (_RUN, ("clean", "--yes")),
}
"""What is done at the same time. Before a command that changes versions there are some."""


def try_together(*, quick: bool) -> Found:
    """Start the commands of each pair at once, wait for both, look at what is left."""
    failures, tried = list[str](), 0
    with TemporaryDirectory(prefix="trust-together-") as root:
        fresh = _clone_of(make_project(Path(root) / "made", tasks=8), Path(root) / "fresh")
        trained = Path(shutil.copytree(fresh, Path(root) / "trained", symlinks=True))
        skillopt(trained / "clone", *OPTIMIZE)
        for name, commands in list(_PAIRS.items())[: 1 if quick else None]:
            start = trained if commands[0] == _RUN else fresh
            place = Path(shutil.copytree(start, Path(root) / f"place{tried}", symlinks=True))
            tried += 1
            failures += [f"{name}: {failure}" for failure in _try_pair([place / "clone"] * 2, commands)]
        tried += 1
        failures += [f"a job and the command line: {failure}" for failure in _try_job(fresh, Path(root))]
        if not quick:
            tried += 1
            failures += [f"two nights on one remote: {failure}" for failure in _two_machines(fresh, Path(root))]
    return (ClassResult("at the same time", tried, len(failures)),), failures


def _clone_of(project: Path, folder: Path) -> Path:
    """Make a folder with a bare remote and a clone of it."""
    folder.mkdir()
    git(folder, "clone", "--quiet", "--bare", str(project), "bare.git")
    git(folder, "clone", "--quiet", "bare.git", "clone")
    git(folder / "clone", "remote", "set-url", "origin", "../bare.git")
    return folder


def _two_machines(fresh: Path, root: Path) -> list[str]:
    place = Path(shutil.copytree(fresh, root / "machines", symlinks=True))
    shutil.copytree(place / "clone", place / "other", symlinks=True)
    failures = _try_pair([place / "clone", place / "other"], (_NIGHT, _NIGHT))
    ours = {git(place / name, "rev-parse", "skillopt/rows") for name in ("clone", "other")}
    if git(place / "bare.git", "rev-parse", "skillopt/rows") not in ours:
        failures.append("the remote has a version that no machine made")
    return failures


def _try_job(fresh: Path, root: Path) -> list[str]:
    """Train by a job, as the MCP server does, and by the command line."""
    project = Path(shutil.copytree(fresh, root / "job", symlinks=True)) / "clone"
    job = start_job(project, "rows", OPTIMIZE)
    failures = _try_pair([project], (OPTIMIZE,))
    state = wait_for_job(project, job.id, _SECONDS).state
    return failures if state in (JobState.DONE, JobState.FAILED) else [*failures, f"the job is {state.value}"]


def _try_pair(folders: Sequence[Path], commands: Sequence[Sequence[str]]) -> list[str]:
    """Run commands at once; tell of every end and state that nobody should see."""
    path = {**os.environ, "PYTHONPATH": str(_CHECKOUT)}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "skillopt", *command],
            cwd=folder,
            env=path,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for folder, command in zip(folders, commands, strict=True)
    ]
    failures = []
    for process in started:
        out, errors = process.communicate(timeout=_SECONDS)
        if process.returncode not in _ORDERLY or "Traceback" in errors:
            failures.append(f"{process.args!r} ended with {process.returncode}: {out[-200:]} {errors[-600:]}")
    for folder in dict.fromkeys(folders):
        failures += _unsound(folder)
    return failures


def _unsound(project: Path) -> list[str]:
    """Tell what is wrong with a repository and its ledger; a command must still work there."""
    said = git(project, "fsck", "--strict", "--no-dangling", "--no-progress")
    failures = [f"git fsck: {said}"] if said else []
    failures += [f"left behind: {lock}" for lock in project.glob(".git/**/*.lock")]
    ledger = project / ".skillopt" / "ledger.db"
    if ledger.exists():
        with closing(connect(ledger)) as database:
            sound = database.execute("PRAGMA integrity_check").fetchone()[0]
        failures += [] if sound == "ok" else [f"ledger: {sound}"]
    ended = skillopt(project, "log", "rows", "--json")
    return failures if ended.returncode in _ORDERLY[:3] else [*failures, f"log afterwards: {ended.stderr[-300:]}"]
