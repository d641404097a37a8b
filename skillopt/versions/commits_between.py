"""Commits of a skill's branch that a revision does not have, on the branch's own line, with their authors."""

import os
from dataclasses import dataclass

from skillopt.versions.commit_message import Version, parse_commit
from skillopt.versions.git_process import run_git
from skillopt.versions.objects import read_objects
from skillopt.versions.repository import Repository

__all__ = ["BranchCommit", "commits_between"]

_MOST = 500


@dataclass(frozen=True, slots=True)
class BranchCommit:
    """A commit with the name of its author, which is untrusted, and all its parents."""

    commit: Version
    author: str
    parents: tuple[str, ...]


def commits_between(repository: Repository, base: str, tip: str) -> tuple[BranchCommit, ...]:
    """List the commits from a base to a tip, oldest first, without those that came in by merges."""
    without = ["--not", base] if base else []
    arguments = ["log", "--first-parent", f"--max-count={_MOST}", "--format=%H%x00%an%x00%P", tip, *without, "--"]
    rows = [row.split("\0") for row in os.fsdecode(run_git(repository.root, *arguments)).splitlines() if row]
    contents = read_objects(repository.root, [sha for sha, *_ in rows])
    found = [
        BranchCommit(parse_commit(sha, content.decode("utf-8", "replace")), author, tuple(parents.split()))
        for (sha, author, parents), content in zip(rows, contents, strict=True)
    ]
    return tuple(reversed(found))
