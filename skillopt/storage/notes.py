"""Small notes of a skill below `.skillopt/`: trainings of its description, refused proposals.

A note is a line of JSON, which is written at once, so that two processes do not mix their lines; half a line of a
process that was killed is passed over.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from skillopt.errors import UsageError
from skillopt.storage.locks import state_folder

MOST_A_DAY: Final = 20
"""Refusals of this kind in 24 hours, for one skill and suite, after which no proposal is looked at."""

_LOOKS: Final = "trigger-looks"
_BASIS: Final = "trigger-basis"
_REFUSED: Final = "refused"
_UNREPORTED: Final = "unreported"


@dataclass(frozen=True, slots=True)
class TriggerLook:
    """One training of a description that looked at held-out requests, and the error that its verdict spent."""

    id: str
    requests: frozenset[str]
    error: float = 0.0
    accepted: bool = False


@dataclass(frozen=True, slots=True)
class TriggerBasis:
    """What a training of a description rests on; an empty field is unknown."""

    descriptions: tuple[str, ...]
    target: str
    model: str
    siblings: str
    requests: str


def begin_look(root: Path, skill: str, training: str, requests: Collection[str]) -> int:
    """Register a training once; return its ordinal."""
    known = [look.id for look in read_looks(root, skill)]
    if training not in known:
        _append(root, _LOOKS, skill, [{"id": training, "requests": sorted(requests)}])
        known.append(training)
    return known.index(training)


def end_look(root: Path, skill: str, training: str, error: float, *, accepted: bool) -> None:
    """Note what the verdict of a training spent; noted again, the first stays."""
    _append(root, _LOOKS, skill, [{"id": training, "error": error, "accepted": accepted}])


def read_looks(root: Path, skill: str) -> tuple[TriggerLook, ...]:
    """List the trainings, in the order in which they began."""
    found: dict[str, TriggerLook] = {}
    ended: set[str] = set()
    for row in _rows(root, _LOOKS, skill):
        with suppress(ValueError, TypeError, KeyError):
            name = str(row["id"])
            if "requests" in row:
                found.setdefault(name, TriggerLook(name, frozenset(map(str, row["requests"]))))
            elif name in found and name not in ended:
                found[name] = replace(found[name], error=float(row["error"]), accepted=bool(row["accepted"]))
                ended.add(name)
    return tuple(found.values())


def read_basis(root: Path, skill: str) -> TriggerBasis | None:
    """Read what the last training of a description rested on that ended on this machine; None where there was none."""
    try:
        *_, row = _rows(root, _BASIS, skill)
        texts = [str(row[name]) for name in ("target", "model", "siblings", "requests")]
        return TriggerBasis(tuple(map(str, row["descriptions"])), *texts)
    except (ValueError, TypeError, KeyError):  # none, or one that somebody changed
        return None


def write_basis(root: Path, skill: str, basis: TriggerBasis) -> None:
    """Write down what a training of a description rested on that has ended."""
    _append(root, _BASIS, skill, [asdict(basis)])


def note_refused(root: Path, skill: str, suite_digest: str, proposal: str, now: datetime | None = None) -> None:
    """Note that a proposal repeats text of tasks; the same one again tells nothing new and counts once."""
    name = f"{skill}-{suite_digest[:12]}"
    if proposal not in {known for known, _ in _refusals(root, name)}:
        _append(root, _REFUSED, name, [[proposal, (now or datetime.now(UTC)).isoformat(timespec="seconds")]])


def count_refused(root: Path, skill: str, suite_digest: str, now: datetime | None = None) -> tuple[int, int]:
    """Count the refused proposals: all of them, and those of the last 24 hours."""
    times = [at for _, at in _refusals(root, f"{skill}-{suite_digest[:12]}")]
    since = (now or datetime.now(UTC)) - timedelta(days=1)
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
    for row in _rows(root, _REFUSED, name):
        with suppress(ValueError, TypeError):
            proposal, at = row
            yield str(proposal), datetime.fromisoformat(at)


def _place(root: Path, kind: str, name: str) -> Path:
    return root / ".skillopt" / kind / name


def _append(root: Path, kind: str, name: str, rows: Collection[object]) -> None:
    if not rows:
        return
    state_folder(root)
    place = _place(root, kind, name)
    try:
        place.parent.mkdir(exist_ok=True)
        with place.open("a", encoding="utf-8") as file:
            # After half a line of a process that was killed, a whole one has to begin anew.
            file.write("".join(f"\n{json.dumps(row)}\n" for row in rows))
    except OSError as error:
        raise UsageError(
            f"cannot write {place}: {error.strerror or error}; verdicts depend on what is noted there: make it writable"
        ) from error


def _rows(root: Path, kind: str, name: str) -> Iterator[Any]:
    try:
        lines = _place(root, kind, name).read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        with suppress(ValueError):
            yield json.loads(line)
