"""Propose removals of skills on the git branch `skillopt-audit/removals`: one commit on the default branch.

Index, work tree, HEAD and hooks are not touched.

Invariant: only a commit that an audit wrote is replaced. A commit of a person, on top of it or in its place, stays, and
so does a branch that is checked out.
"""

import os
import posixpath
from dataclasses import dataclass
from typing import Final

from skillopt.errors import VersionConflictError
from skillopt.versions.commit_message import compose_message
from skillopt.versions.git_process import disabled_hooks, run_git
from skillopt.versions.objects import LINK, read_objects
from skillopt.versions.repository import Repository

__all__ = ["REMOVAL_BRANCH", "REMOVED", "Removal", "RemovalBranch", "links_into"]

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


def links_into(repository: Repository, commit: str, folders: tuple[str, ...]) -> list[str]:
    """List the symbolic links of a commit outside of some folders that lead into them."""
    linked = [(name, sha) for mode, sha, name in repository.tree(commit, "") if mode == LINK]
    led = zip(linked, read_objects(repository.root, [sha for _, sha in linked]), strict=True)
    ends = {name: posixpath.join(posixpath.dirname(name), os.fsdecode(content)) for (name, _), content in led}
    return [
        name for name, end in ends.items() if not _inside(name, folders) and _inside(posixpath.normpath(end), folders)
    ]


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
        root, base = self.repository.root, removal.base
        env = disabled_hooks(root) | self.repository.signature(self.repository.commit(base).at)
        gone = [name for _, _, name in self.repository.tree(base, "") if _inside(name, removal.folders)]
        gone += links_into(self.repository, base, removal.folders)
        files = [("100644", name, content) for name, content in removal.files]
        tree = self.repository.write_tree(base, gone, files, env)
        trailers = (*((REMOVED, skill) for skill in removal.skills), (_TREE, tree))
        message = compose_message(removal.subject, removal.body, trailers).encode("utf-8", "replace")
        return run_git(root, "commit-tree", "-p", base, "-F", "-", tree, stdin=message, env=env).decode().strip()

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
        self.repository.put_branch(REMOVAL_BRANCH, commit, self.is_ours)


def _inside(name: str, folders: tuple[str, ...]) -> bool:
    return any(name == folder or name.startswith(f"{folder}/") for folder in folders)
