"""Commands that are ended by a signal at any point of their work, and run again until they are through.

They must come to what an undisturbed run comes to, pay for no recorded call again and leave nothing behind.
"""

import shutil
import signal
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.trust.counted import count_calls
from benchmarks.trust.forked import Ended, Kill, load_all, run_forked
from benchmarks.trust.projects import OPTIMIZE, git, make_project, skillopt
from benchmarks.trust.table import ClassResult, Found
from skillopt.cli.entry import main

__all__ = ["try_kills"]

_SEED: Final = 20261122
_IN_FLIGHT: Final = 8
"""Calls that a kill may cost with 4 workers: each has one under way, and one whose answer is not yet on disk."""
_SIGNALS: Final = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_A_PLACE: Final = 5
"""Kills of one project, one run after the other."""
_TRAIN: Final = ("nightly", "train", "--state", "../state.json", "--out", "../night", "--quiet", "--workers", "4")
_OFFER: Final = ("nightly", "offer", "../night", "--json", "--remote", "origin")


@dataclass(slots=True)
class _Tally:
    """What was found over many kills."""

    kills: int = 0
    lost: int = 0
    paid_twice: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder with a clone `clone` of the remote `bare.git`, and temporary files of its own in `tmp`."""

    folder: Path

    @property
    def clone(self) -> Path:
        return self.folder / "clone"

    @property
    def environment(self) -> dict[str, str]:
        return {"TMPDIR": str(self.folder / "tmp")}

    def run(self, arguments: Sequence[str], kill: Kill | None = None) -> Ended:
        return run_forked(main, self.clone, arguments, self.environment, kill)

    def recorded(self) -> frozenset[str]:
        """Give the keys of the recorded calls."""
        path = self.clone / ".skillopt" / "ledger.db"
        if not path.exists():
            return frozenset()
        with closing(sqlite3.connect(path)) as ledger:
            if not ledger.execute("SELECT 1 FROM sqlite_master WHERE name = 'calls'").fetchone():
                return frozenset()
            return frozenset(key for (key,) in ledger.execute("SELECT key FROM calls"))

    def branches(self) -> tuple[str, ...]:
        """Give the trees of all branches, here and in the remote; none of them says when it was made."""
        return tuple(
            f"{name} {' '.join(git(where, 'log', '--format=%T', name).split())}"
            for where in (self.clone, self.folder / "bare.git")
            for name in git(where, "for-each-ref", "--format=%(refname)", "refs/heads").split()
        )

    def leftovers(self) -> Iterator[str]:
        """Name what should not be there."""
        yield from (str(path.relative_to(self.folder)) for path in sorted((self.folder / "tmp").iterdir()))
        yield from (str(path.relative_to(self.folder)) for path in self.clone.glob(".git/**/*.lock"))
        for where in (self.clone, self.folder / "bare.git"):
            said = git(where, "fsck", "--strict", "--no-dangling", "--no-progress")
            yield from [f"git fsck: {said}"] if said else []
        with closing(sqlite3.connect(self.clone / ".skillopt" / "ledger.db")) as ledger:
            sound = ledger.execute("PRAGMA integrity_check").fetchone()[0]
        yield from [] if sound == "ok" else [f"ledger: {sound}"]


def try_kills(*, quick: bool) -> Found:
    """Kill training and nights at points that are spread over their work."""
    load_all()
    count_calls()
    with TemporaryDirectory(prefix="trust-kills-") as root:
        made = make_project(Path(root) / "made", tasks=8)
        git(Path(root), "clone", "--quiet", "--bare", str(made), "bare.git")
        start = Path(root) / "start"
        start.mkdir()
        (start / "tmp").mkdir()
        shutil.move(str(Path(root) / "bare.git"), start / "bare.git")
        git(start, "clone", "--quiet", str(start / "bare.git"), "clone")
        training = _kill_all("optimize", _Place(start), (OPTIMIZE,), 9 if quick else 132)
        git(start / "clone", "remote", "set-url", "origin", "../bare.git")
        checked = skillopt(start / "clone", "nightly", "check", "--out", "../state.json", "--remote", "origin")
        if checked.returncode:
            training[1].append(f"nightly check: {checked.stderr}")
        nights = _kill_all("nightly train, offer", _Place(start), (_TRAIN, _OFFER), 6 if quick else 72)
    return (training[0], nights[0]), [*training[1], *nights[1]]


def _kill_all(name: str, start: _Place, commands: Sequence[Sequence[str]], most: int) -> tuple[ClassResult, list[str]]:
    random, tally = Random(_SEED), _Tally()
    with TemporaryDirectory(prefix="trust-kills-") as root:
        whole = _copy(start, Path(root) / "whole")
        ends = [whole.run(command) for command in commands]
        if any(end.code for end in ends):
            return ClassResult(name, 0, 0), [f"{name}: undisturbed: {(whole.folder / 'out').read_text()[-600:]}"]
        number = 0
        while tally.kills < most and len(tally.failures) < 20:  # noqa: PLR2004 - more say nothing new
            number += 1
            place = _copy(start, Path(root) / f"place{number}")
            _go_through(place, list(zip(commands, ends, strict=True)), random, tally)
            if place.branches() != whole.branches():
                tally.lost += 1
                tally.failures.append(f"{name} {number}: other branches: {place.branches()}")
            tally.failures += [f"{name} {number}: left behind: {left}" for left in place.leftovers()]
            shutil.rmtree(place.folder)
    row = ClassResult(f"kills: {name}", tally.kills, len(tally.failures), tally.lost, tally.paid_twice)
    return row, tally.failures


def _go_through(place: _Place, commands: Sequence[tuple[Sequence[str], Ended]], random: Random, tally: _Tally) -> None:
    """Run commands until each is through, with kills on the way."""
    paid, kills = 0, 0
    for command, whole in commands:
        for attempt in range(_A_PLACE + 1):
            before, sent = place.recorded(), _SIGNALS[(tally.kills) % len(_SIGNALS)]
            kill = Kill(sent, random.randint(1, max(1, whole.points))) if attempt < _A_PLACE else None
            ended = place.run(command, kill)
            paid += len(ended.paid)
            again = len(before.intersection(ended.paid))
            tally.paid_twice += again
            if ended.left or again:
                tally.failures.append(f"{command[:2]} {kill}: {ended.left} processes left, {again} calls paid again")
            if ended.code == 0:
                break
            tally.kills += 1
            kills += 1
            if kill is None or ended.code not in (-sent, 130):
                tally.failures.append(f"{command[:2]} {kill}: ended with {ended.code}: {_last_words(place)}")
    most = sum(len(whole.paid) for _, whole in commands) + kills * _IN_FLIGHT
    if paid > most:
        tally.failures.append(f"{paid} calls paid, expected at most {most}")


def _last_words(place: _Place) -> str:
    return (place.folder / "out").read_text(encoding="utf-8", errors="replace")[-1500:]


def _copy(start: _Place, folder: Path) -> _Place:
    shutil.copytree(start.folder, folder, symlinks=True)
    return _Place(folder)
