"""A project as git has it at a moment, kept for as long as nothing in it moves.

Owns what has to be unchanged for that: the branches of skills, the repository and skillopt.toml. Starting git
takes longer than most answers that need it, and a client asks several things at once. Does not own what is
done with it (serving).
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from skillopt.project import CONFIG, SKILL_FOLDERS, Project
from skillopt.stamps import Stamp
from skillopt.versions import Repository

__all__ = ["Snapshot", "configured_folder", "known_snapshot", "snapshot_of"]

_MOST = 16  # projects
_kept: dict[Path, tuple[Stamp, "Snapshot"]] = {}


class Snapshot:
    """A project at a moment.

    Args:
        folder: A folder of the project.
        repository: The repository around it.
    """

    def __init__(self, folder: Path, repository: Repository) -> None:
        self._folder = folder
        self._places: dict[str, tuple[str, ...]] = {}
        self.repository = repository
        self.tips = repository.tips()

    @cached_property
    def project(self) -> Project:
        """Give the project's configuration.

        Raises:
            SettingsError: It cannot be read.
        """
        return Project.find(self._folder)

    def places(self, name: str) -> tuple[str, ...]:
        """List where in the repository a skill may lie: as configured, else by convention.

        Raises:
            RepositoryError: It is configured to lie outside.
        """
        if name not in self._places:
            configured = (self.repository.relative(folder) for folder in self._folders if folder.name == name)
            self._places[name] = (*configured, *(f"{parent}/{name}" for parent in SKILL_FOLDERS))
        return self._places[name]

    @cached_property
    def _folders(self) -> tuple[Path, ...]:
        return tuple(configured_folder(self.project, name) for name in self.project.entries)


def snapshot_of(folder: Path) -> Snapshot:
    """Give the project around a folder as it is now, without starting git when nothing moved since the last time.

    Raises:
        RepositoryError: There is no repository.
    """
    known = known_snapshot(folder)
    if known is not None:
        return known
    repository = Repository.find(folder)
    # Taken before anything is read, so that what changes in between is seen the next time.
    stamp = Stamp.take(_watched(folder, repository))
    snapshot = Snapshot(folder, repository)
    if len(_kept) >= _MOST:
        _kept.clear()
    _kept[folder] = stamp, snapshot
    return snapshot


def known_snapshot(folder: Path) -> Snapshot | None:
    """Give the snapshot that was made last when nothing moved since; git is never started."""
    kept = _kept.get(folder)
    return kept[1] if kept is not None and kept[0].holds() else None


def configured_folder(project: Project, name: str) -> Path:
    """Give the folder of a configured skill."""
    return (project.root / str(project.entries[name].get("path", f"skills/{name}"))).resolve()


def _watched(folder: Path, repository: Repository) -> Iterator[Path]:
    """List what changes when another snapshot is due."""
    yield from repository.moving_paths()
    yield repository.root / CONFIG
    root = repository.root.resolve()
    # A repository that is made further in is the one that counts from then on.
    for inner in (folder.resolve(), *folder.resolve().parents):
        if inner == root:
            break
        yield inner / ".git"
