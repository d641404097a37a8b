"""The draft of a skill on the git branch `skillopt-draft/<skill>`: publish, replace, read and remove it.

It is one commit on the version that training started from. Index, work tree, HEAD and hooks are not touched.

Invariant: only a commit that training wrote is replaced or removed. A commit of a person, on top of it or in its
place, stays, and so does a branch that is checked out.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from skillopt.skills.folder import is_shipped
from skillopt.tasks import File, digest_of
from skillopt.versions.commit_message import Version, of_description
from skillopt.versions.git_process import run_git
from skillopt.versions.repository import NewVersion, Repository

__all__ = [
    "DESCRIPTION_BRANCHES",
    "DRAFT",
    "DRAFT_BRANCHES",
    "FILES_DIGEST",
    "VERSION_BRANCHES",
    "DraftBranch",
    "description_commits",
    "list_branches",
    "people_commits",
]

DRAFT: Final = "draft"
"""What users call it where a version can be named."""

DRAFT_BRANCHES: Final = "refs/heads/skillopt-draft/"

VERSION_BRANCHES: Final = "refs/heads/skillopt/"

DESCRIPTION_BRANCHES: Final = "refs/heads/skillopt-trigger/"
"""Branches of descriptions, which trigger training writes."""

_LONGEST_LINE: Final = 100
"""Commits of descriptions that are looked at."""

FILES_DIGEST: Final = "Files-Digest"
"""Trailer with the digest of the skill's files, by which a commit that somebody amended is told from ours."""


@dataclass(frozen=True, slots=True)
class DraftBranch:
    """The branch of a skill's draft."""

    repository: Repository
    skill: str
    path: str

    @property
    def name(self) -> str:
        """The name of the branch."""
        return f"skillopt-draft/{self.skill}"

    @property
    def tip(self) -> str | None:
        """Its newest commit, None when there is no branch."""
        return self.repository.ref_tip(f"{DRAFT_BRANCHES}{self.skill}")

    def read(self) -> Version | None:
        """Read the draft, None when there is none; the tip may be a commit of a person."""
        tip = self.tip
        return None if tip is None else self.repository.commit(tip)

    def publish(self, new: NewVersion) -> str:
        """Write a draft in place of the one that is there; writing it again changes nothing."""
        trailers = (*new.trailers, (FILES_DIGEST, _digest(new.files)))
        commit = self.repository.write_commit(replace(new, trailers=trailers))
        self.repository.put_branch(self.name, commit, self.is_ours)
        return commit

    def remove(self) -> None:
        """Remove the draft, if there is one."""
        self.repository.put_branch(self.name, None, self.is_ours)

    def is_ours(self, commit: str) -> bool:
        """Return whether training wrote a commit, as it is."""
        version = self.repository.commit(commit)
        if version.trailer("Skill") != self.skill or not version.trailer(FILES_DIGEST):
            return False
        before = self.repository.tree(version.parent, "") if version.parent else []
        changed = {name for _, _, name in set(self.repository.tree(commit, "")) ^ set(before)}
        prefix = "" if self.path == "." else f"{self.path}/"
        as_written = _digest(self.repository.read_folder(commit, self.path)) == version.trailer(FILES_DIGEST)
        return as_written and all(name.startswith(prefix) for name in changed)


def list_branches(repository: Repository) -> tuple[tuple[str, str], ...]:
    """List the branches of versions, drafts and descriptions, by their full names, with their newest commits."""
    ours = (VERSION_BRANCHES, DRAFT_BRANCHES, DESCRIPTION_BRANCHES)
    listed = run_git(repository.root, "for-each-ref", "--format=%(objectname) %(refname)", *ours)
    rows = (row.split(" ", 1) for row in os.fsdecode(listed).splitlines())
    return tuple((name, sha) for sha, name in rows)


def people_commits(repository: Repository, skill: str, tip: str, *options: str) -> list[str]:
    """List the commits to a tip, within what options of `rev-list` say, that are not of a skill's training."""
    ours = {version.sha for version in repository.versions(skill, tip)}
    ours |= {version.sha for version in description_commits(repository, skill, tip)}
    return [sha for sha in run_git(repository.root, "rev-list", tip, *options).decode().split() if sha not in ours]


def description_commits(repository: Repository, skill: str, tip: str) -> tuple[Version, ...]:
    """List what training and people's decisions committed for a skill's description, newest first.

    It ends with the first commit of a person.
    """
    found: list[Version] = []
    sha = tip
    while sha and len(found) < _LONGEST_LINE:
        version = repository.commit(sha)
        if version.trailer("Skill") != skill or not of_description(version):
            break
        found.append(version)
        sha = version.parent
    return tuple(found)


def _digest(files: Iterable[File]) -> str:
    contents = {file.path: file.content for file in files if is_shipped(file.path)}
    return digest_of(*(part for path in sorted(contents) for part in (path, contents[path])))
