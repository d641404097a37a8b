"""Folders with a clone and its remote, in which commands are killed: what is in them, and what was left behind."""

import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.trust.projects import git, make_project

_SECONDS: Final = 120
_LOOKS: Final = 3


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with a clone `clone` of the remote `bare.git`, and temporary files of its own in `tmp`."""

    folder: Path

    @staticmethod
    def make(folder: Path) -> "Place":
        """Make one, of a small project."""
        (folder / "tmp").mkdir(parents=True)
        made = make_project(folder / "made", tasks=8)
        git(folder, "clone", "--quiet", "--bare", str(made), "bare.git")
        shutil.rmtree(made)
        git(folder, "clone", "--quiet", str(folder / "bare.git"), "clone")
        git(folder / "clone", "remote", "set-url", "origin", "../bare.git")
        return Place(folder)

    def copy(self, folder: Path) -> "Place":
        """Copy it."""
        shutil.copytree(self.folder, folder, symlinks=True)
        return Place(folder)

    @property
    def clone(self) -> Path:
        """The clone."""
        return self.folder / "clone"

    @property
    def environment(self) -> dict[str, str]:
        """What is changed in the environment of commands here."""
        return {"TMPDIR": str(self.folder / "tmp")}

    def recorded(self) -> frozenset[str]:
        """Return the keys of the recorded calls."""
        path = self.clone / ".skillopt" / "ledger.db"
        if not path.exists():
            return frozenset()
        with closing(sqlite3.connect(path)) as ledger:
            if not ledger.execute("SELECT 1 FROM sqlite_master WHERE name = 'calls'").fetchone():
                return frozenset()
            return frozenset(key for (key,) in ledger.execute("SELECT key FROM calls"))

    def branches(self) -> tuple[str, ...]:
        """Return the trees of all branches, here and in the remote; none of them says when it was made."""
        return tuple(
            f"{name} {' '.join(git(where, 'log', '--format=%T', name).split())}"
            for where in (self.clone, self.folder / "bare.git")
            for name in git(where, "for-each-ref", "--format=%(refname)", "refs/heads").split()
        )

    def leftovers(self) -> Iterator[str]:
        """Name what should not be there."""
        yield from (str(path.relative_to(self.folder)) for path in sorted((self.folder / "tmp").iterdir()))
        yield from (str(path.relative_to(self.folder)) for path in self.clone.glob(".git/**/*.lock"))
        yield from (str(path.relative_to(self.folder)) for path in self.clone.glob(".git/worktrees/*"))
        yield from (f"process {process}" for process in self._processes())
        for where in (self.clone, self.folder / "bare.git"):
            said = git(where, "fsck", "--strict", "--no-dangling", "--no-progress")
            yield from [f"git fsck: {said}"] if said else []
        with closing(sqlite3.connect(self.clone / ".skillopt" / "ledger.db")) as ledger:
            sound = ledger.execute("PRAGMA integrity_check").fetchone()[0]
        yield from [] if sound == "ok" else [f"ledger: {sound}"]

    def wait_until_alone(self, but: int = 0) -> None:
        """Wait until no process but one works in this folder."""
        latest, idle = time.monotonic() + _SECONDS, 0
        while idle < _LOOKS:  # between two looks of one a process may have forked and ended
            working = [process for process in self._processes() if process != but]
            idle = 0 if working else idle + 1
            if time.monotonic() > latest:
                raise TimeoutError(f"expected the processes in {self.folder} to end, found {working}")
            time.sleep(0.02)

    def last_words(self) -> str:
        """Return the end of what commands printed here."""
        return (self.folder / "out").read_text(encoding="utf-8", errors="replace")[-1500:]

    def _processes(self) -> list[int]:
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and self._holds(entry)]

    def _holds(self, entry: Path) -> bool:
        try:
            return (entry / "cwd").readlink().is_relative_to(self.folder.resolve())
        except OSError:  # it has ended, or is somebody else's
            return False
