"""Branches of versions and drafts: their names, where they end, and how ours are replaced.

Index, work tree, HEAD and hooks are not touched.

Invariant: only a commit that training wrote is replaced or removed. A commit of a person, on top of it or
in its place, stays, and so does a branch that is checked out.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final

from skillopt.errors import VersionConflictError
from skillopt.skills.folder import SKILL_FILE, is_shipped
from skillopt.skills.trained_files import SkillPlace
from skillopt.tasks import File, digest_of
from skillopt.versions.commit_message import Version
from skillopt.versions.git_process import run_git
from skillopt.versions.repository import SKILL_NAME, NewVersion, Repository

DRAFT: Final = "draft"
"""What users call it where a version can be named."""

DRAFT_BRANCHES: Final = "refs/heads/skillopt-draft/"

VERSION_BRANCHES: Final = "refs/heads/skillopt/"

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
        self._put(commit)
        return commit

    def remove(self) -> None:
        """Remove the draft, if there is one."""
        self._put(None)

    def _put(self, commit: str | None) -> None:
        """Move the branch, or remove it, unless a person has committed there or it is checked out."""
        tip = self.tip
        if tip == commit:
            return
        if tip is not None and not self.is_ours(tip):
            found = f"{self.name} has commits of people ({tip[:10]}); it was left alone"
            raise VersionConflictError(f"{found}. Rename it to keep them: git branch -m {self.name} MY-NAME")
        self.repository.move_branch(f"{DRAFT_BRANCHES}{self.skill}", tip, commit)

    def is_ours(self, commit: str) -> bool:
        """Return whether training wrote a commit, as it is."""
        version = self.repository.commit(commit)
        if version.trailer("Skill") != self.skill or not version.trailer(FILES_DIGEST):
            return False
        before = self.repository.tree(version.parent, "") if version.parent else []
        changed = {name for _, _, name in set(self.repository.tree(commit, "")) ^ set(before)}
        as_written = _digest(self.repository.read_folder(commit, self.path)) == version.trailer(FILES_DIGEST)
        return as_written and all(map(SkillPlace.parse(self.path).holds, changed))


def people_commits(repository: Repository, skill: str, tip: str, *options: str) -> list[str]:
    """List the commits to a tip, within what options of `rev-list` say, that are not of a skill's training."""
    ours = {version.sha for version in repository.versions(skill, tip)}
    return [sha for sha in run_git(repository.root, "rev-list", tip, *options).decode().split() if sha not in ours]


def document_on(repository: Repository, skill: str, tip: str) -> str:
    """Return the path of the SKILL.md that the newest commit of a skill changed on a branch; empty for none."""
    asked = ("--first-parent", "-m", "--no-renames", "--diff-filter=AM", "--format=", "--name-only", "-z")
    listed = os.fsdecode(run_git(repository.root, "log", *asked, "-20", f"--grep=^Skill: {skill}$", tip))
    names = (name.strip("\n") for name in listed.split("\0"))
    return next((name for name in names if PurePosixPath(name).name == SKILL_FILE), "")


def find_removal(repository: Repository, tip: str, path: str) -> tuple[str, str]:
    """Return the commit before a tip that removed a file, and to where it moved it, as git detects renames."""
    root, one = repository.root, ("--first-parent", "-m", "-1", "--format=%H")
    commit = run_git(root, "log", *one, "--no-renames", "--diff-filter=D", tip, "--", path).decode().strip()
    if not commit:
        return "", ""
    asked = ("-r", "-M", "-z", "--name-status", "--diff-filter=R", f"{commit}^1", commit)
    fields = os.fsdecode(run_git(root, "diff-tree", *asked)).split("\0")
    moved = dict(zip(fields[1::3], fields[2::3], strict=False))
    return commit, moved.get(path, "")


def find_line_removal(repository: Repository, tip: str, path: str, line: str) -> Version | None:
    """Return the commit of people before a tip that took a line out of a skill; None where it never was there."""
    place = SkillPlace.parse(path)
    asked = ("log", "-1", "--format=%H", f"-S{line}", tip, "--", *(place.trained if place.free else (place.folder,)))
    commit = run_git(repository.root, *asked).decode().strip()
    found = repository.commit(commit) if commit else None
    return None if found is None or found.trailer("Skill") else found


def _digest(files: Iterable[File]) -> str:
    contents = {file.path: file.content for file in files if is_shipped(file.path)}
    return digest_of(*(part for path in sorted(contents) for part in (path, contents[path])))


_REMOTE_HEAD: Final = "refs/remotes/origin/HEAD"
_REMOTE: Final = "refs/remotes/origin/"
_HEADS: Final = "refs/heads/"
_USUAL: Final = ("main", "master")
_LISTED: Final = (_HEADS, _REMOTE_HEAD, *(f"{_REMOTE}{name}" for name in _USUAL))
_OURS: Final = (VERSION_BRANCHES, DRAFT_BRANCHES)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository and where its branches end. What is read of equal snapshots is equal."""

    repository: Repository
    branches: tuple[tuple[str, str], ...]
    default: str
    branch: str

    @property
    def tips(self) -> Mapping[str, str]:
        """The newest commit of every skill's branch, by the skill's name."""
        return dict(self.branches)


def snapshot_of(repository: Repository) -> Snapshot:
    """Read the branch tips of a repository, with one process where it has no remote or knew these tips before."""
    listed = run_git(repository.root, "for-each-ref", "--format=%(HEAD)|%(objectname) %(refname) %(symref)", *_LISTED)
    rows = [
        (mark, *row.split(" ")) for mark, _, row in (row.partition("|") for row in os.fsdecode(listed).splitlines())
    ]
    tips = {name: sha for _, sha, name, _ in rows}
    here = next((name for mark, _, name, _ in rows if mark == "*"), "")
    ours = (
        (name.removeprefix(VERSION_BRANCHES), sha) for name, sha in tips.items() if name.startswith(VERSION_BRANCHES)
    )
    branches = tuple(row for row in ours if SKILL_NAME.fullmatch(row[0]))
    remote = next((target.removeprefix(_REMOTE) for _, _, _, target in rows if target.startswith(_REMOTE)), "")
    if remote:
        tips[f"{_REMOTE}{remote}"] = tips[_REMOTE_HEAD]
    else:  # as after `git init` and `git fetch`, which do not ask the remote for its default branch
        remote = next((name for name in _USUAL if f"{_REMOTE}{name}" in tips), "")
    # The remote says which branch is the default one, and where it ends unless what is committed here goes on from it.
    named = [name for name in (f"{_HEADS}{remote}", f"{_REMOTE}{remote}") if name in tips]
    if len(named) > 1 and not _goes_on(repository, tips[named[0]], tips[named[1]]):
        named = named[1:]
    usual = [*(f"{_HEADS}{name}" for name in _USUAL), *([] if here.startswith(_OURS) else [here])]
    chosen = next((name for name in named or usual if name in tips), "")
    if not chosen and not here and (head := repository.head()):  # a detached HEAD
        return Snapshot(repository, branches, head, "HEAD")
    shown = chosen.removeprefix(_HEADS).removeprefix("refs/remotes/")
    return Snapshot(repository, branches, tips.get(chosen, ""), shown)


@lru_cache(maxsize=8)
def _goes_on(repository: Repository, tip: str, commit: str) -> bool:
    return repository.contains(tip, commit)
