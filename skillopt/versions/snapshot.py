"""The branch tips of a repository at one moment, which name all that is accepted and committed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.versions.draft_branch import DESCRIPTION_BRANCHES, DRAFT_BRANCHES, VERSION_BRANCHES
from skillopt.versions.git_process import run_git
from skillopt.versions.repository import SKILL_NAME, Repository

__all__ = ["Snapshot", "snapshot_of"]

_REMOTE_HEAD: Final = "refs/remotes/origin/HEAD"
_REMOTE: Final = "refs/remotes/origin/"
_HEADS: Final = "refs/heads/"
_USUAL: Final = ("main", "master")
_LISTED: Final = (_HEADS, _REMOTE_HEAD, *(f"{_REMOTE}{name}" for name in _USUAL))
_OURS: Final = (VERSION_BRANCHES, DRAFT_BRANCHES, DESCRIPTION_BRANCHES)
_Tips = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository and where its branches end. What is read of equal snapshots is equal."""

    repository: Repository
    branches: _Tips
    default: str
    branch: str

    @property
    def tips(self) -> Mapping[str, str]:
        """The newest commit of every skill's branch, by the skill's name."""
        return dict(self.branches)


def snapshot_of(folder: Path) -> Snapshot:
    """Read the branch tips of the repository around a folder."""
    repository = Repository.find(folder)
    listed = run_git(repository.root, "for-each-ref", "--format=%(HEAD)|%(objectname) %(refname) %(symref)", *_LISTED)
    rows = [
        (mark, *row.split(" ")) for mark, _, row in (row.partition("|") for row in os.fsdecode(listed).splitlines())
    ]
    tips = {name: sha for _, sha, name, _ in rows}
    here = next((name for mark, _, name, _ in rows if mark == "*"), "")
    ours = (
        (name.removeprefix(VERSION_BRANCHES), sha) for name, sha in tips.items() if name.startswith(VERSION_BRANCHES)
    )
    branches = tuple((skill, sha) for skill, sha in ours if SKILL_NAME.fullmatch(skill))
    remote = next((target.removeprefix(_REMOTE) for _, _, _, target in rows if target.startswith(_REMOTE)), "")
    if remote:
        tips[f"{_REMOTE}{remote}"] = tips[_REMOTE_HEAD]
    else:  # as after `git init` and `git fetch`, which do not ask the remote for its default branch
        remote = next((name for name in _USUAL if f"{_REMOTE}{name}" in tips), "")
    # The remote says which branch is the default one, and where it ends unless what is committed here goes on from it.
    named = [name for name in (f"{_HEADS}{remote}", f"{_REMOTE}{remote}") if name in tips]
    if len(named) > 1 and not repository.contains(tips[named[0]], tips[named[1]]):
        named = named[1:]
    usual = [*(f"{_HEADS}{name}" for name in _USUAL), *([] if here.startswith(_OURS) else [here])]
    chosen = next((name for name in named or usual if name in tips), "")
    if not chosen and not here and (head := repository.head()):  # a detached HEAD
        return Snapshot(repository, branches, head, "HEAD")
    return Snapshot(repository, branches, tips.get(chosen, ""), _short(chosen))


def _short(name: str) -> str:
    return name.removeprefix(_HEADS).removeprefix("refs/remotes/")
