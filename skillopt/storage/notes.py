"""Small notes of a skill below `.skillopt/`, such as refused proposals, and of runs whose result nobody saw yet.

A note is a line of JSON, which is written at once, so that two processes do not mix their lines; half a line of a
process that was killed is passed over.
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from skillopt.errors import UsageError
from skillopt.storage.locks import state_folder

MOST_A_DAY: Final = 20
"""Refusals of this kind in 24 hours, for one skill and suite, after which no proposal is looked at."""

_REFUSED: Final = "refused"
_UNREPORTED: Final = "unreported"


def note_refused(root: Path, skill: str, suite_digest: str, proposal: str, now: datetime | None = None) -> None:
    """Note that a proposal repeats text of tasks; the same one again tells nothing new and counts once."""
    name = f"{skill}-{suite_digest[:12]}"
    if proposal not in {known for known, _ in _refusals(root, name)}:
        append_note(root, _REFUSED, name, [proposal, (now or datetime.now(UTC)).isoformat(timespec="seconds")])


def count_refused(root: Path, skill: str, suite_digest: str) -> tuple[int, int]:
    """Count the refused proposals: all of them, and those of the last 24 hours."""
    times = [at for _, at in _refusals(root, f"{skill}-{suite_digest[:12]}")]
    since = datetime.now(UTC) - timedelta(days=1)
    return len(times), sum(at >= since for at in times)


def mark_unreported(root: Path, run: str) -> None:
    """Note, before a run is recorded as finished, that its result is still to be shown: a kill may come in between."""
    folder = state_folder(root) / _UNREPORTED
    folder.mkdir(exist_ok=True)
    (folder / run).touch()


def mark_reported(root: Path, run: str) -> None:
    """Note that the result of a run was shown; one that is shown again is no mistake."""
    with suppress(OSError):  # in a folder that cannot be written it is shown once more, for nothing
        _place(root, _UNREPORTED, run).unlink(missing_ok=True)


def is_unreported(root: Path, run: str) -> bool:
    """Return whether nobody was shown the result of a run."""
    return _place(root, _UNREPORTED, run).exists()


def _refusals(root: Path, name: str) -> Iterator[tuple[str, datetime]]:
    for row in read_notes(root, _REFUSED, name):
        with suppress(ValueError, TypeError):
            proposal, at = row
            yield str(proposal), datetime.fromisoformat(at)


def _place(root: Path, kind: str, name: str) -> Path:
    return root / ".skillopt" / kind / name


def append_note(root: Path, kind: str, name: str, row: object) -> None:
    """Note a row of a kind, for a skill or what else has a name."""
    state_folder(root)
    place = _place(root, kind, name)
    try:
        place.parent.mkdir(exist_ok=True)
        with place.open("a", encoding="utf-8") as file:
            # After half a line of a process that was killed, a whole one has to begin anew.
            file.write(f"\n{json.dumps(row)}\n")
    except OSError as error:
        raise UsageError(
            f"cannot write {place}: {error.strerror or error}; verdicts depend on what is noted there: make it writable"
        ) from error


def read_notes(root: Path, kind: str, name: str) -> Iterator[Any]:
    """Yield the rows of a kind, in the order in which they were noted."""
    try:
        lines = _place(root, kind, name).read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        with suppress(ValueError):
            yield json.loads(line)
