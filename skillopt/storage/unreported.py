"""Runs that finished and whose result nobody was shown yet: a kill in between must not begin another run."""

from contextlib import suppress
from pathlib import Path

from skillopt.storage.locks import state_folder

__all__ = ["is_unreported", "mark_reported", "mark_unreported"]


def mark_unreported(root: Path, run: str) -> None:
    """Note, before a run is recorded as finished, that its result is still to be shown."""
    folder = state_folder(root) / "unreported"
    folder.mkdir(exist_ok=True)
    (folder / run).touch()


def mark_reported(root: Path, run: str) -> None:
    """Note that the result of a run was shown; one that is shown again is no mistake."""
    with suppress(OSError):  # in a folder that cannot be written it is shown once more, for nothing
        _place(root, run).unlink(missing_ok=True)


def is_unreported(root: Path, run: str) -> bool:
    """Return whether nobody was shown the result of a run."""
    return _place(root, run).exists()


def _place(root: Path, run: str) -> Path:
    return root / ".skillopt" / "unreported" / run
