"""Progress of a background job as its own process writes it down: how far its batch is, and what was consumed.

A job's process names its folder once; whatever follows the work then notes progress there. Elsewhere notes go nowhere.
"""

import json
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final

from skillopt.rollouts import Usage

__all__ = ["JobProgress", "note_progress", "note_progress_in", "read_progress"]

_FILE: Final = "progress.json"
_FOLDER: ContextVar[Path | None] = ContextVar("folder of the job that this process is", default=None)


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a job is."""

    place: str = ""
    kind: str = ""
    done: int = 0
    total: int = 0
    asked: int = 0
    spent: Usage = field(default_factory=Usage)
    roles: Mapping[str, Usage] = field(default_factory=dict)
    news: int = 0


def note_progress_in(folder: Path) -> None:
    """Have this process note its progress in a job's folder from now on."""
    _FOLDER.set(folder)


def note_progress(progress: JobProgress) -> None:
    """Write down how far the job is that this process is; do nothing where it is none, or cannot."""
    folder = _FOLDER.get()
    if folder is None:
        return
    aside = folder / f"{_FILE}.new"
    try:
        aside.write_text(json.dumps(asdict(progress)), encoding="utf-8")
        aside.replace(folder / _FILE)
    except OSError:  # a full disk stops the work elsewhere, with a message
        return


def read_progress(folder: Path) -> JobProgress | None:
    """Read how far a job is; None before its first note, or where another version of the program wrote it."""
    try:
        loaded = json.loads((folder / _FILE).read_text(encoding="utf-8"))
        roles = {str(role): Usage(**usage) for role, usage in loaded["roles"].items()}
        return JobProgress(**{**loaded, "spent": Usage(**loaded["spent"]), "roles": roles})
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
