"""A disk that is full or cannot be written, a ledger whose last page is torn, a clock that jumps: is anything lost?"""

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.projects import OPTIMIZE, git, make_project, skillopt
from benchmarks.trust.table import ClassResult, Found

__all__ = ["try_disk"]

_ENDED_IN_ORDER: Final = (0, 1, 2, 3)
"""Exit codes that are documented."""

_STOPPED: Final = ("--max-rollouts", "20")
_PAGE: Final = 4096
_LATER: Final = (
    "UPDATE runs SET started_at = '2039-01-01T00:00:00+00:00'",
    "UPDATE calls SET at = '2039-01-01T00:00:00+00:00'",
    "UPDATE events SET at = '2039-01-01T00:00:00+00:00'",
)


def try_disk(*, quick: bool) -> Found:
    """Break the disk under training in one way after the other, mend it, train on, and compare."""
    faults = (_torn_page, _torn_log) if quick else (_full, _full_of_state, _read_only, _torn_page, _torn_log, _clock)
    failures, lost = list[str](), 0
    with TemporaryDirectory(prefix="trust-disk-") as root:
        start = make_project(Path(root) / "start")
        whole = shutil.copytree(start, Path(root) / "whole")
        if skillopt(whole, *OPTIMIZE).returncode:
            return (ClassResult("disk and clock", 0, 0),), ["disk: an undisturbed run failed"]
        for fault in faults:
            project = shutil.copytree(start, Path(root) / fault.__name__)
            said = fault(project)
            ended = skillopt(project, *OPTIMIZE)
            if ended.returncode:
                said = [*said, f"the next run ended with {ended.returncode}: {ended.stderr[-400:]}"]
            elif _versions(project) != _versions(whole):
                lost += 1
                said = [*said, f"other versions: {_versions(project)}, expected {_versions(whole)}"]
            failures += [f"disk, {fault.__name__.strip('_')}: {one}" for one in said]
    return (ClassResult("disk and clock", len(faults), len(failures), lost),), failures


def _versions(project: Path) -> str:
    return git(project, "log", "--format=%T", "skillopt/rows")


def _expect_order(ended: "subprocess.CompletedProcess[str]") -> list[str]:
    """Tell of an end that no user should see."""
    orderly = ended.returncode in _ENDED_IN_ORDER and "Traceback" not in ended.stderr
    return [] if orderly else [f"ended with {ended.returncode}: {ended.stderr[-600:]}"]


@contextmanager
def _mounted(place: Path, *options: str) -> Iterator[bool]:
    """Mount a small file system with what a folder holds; gives whether that is allowed here."""
    place.mkdir(exist_ok=True)
    kept = place.with_name(f"{place.name}.kept")
    mount = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(place)]
    shutil.copytree(place, kept, symlinks=True)
    if os.geteuid() or subprocess.run(mount, check=False, capture_output=True).returncode:
        shutil.rmtree(kept)
        yield False
        return
    try:
        shutil.copytree(kept, place, symlinks=True, dirs_exist_ok=True)
        yield True
        shutil.rmtree(kept)
        shutil.copytree(place, kept, symlinks=True)
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)
    shutil.rmtree(place)
    shutil.move(kept, place)


def _full(project: Path) -> list[str]:
    """Let the repository have hardly more bytes than it needs."""
    with _mounted(project / ".git", "size=400k") as can:
        return _expect_order(skillopt(project, *OPTIMIZE)) if can else []


def _full_of_state(project: Path) -> list[str]:
    """Let the ledger have 200 KB."""
    with _mounted(project / ".skillopt", "size=200k") as can:
        return _expect_order(skillopt(project, *OPTIMIZE)) if can else []


def _read_only(project: Path) -> list[str]:
    """Take the right to write from the repository, then from the ledger."""
    said = list[str]()
    skillopt(project, *OPTIMIZE, *_STOPPED)
    for name in (".git", ".skillopt"):
        place = str(project / name)
        if os.geteuid() or subprocess.run(["mount", "--bind", place, place], check=False).returncode:
            return []
        try:
            subprocess.run(["mount", "-o", "remount,bind,ro", place], check=True)
            said += [f"{name}: {one}" for one in _expect_order(skillopt(project, *OPTIMIZE))]
        finally:
            subprocess.run(["umount", "--lazy", place], check=True)
    return said


def _tear(project: Path, name: str, damage: Callable[[Path], None]) -> list[str]:
    """Damage a file of the ledger; what cannot be read must be said, and moving it away must help."""
    skillopt(project, *OPTIMIZE, *_STOPPED)
    state = project / ".skillopt"
    if name.endswith("-wal"):  # a log is there only while somebody has the ledger open
        with closing(sqlite3.connect(state / "ledger.db")) as open_ledger:
            open_ledger.execute("UPDATE calls SET key = key")
            open_ledger.commit()
            shutil.copytree(state, project / "copy")
        shutil.rmtree(state)
        (project / "copy").rename(state)
    damage(state / name)
    ended = skillopt(project, *OPTIMIZE)
    said = _expect_order(ended)
    if ended.returncode:
        if "ledger" not in ended.stderr:
            said.append(f"no word of the ledger: {ended.stderr[-400:]}")
        for file in state.glob("ledger.db*"):
            file.unlink()
    return said


def _torn_page(project: Path) -> list[str]:
    """Zero the last page of the ledger."""

    def zero(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(-_PAGE, os.SEEK_END)
            file.write(bytes(_PAGE))

    return _tear(project, "ledger.db", zero)


def _torn_log(project: Path) -> list[str]:
    """Cut the last page of the ledger's log in two."""
    return _tear(project, "ledger.db-wal", lambda path: os.truncate(path, path.stat().st_size - _PAGE // 2))


def _clock(project: Path) -> list[str]:
    """Begin in 2039, as the ledger says afterwards, and go on today."""
    said = _expect_order(skillopt(project, *OPTIMIZE, *_STOPPED))
    with closing(sqlite3.connect(project / ".skillopt" / "ledger.db")) as ledger:
        for update in _LATER:
            ledger.execute(update)
        ledger.commit()
    return said
