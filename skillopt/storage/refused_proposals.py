"""Proposals that were refused because they repeat text of tasks; each tells something, so it is counted."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from skillopt.storage.locks import state_folder

__all__ = ["MOST_A_DAY", "count_refused", "note_refused"]

MOST_A_DAY: Final = 20
"""Refusals of this kind in 24 hours, for one skill and suite, after which no proposal is looked at."""


def note_refused(root: Path, skill: str, suite_digest: str, proposal: str, now: datetime | None = None) -> None:
    """Note a refusal; the same proposal again tells nothing new and counts once."""
    place = _place(root, skill, suite_digest)
    if proposal in {known for known, _ in _read(place)}:
        return
    state_folder(root)
    place.parent.mkdir(exist_ok=True)
    with place.open("a", encoding="utf-8") as file:  # one short line at a time is written whole
        file.write(f"{proposal} {(now or datetime.now(UTC)).isoformat(timespec='seconds')}\n")


def count_refused(root: Path, skill: str, suite_digest: str, now: datetime | None = None) -> tuple[int, int]:
    """Count the refusals: all of them, and those of the last 24 hours."""
    times = [at for _, at in _read(_place(root, skill, suite_digest))]
    since = (now or datetime.now(UTC)) - timedelta(days=1)
    return len(times), sum(at >= since for at in times)


def _place(root: Path, skill: str, suite_digest: str) -> Path:
    return root / ".skillopt" / "refused" / f"{skill}-{suite_digest[:12]}"


def _read(place: Path) -> list[tuple[str, datetime]]:
    try:
        rows = [line.split() for line in place.read_text(encoding="utf-8").splitlines()]
        return [(row[0], datetime.fromisoformat(row[1])) for row in rows if len(row) == 2]  # noqa: PLR2004 - as written
    except (OSError, ValueError):
        return []
