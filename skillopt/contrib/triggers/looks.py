"""Notes of the trainings of descriptions: the held-out requests that each looked at, its error, what it rests on."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.storage.locks import append_note, read_notes

_LOOKS: Final = "trigger-looks"
_BASIS: Final = "trigger-basis"


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
        append_note(root, _LOOKS, skill, {"id": training, "requests": sorted(requests)})
        known.append(training)
    return known.index(training)


def end_look(root: Path, skill: str, training: str, error: float, *, accepted: bool) -> None:
    """Note what the verdict of a training spent; noted again, the first stays."""
    append_note(root, _LOOKS, skill, {"id": training, "error": error, "accepted": accepted})


def read_looks(root: Path, skill: str) -> tuple[TriggerLook, ...]:
    """List the trainings, in the order in which they began."""
    found: dict[str, TriggerLook] = {}
    ended: set[str] = set()
    for row in read_notes(root, _LOOKS, skill):
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
        *_, row = read_notes(root, _BASIS, skill)
        texts = [str(row[name]) for name in ("target", "model", "siblings", "requests")]
        return TriggerBasis(tuple(map(str, row["descriptions"])), *texts)
    except (ValueError, TypeError, KeyError):  # none, or one that somebody changed
        return None


def write_basis(root: Path, skill: str, basis: TriggerBasis) -> None:
    """Write down what a training of a description rested on that has ended."""
    append_note(root, _BASIS, skill, asdict(basis))
