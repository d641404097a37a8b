"""List the versions of one skill or of many, newest first, with one git process for all."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.versions.commit_kind import of_description
from skillopt.versions.commit_message import Version, parse_message
from skillopt.versions.git_process import run_git

__all__ = ["read_histories"]

_LONGEST: Final = 1000
"""Commits of a branch that are looked at."""

_FORMAT: Final = "--format=%x00%P%x00%ct%x00%B%x00"
_FIELDS: Final = 4
_MARK: Final = b"\nSkill:"


@dataclass(frozen=True, slots=True)
class _Commit:
    """A commit: its first parent, empty for none, and what it says where that is of a skill."""

    parent: str
    version: Version | None


def read_histories(root: Path, tips: Mapping[str, str]) -> dict[str, tuple[Version, ...]]:
    """List the versions of skills, newest first: the commits of their branches that say so.

    Commits of people between or on top of them are left out.
    """
    if not tips:
        return {}
    # Branches share the history of the default branch, so that what they have in common is read once.
    few = (f"--max-count={_LONGEST}",) if len(tips) == 1 else ()
    arguments = ["rev-list", "--first-parent", "--encoding=UTF-8", *few, _FORMAT, "--stdin"]
    listed = run_git(root, *arguments, stdin="".join(f"{tip}\n" for tip in tips.values()).encode())
    commits = dict(_read_commits(listed))
    return {skill: tuple(_walk(skill, tip, commits)) for skill, tip in tips.items()}


def _read_commits(listed: bytes) -> Iterator[tuple[str, _Commit]]:
    fields = listed.split(b"\0")
    for at in range(0, len(fields) - _FIELDS + 1, _FIELDS):
        head, parents, seconds, message = fields[at : at + _FIELDS]
        sha = head.split()[-1].decode()
        parent, merged, *_ = [*parents.decode().split(" "), ""]
        version = None
        if _MARK in message:
            text = message.decode("utf-8", "replace")
            version = parse_message(sha, (parent, merged), int(seconds), text)
        yield sha, _Commit(parent, version)


def _walk(skill: str, tip: str, commits: Mapping[str, _Commit]) -> Iterator[Version]:
    """Go from commit to first parent, and yield the versions of a skill."""
    sha = tip
    for _ in range(_LONGEST):
        commit = commits.get(sha)
        if commit is None:
            return
        version = commit.version
        ours = version is not None and skill in version.values("Skill")
        if version is not None and ours and not of_description(version):
            yield version
        sha = commit.parent
