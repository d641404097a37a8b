"""The branch tips of a repository at one moment, which name all of its accepted versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from skillopt.errors import RepositoryError
from skillopt.versions.repository import Repository

__all__ = ["Snapshot", "snapshot_of"]

_Tips = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A repository and where its skills' branches end. What is read of equal snapshots is equal.

    Args:
        repository: The repository.
        branches: (skill, newest commit) of every skill's branch.
    """

    repository: Repository
    branches: _Tips

    @property
    def tips(self) -> Mapping[str, str]:
        """Give the newest commit of every skill's branch, by the skill's name."""
        return dict(self.branches)


def snapshot_of(folder: Path) -> Snapshot:
    """Read the branch tips of the repository around a folder, with one `git for-each-ref`.

    Raises:
        RepositoryError: There is no repository, or git cannot list its branches.
    """
    try:
        tips = Repository(folder).tips()
    except RepositoryError:
        Repository.find(folder)  # says why there is none, and what to do
        raise
    return _snapshot(folder, tuple(tips.items()))


# Where the repository begins is asked again when the tips change: one that is made further in has others.
@lru_cache(maxsize=1)
def _snapshot(folder: Path, branches: _Tips) -> Snapshot:
    return Snapshot(Repository.find(folder), branches)
