"""Folders that the sandbox hides because expected answers lie there: repositories, suites and skills.

Of a repository that is all that reads its commits: every work tree, linked or not, the folder that they share, what it
is a submodule of, and where it borrows objects. git itself is not asked, as its files say it in plain text.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_GIT: Final = ".git"
_SHARED: Final = re.compile(r"|bin|boot|dev|etc|home|lib(32|64|x32)?|media|mnt|nix|opt|proc|run|sbin|srv|sys|usr|var")
"""Folders at the top of the system that are nobody's project as a whole."""

_named: Final = set[str]()


def hide(place: Path) -> None:
    """Hide a folder, or the folder of a file, from every program that this process starts in the sandbox."""
    real = place.resolve()
    for folder in _project(real if real.is_dir() else real.parent):
        if not any(Path(folder).is_relative_to(outer) for outer in _named):
            _named.add(folder)


def answer_folders() -> set[str]:
    """List what is hidden: the project that this process works in, and what `hide` was told."""
    return {*_named, *_project(Path.cwd())}


def _project(here: Path) -> list[str]:
    """List all that belongs to the repositories that a folder lies in, or the folder where there is none."""
    waiting, found = [folder for folder in (here, *here.parents) if (folder / _GIT).exists()] or [here], set[Path]()
    while waiting:
        folder = waiting.pop()
        if folder not in found:
            found.add(folder)
            waiting += _of_repository(folder / _GIT) if (folder / _GIT).exists() else ()
    return [
        str(folder) for folder in found if len(folder.parts) > len(("/", "usr")) or not _SHARED.fullmatch(folder.name)
    ]


def _of_repository(entry: Path) -> Iterator[Path]:
    folder = next(_read_paths(entry), entry) if entry.is_file() else entry
    common = next(_read_paths(folder / "commondir"), folder)
    borrowed = (path.parent for path in _read_paths(common / "objects/info/alternates", common / "objects"))
    for store in (common, *borrowed):
        yield store
        if _GIT in store.parts:  # also of a submodule, whose folder is `.git/modules/NAME`
            yield Path(*store.parts[: store.parts.index(_GIT)])
    for tree in common.glob("worktrees/*/gitdir"):
        yield from (path.parent for path in _read_paths(tree))


def _read_paths(file: Path, base: Path | None = None) -> Iterator[Path]:
    """Read the paths in one of git's files, a line each, that begin at its folder if nothing else is said."""
    with suppress(OSError, UnicodeError):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield Path(os.path.realpath((base or file.parent) / line.removeprefix("gitdir:").strip()))
