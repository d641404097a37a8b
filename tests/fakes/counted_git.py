"""A git on the PATH that notes each of its starts and then does what git does."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

__all__ = ["CountedGit"]

_OPTIONS = {"-C", "-c"}
"""Options before the command that take a value."""


@dataclass(frozen=True, slots=True)
class CountedGit:
    """The starts of git by processes that have its folder first on their PATH."""

    log: Path

    @classmethod
    def install(cls, folder: Path, monkeypatch: pytest.MonkeyPatch) -> "CountedGit":
        """Put it on the PATH."""
        real, log = shutil.which("git"), folder / "starts"
        program = folder / "bin" / "git"
        program.parent.mkdir(parents=True)
        log.touch()
        program.write_text(f"#!/bin/sh\necho \"$*\" >> '{log}'\nexec '{real}' \"$@\"\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        return cls(log)

    def clear(self) -> None:
        """Forget what was started."""
        self.log.write_text("")

    @property
    def commands(self) -> list[str]:
        """The git commands that were started, in their order."""
        return [_command(line.split()) for line in self.log.read_text().splitlines()]


def _command(words: list[str]) -> str:
    at = 0
    while words[at].startswith("-"):
        at += 2 if words[at] in _OPTIONS else 1
    return words[at]
