"""Find the commit that people worked on at some time, and read files as they were there."""

import os
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from skillopt.tasks import File
from skillopt.versions.git_process import run_git, try_git
from skillopt.versions.objects import read_objects, size_objects
from skillopt.versions.repository import Repository

__all__ = ["commit_at", "files_at", "worktree_roots"]

_LARGEST: Final = 64_000
_LARGEST_TOGETHER: Final = 200_000
_MOST: Final = 20


def commit_at(repository: Repository, time: str, branch: str = "", commit: str = "") -> str:
    """Return the commit that was checked out at a time, as well as it is known; empty for none."""
    if commit and commit.isalnum() and (found := repository.ref_tip(commit)):
        return found
    try:
        seconds = int(datetime.fromisoformat(time).timestamp())
    except (ValueError, OverflowError):
        return ""
    named = branch if branch.isprintable() and not branch.startswith("-") else ""
    tip = (repository.ref_tip(f"refs/heads/{named}") if named else None) or repository.head()
    if tip is None:
        return ""
    return run_git(repository.root, "rev-list", "-1", f"--before={seconds}", "--end-of-options", tip).decode().strip()


def files_at(repository: Repository, commit: str, paths: Iterable[str], left_out: Iterable[str]) -> tuple[File, ...]:
    """Read text files as a commit has them; what is not there, is no text or is large is left out."""
    there = {name: sha for mode, sha, name in repository.tree(commit, "") if mode.startswith("100")}
    closed = tuple(f"{folder.rstrip('/')}/" for folder in left_out if folder not in {"", "."})
    names = [name for name in dict.fromkeys(paths) if name in there and not name.startswith(closed)]
    sizes = size_objects(repository.root, [there[name] for name in names]) if names else []
    chosen, total = list[str](), 0
    for name, size in zip(names, sizes, strict=False):
        if size <= _LARGEST and total + size <= _LARGEST_TOGETHER and len(chosen) < _MOST:
            chosen.append(name)
            total += size
    contents = read_objects(repository.root, [there[name] for name in chosen])
    return tuple(File(name, content) for name, content in zip(chosen, contents, strict=True) if _is_text(content))


def worktree_roots(repository: Repository) -> tuple[str, ...]:
    """List the folders in which the repository is checked out."""
    status, out, _ = try_git(repository.root, ["worktree", "list", "--porcelain"])
    rows = os.fsdecode(out).splitlines() if status == 0 else []
    return tuple(dict.fromkeys((str(repository.root), *(row[9:] for row in rows if row.startswith("worktree ")))))


def _is_text(content: bytes) -> bool:
    try:
        return "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False
