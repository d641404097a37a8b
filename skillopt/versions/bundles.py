"""Hand branches of skills over in a git bundle, and check what a bundle holds before any of it is pushed.

Invariants, whatever a bundle holds:
1. Reading one moves no branch, starts no program, and brings nothing but objects into the repository.
2. A commit that changes anything outside of its skill's folder is found, but for what the default branch has there.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from skillopt.errors import InfrastructureError, VersionConflictError
from skillopt.skills.folder import SKILL_FILE
from skillopt.versions.commit_message import single_line
from skillopt.versions.git_process import disabled_hooks, run_git, try_git
from skillopt.versions.repository import RENAMED_PATH, Repository

__all__ = ["check_commits", "read_bundle", "write_bundle"]

_REF: Final = re.compile(r"refs/heads/(?:skillopt|skillopt-draft)/[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST_COMMITS: Final = 2000
_LARGEST: Final = 500_000_000
_FETCH: Final = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--refmap=")


def write_bundle(repository: Repository, path: Path, branches: Mapping[str, str], known: Iterable[str]) -> bool:
    """Write the branches that hold something new to a bundle.

    Args:
        repository: Where they are.
        path: The file.
        branches: Commit of each branch, by its full name; each branch must be there.
        known: Commits that whoever reads it has, with all their ancestors.

    Returns:
        Whether there was anything to write; no file is made of nothing.

    Raises:
        RepositoryError: Git could not write it.
    """
    without = tuple(dict.fromkeys(sha for sha in known if sha))
    new = [
        name
        for name, tip in branches.items()
        if run_git(repository.root, "rev-list", "--max-count=1", tip, "--not", *without).strip()
    ]
    if new:
        run_git(repository.root, "bundle", "create", "--quiet", str(path.resolve()), *new, "--not", *without)
    return bool(new)


def read_bundle(repository: Repository, path: Path) -> dict[str, str]:
    """Bring what a bundle holds into a repository, and give its branches with their commits.

    Args:
        repository: Has what the bundle builds on.
        path: The file; one that is not there holds nothing.

    Raises:
        InfrastructureError: It is no bundle, is too large, names other branches than those of skills, or lacks objects.
    """
    if not path.exists():
        return {}
    if not path.is_file():
        raise InfrastructureError(f"{path}: expected a git bundle, found a folder; nothing was pushed, train again")
    if path.stat().st_size > _LARGEST:
        raise InfrastructureError(f"{path}: expected at most {_LARGEST:,} bytes, found more; nothing was pushed")
    place = str(path.resolve())
    status, out, problem = try_git(repository.root, ["bundle", "list-heads", place])
    rows = [row.split(" ", 1) for row in os.fsdecode(out).splitlines()]
    if status:
        message = f"{path}: expected a git bundle, found something else ({single_line(problem)}); nothing was pushed"
        raise InfrastructureError(message)
    strange = [name for _, name in rows if not _REF.fullmatch(name)]
    if strange:
        message = f"{path}: expected branches skillopt/* and skillopt-draft/* only, found {strange[0]!r}"
        raise InfrastructureError(f"{message}; nothing was pushed")
    env = {"GIT_ALLOW_PROTOCOL": "file", **disabled_hooks(repository.root)}
    names = [name for _, name in rows]
    strict = ["-c", "fetch.fsckObjects=true", "-c", "fetch.recurseSubmodules=false", "-c", "gc.auto=0"]
    status, _, problem = try_git(repository.root, [*strict, "fetch", *_FETCH, "--", place, *names], env=env)
    if status:
        message = (
            f"{path}: git could not read it ({single_line(problem)}); train from the remote's branches as they are"
        )
        raise InfrastructureError(f"{message} now, nothing was pushed")
    return {name: sha for sha, name in rows}


def check_commits(repository: Repository, branch: str, tip: str, path: str, known: Sequence[str]) -> None:
    """Refuse a branch that changes anything outside of its skill's folder.

    A merge may bring what the default branch has; so the folder of a merge is compared with each of its parents.

    Args:
        repository: Where it is.
        branch: Its name, for the message.
        tip: Its newest commit.
        path: The skill's folder in the repository, POSIX.
        known: Commits that the remote has; they and their ancestors are not looked at.

    Raises:
        VersionConflictError: It does.
    """
    root, without = repository.root, [sha for sha in known if sha]
    arguments = ["rev-list", "--parents", f"--max-count={_MOST_COMMITS}", tip, "--not", *without]
    listed = [row.split() for row in run_git(root, *arguments).decode().splitlines()]
    new = {row[0] for row in listed}
    for commit, *parents in listed:
        # What a merge takes from a parent that the remote lacks, too, was looked at there.
        strange = [_strays(repository, commit, parent, path) for parent in parents or [_empty_tree(root)]]
        if all(strange):
            found = f"{branch} changes {strange[0][0]!r} in {commit[:10]}, outside of {path}"
            count = f"{len(new)} commit{'' if len(new) == 1 else 's'} that the remote does not have"
            message = f"{found} ({count}); it was not pushed. Push what is not of the skill first, or train from"
            raise VersionConflictError(f"{message} the default branch")


def _strays(repository: Repository, commit: str, parent: str, path: str) -> list[str]:
    """List the files outside of a skill's folder in which a commit differs from a parent."""
    listed = run_git(repository.root, "diff-tree", "-r", "-z", "--name-only", "--no-renames", parent, commit)
    changed = [name for name in listed.decode("utf-8", "surrogateescape").split("\0") if name]
    places = [path]
    earlier = repository.commit(commit).trailer(RENAMED_PATH)
    # A skill that moved leaves its old folder, and that has no skill any more.
    if earlier and not any(file.path == SKILL_FILE for file in repository.read_folder(commit, earlier)):
        places.append(earlier)
    if "." in places:
        return []
    return [name for name in changed if not any(name.startswith(f"{place}/") for place in places)]


def _empty_tree(root: Path) -> str:
    return run_git(root, "hash-object", "-t", "tree", "--stdin").decode().strip()
