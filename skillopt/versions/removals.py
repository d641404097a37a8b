"""Propose removals of skills on the git branch `skillopt-audit/removals`: one commit on the default branch.

Index, work tree, HEAD and hooks are not touched.

Invariant: only a commit that an audit wrote is replaced. A commit of a person, on top of it or in its place, stays, and
so does a branch that is checked out.
"""

import os
import posixpath
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from skillopt.errors import RepositoryError, VersionConflictError
from skillopt.versions.commit_message import compose_message
from skillopt.versions.git_process import disabled_hooks, run_git, translate_write_errors
from skillopt.versions.objects import LINK, follow_links, read_objects, write_blobs
from skillopt.versions.repository import Repository

__all__ = ["REMOVAL_BRANCH", "REMOVED", "LinkedTree", "Removal", "RemovalBranch"]

REMOVAL_BRANCH: Final = "skillopt-audit/removals"

REMOVED: Final = "Removed-Skill"
"""Trailer with the name of a skill and the digest of the text that was audited; one for each skill."""

_TREE: Final = "Audit-Tree"
"""Trailer with the tree of the commit, by which a commit that somebody amended is told from ours."""

_REF: Final = f"refs/heads/{REMOVAL_BRANCH}"


@dataclass(frozen=True, slots=True)
class Removal:
    """Skills to be removed."""

    base: str
    folders: tuple[str, ...]
    files: tuple[tuple[str, bytes], ...]
    subject: str
    body: str
    skills: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkedTree:
    """The files of a commit, and where its symbolic links lead."""

    files: frozenset[str]
    links: Mapping[str, str]

    @classmethod
    def read(cls, repository: Repository, commit: str) -> Self:
        """Read them from git."""
        rows = repository.tree(commit, "")
        linked = [(name, sha) for mode, sha, name in rows if mode == LINK]
        said = read_objects(repository.root, [sha for _, sha in linked])
        links = {name: os.fsdecode(content) for (name, _), content in zip(linked, said, strict=True)}
        return cls(frozenset(name for mode, _, name in rows if mode != LINK), links)

    def into(self, folders: tuple[str, ...]) -> tuple[str, ...]:
        """List the links outside of some folders that lead into them, which their removal deletes."""
        return tuple(
            name
            for name, led in self.links.items()
            if not _inside(name, folders)
            and _inside(posixpath.normpath(posixpath.join(posixpath.dirname(name), led)), folders)
        )

    def lost_by(self, kept: str, removed: str) -> str:
        """Name a file or link of a folder that stays which goes with one that is removed; empty for none."""
        gone = self.into((removed,))
        if direct := [name for name in gone if kept == "." or _inside(name, (kept,))]:
            return min(direct)
        after = LinkedTree(
            frozenset(name for name in self.files if not _inside(name, (removed,))),
            {name: led for name, led in self.links.items() if name not in gone and not _inside(name, (removed,))},
        )
        start = "" if kept == "." else f"{kept}/"
        left = follow_links(after.files, after.links, kept)
        lost = (f"{start}{shown}" for shown in follow_links(self.files, self.links, kept) if shown not in left)
        return min((name for name in lost if not _inside(name, (removed,))), default="")


@dataclass(frozen=True, slots=True)
class RemovalBranch:
    """The branch of removals, here and on a remote."""

    repository: Repository

    @property
    def tip(self) -> str:
        """Its newest commit here, empty when there is no branch."""
        return self.repository.ref_tip(_REF) or ""

    def write(self, removal: Removal) -> str:
        """Write the commit, which no branch leads to yet; the same removal gives the same commit.

        Links that lead into a removed folder go with it.
        """
        root, at = self.repository.root, self.repository.commit(removal.base).at
        env = disabled_hooks(root) | self.repository.signature(at)
        tree = self._write_tree(removal, env)
        trailers = (*((REMOVED, skill) for skill in removal.skills), (_TREE, tree))
        message = compose_message(removal.subject, removal.body, trailers).encode("utf-8", "replace")
        return (
            run_git(root, "commit-tree", "-p", removal.base, "-F", "-", tree, stdin=message, env=env).decode().strip()
        )

    def is_ours(self, commit: str) -> bool:
        """Return whether an audit wrote a commit, as it is."""
        tree = self.repository.commit(commit).trailer(_TREE)
        return bool(tree) and tree == run_git(self.repository.root, "rev-parse", f"{commit}^{{tree}}").decode().strip()

    def still_fits(self, commit: str, removal: Removal) -> bool:
        """Return whether a commit removes the same from an older commit, in which nothing of it was different."""
        version = self.repository.commit(commit)
        same = self.is_ours(commit) and version.values(REMOVED) == removal.skills
        if not same or not self.repository.contains(removal.base, version.parent):
            return False
        places = (*removal.folders, *(name for name, _ in removal.files))
        tree = self.repository.tree
        return all(tree(version.parent, place) == tree(removal.base, place) for place in places)

    def check(self, tip: str, where: str) -> None:
        """Refuse to replace what an audit did not write."""
        if tip and not self.is_ours(tip):
            message = f"{REMOVAL_BRANCH} {where} has commits of people ({tip[:10]}); it was left alone"
            raise VersionConflictError(f"{message}. Merge it, rename it or delete it, then run this again")

    def publish(self, commit: str) -> None:
        """Move the branch here to a commit."""
        tip = self.tip
        if tip == commit:
            return
        self.check(tip, "here")
        if place := self.repository.checked_out_in(_REF):
            message = f"expected branch {REMOVAL_BRANCH} free to move, found it checked out in {place}"
            raise VersionConflictError(f"{message}; switch to another branch there, then run this again")
        if problem := self.repository.move_branch(_REF, tip or None, commit):
            raise RepositoryError(f"{problem}; mend that and run this again")

    def _write_tree(self, removal: Removal, env: dict[str, str]) -> str:
        root, base = self.repository.root, removal.base
        tree = LinkedTree.read(self.repository, base)
        gone = [name for name in (*tree.files, *tree.links) if _inside(name, removal.folders)]
        gone += tree.into(removal.folders)
        rows = [f"0 {'0' * len(base)}\t{name}\0" for name in gone]
        with translate_write_errors(), tempfile.TemporaryDirectory(prefix="skillopt-git-") as folder:
            shas = write_blobs(root, [content for _, content in removal.files], Path(folder))
            rows += [f"100644 {sha}\t{name}\0" for sha, (name, _) in zip(shas, removal.files, strict=True)]
            private = {**env, "GIT_INDEX_FILE": str(Path(folder) / "index")}
            run_git(root, "read-tree", base, env=private)
            listed = "".join(rows).encode("utf-8", "surrogateescape")
            run_git(root, "update-index", "-z", "--index-info", stdin=listed, env=private)
            return run_git(root, "write-tree", env=private).decode().strip()


def _inside(name: str, folders: tuple[str, ...]) -> bool:
    return any(name == folder or name.startswith(f"{folder}/") for folder in folders)
