"""The branch tips of a repository at one moment, which name all that is accepted and committed."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.errors import RepositoryError
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


@dataclass(frozen=True, slots=True)
class _Ends:
    """Where branches end, without the repository; of two defaults the first counts if it contains the second."""

    branches: _Tips
    defaults: tuple[tuple[str, str], ...]


def snapshot_of(folder: Path) -> Snapshot:
    """Read the branch tips of the repository around a folder, with one `git for-each-ref`."""
    try:
        ends = _read_ends(folder)
    except RepositoryError:
        Repository.find(folder)  # says why there is none, and what to do
        raise
    return _snapshot(folder, ends)


# Where the repository begins is asked again when the tips change: one that is made further in has others.
@lru_cache(maxsize=1)
def _snapshot(folder: Path, ends: _Ends) -> Snapshot:
    repository = Repository.find(folder)
    default, branch = ends.defaults[0] if ends.defaults else ("", "")
    if len(ends.defaults) > 1 and not repository.contains(default, ends.defaults[1][0]):
        default, branch = ends.defaults[1]
    return Snapshot(repository, ends.branches, default, branch)


def _read_ends(folder: Path) -> _Ends:
    listed = os.fsdecode(
        run_git(folder, "for-each-ref", "--format=%(HEAD)|%(objectname) %(refname) %(symref)", *_LISTED)
    )
    rows = [(mark, *row.split(" ")) for mark, _, row in (line.partition("|") for line in listed.splitlines())]
    tips = {name: sha for _, sha, name, _ in rows}
    here = next((name for mark, _, name, _ in rows if mark == "*"), "")
    remote = next((target.removeprefix(_REMOTE) for _, _, _, target in rows if target.startswith(_REMOTE)), "")
    if remote:
        tips[f"{_REMOTE}{remote}"] = tips[_REMOTE_HEAD]
    else:  # as after `git init` and `git fetch`, which do not ask the remote for its default branch
        remote = next((name for name in _USUAL if f"{_REMOTE}{name}" in tips), "")
    # The remote says which branch is the default one, and where it ends unless what is committed here goes on from it.
    named = [f"{_HEADS}{remote}", f"{_REMOTE}{remote}"] if remote else []
    defaults = tuple((tips[name], _short(name)) for name in named if name in tips)
    if not defaults:
        named = [*(f"{_HEADS}{name}" for name in _USUAL), *(() if here.startswith(_OURS) else (here,))]
        defaults = tuple((tips[name], _short(name)) for name in named if name in tips)[:1]
    if not defaults and not here and (head := Repository(folder).head()):  # a detached HEAD
        defaults = ((head, "HEAD"),)
    return _Ends(_below(tips, VERSION_BRANCHES), defaults)


def _short(name: str) -> str:
    return name.removeprefix(_HEADS).removeprefix("refs/remotes/")


def _below(tips: Mapping[str, str], prefix: str) -> _Tips:
    found = ((name.removeprefix(prefix), sha) for name, sha in tips.items() if name.startswith(prefix))
    return tuple((skill, sha) for skill, sha in found if SKILL_NAME.fullmatch(skill))
