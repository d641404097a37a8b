"""A disk that is full or cannot be written, a torn or unsynced ledger, a clock that jumps: is anything lost?"""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import datetime, timedelta, tzinfo
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, Self

from benchmarks.trust.classes import ClassResult, Found
from benchmarks.trust.forked import Command, Kill, load_all, run_forked
from benchmarks.trust.places import Place
from benchmarks.trust.projects import OPTIMIZE, git, make_project, skillopt
from skillopt.commands.entry import main

_ENDED_IN_ORDER: Final = (0, 1, 2, 3)
"""Exit codes that are documented."""

_STOPPED: Final = ("--max-rollouts", "24")
_PAGE: Final = 4096
_JUMPS: Final = (timedelta(days=-2), timedelta(days=5_000), timedelta(hours=-7), timedelta())
_CUTS: Final = 8


def try_disk(*, quick: bool) -> Found:
    """Break the disk under training in one way after the other, where that is allowed; mend it, train on, compare."""
    faults: list[Callable[[Path], list[str] | None]] = [_torn_page, _torn_log]
    if not quick:
        faults += [_full, _read_only, _jumping]
    load_all()
    failures, lost, tried = list[str](), 0, 0
    with TemporaryDirectory(prefix="trust-disk-") as root:
        start = make_project(Path(root) / "start")
        whole = shutil.copytree(start, Path(root) / "whole")
        if skillopt(whole, *OPTIMIZE).returncode:
            return (ClassResult("disk and clock", 0, 0),), ["disk: an undisturbed run failed"]
        for fault in faults:
            project = shutil.copytree(start, Path(root) / fault.__name__)
            said = fault(project)
            if said is None:
                continue
            tried += 1
            ended = skillopt(project, *OPTIMIZE)
            if ended.returncode:
                said = [*said, f"the next run ended with {ended.returncode}: {ended.stderr[-400:]}"]
            elif _versions(project) != _versions(whole):
                lost += 1
                said = [*said, f"other versions: {_versions(project)}, expected {_versions(whole)}"]
            failures += [f"disk, {fault.__name__.strip('_')}: {one}" for one in said]
        row = ClassResult("disk and clock", tried, len(failures), lost)
        unsynced = _try_unsynced(Path(root), 2 if quick else _CUTS)
    return (row, unsynced[0]), [*failures, *unsynced[1]]


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


def _full(project: Path) -> list[str] | None:
    """Let the repository have hardly more bytes than it needs, and the ledger 200 KB."""
    said = list[str]()
    for name, size in ((".git", "400k"), (".skillopt", "200k")):
        with _mounted(project / name, f"size={size}") as can:
            if not can:
                return None
            said += _expect_order(skillopt(project, *OPTIMIZE))
    return said


def _read_only(project: Path) -> list[str] | None:
    """Take the right to write from the repository, then from the ledger."""
    said = list[str]()
    skillopt(project, *OPTIMIZE, *_STOPPED)
    for name in (".git", ".skillopt"):
        place = str(project / name)
        if os.geteuid() or subprocess.run(["mount", "--bind", place, place], check=False).returncode:
            return None
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


def _jumping(project: Path) -> list[str]:
    """Have a clock that is somewhere else at every look."""
    codes = [
        run_forked(Command(_main_by_a_jumping_clock, project, arguments, {})).code
        for arguments in ((*OPTIMIZE, *_STOPPED), OPTIMIZE)
    ]
    said = project.with_name("out").read_text(encoding="utf-8", errors="replace")[-600:]
    return [] if set(codes) <= set(_ENDED_IN_ORDER[:2]) else [f"ended with {codes}: {said}"]


class _JumpingClock(datetime):
    """Says another time at every look."""

    looks = count()

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        """Return a time that may be anything."""
        return super().now(tz) + _JUMPS[next(cls.looks) % len(_JUMPS)]


def _main_by_a_jumping_clock() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("skillopt") and vars(module).get("datetime") is datetime:
            vars(module)["datetime"] = _JumpingClock
    main()


def _try_unsynced(root: Path, cuts: int) -> tuple[ClassResult, list[str]]:
    """Kill training before its first version, and take ends of the ledger's log away, as a disk may lose them."""
    whole, killed = Place.make(root / "synced"), Place.make(root / "killed")
    undisturbed = run_forked(Command(main, whole.clone, OPTIMIZE, whole.environment))
    kill = Kill(signal.SIGKILL, undisturbed.points // 3)
    run_forked(Command(main, killed.clone, OPTIMIZE, killed.environment), kill)
    failures, lost = list[str](), 0
    for number in range(cuts):
        place = killed.copy(root / f"cut{number}")
        log = place.clone / ".skillopt" / "ledger.db-wal"
        os.truncate(log, log.stat().st_size * number // cuts)
        for empty in (place.clone / ".skillopt").glob("locks/*.pid"):
            os.truncate(empty, 0)
        ended = run_forked(Command(main, place.clone, OPTIMIZE, place.environment))
        failures += [f"unsynced, {number}: ended with {ended.code}: {place.last_words()}"] if ended.code else []
        if place.branches() != whole.branches():
            lost += 1
            failures.append(f"unsynced, {number}: other branches: {place.branches()}")
        failures += [f"unsynced, {number}: left behind: {left}" for left in place.leftovers()]
    return ClassResult("writes that were not synced", cuts, len(failures), lost), failures
