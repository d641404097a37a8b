"""Trainings of a skill's description that looked at held-out requests, and the error that each verdict spent.

They are counted because each later one gets runs of its own, and the error that is left.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.storage.locks import state_folder

__all__ = ["TriggerLook", "begin_look", "end_look", "read_looks"]


@dataclass(frozen=True, slots=True)
class TriggerLook:
    """One training."""

    id: str
    requests: frozenset[str]
    error: float = 0.0
    accepted: bool = False


def begin_look(root: Path, skill: str, training: str, requests: Collection[str]) -> int:
    """Note that a training begins, once; give how many others began before it."""
    known = [look.id for look in read_looks(root, skill)]
    if training not in known:
        _write(root, skill, {"id": training, "requests": sorted(requests)})
        known.append(training)
    return known.index(training)


def end_look(root: Path, skill: str, training: str, error: float, *, accepted: bool) -> None:
    """Note what the verdict of a training spent; noted again, the first stays."""
    _write(root, skill, {"id": training, "error": error, "accepted": accepted})


def read_looks(root: Path, skill: str) -> tuple[TriggerLook, ...]:
    """List the trainings, in the order in which they began."""
    try:
        lines = _place(root, skill).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    found: dict[str, TriggerLook] = {}
    ended: set[str] = set()
    for line in lines:
        try:
            row = json.loads(line)
            name = str(row["id"])
            if "requests" in row:
                found.setdefault(name, TriggerLook(name, frozenset(map(str, row["requests"]))))
            elif name in found and name not in ended:
                found[name] = replace(found[name], error=float(row["error"]), accepted=bool(row["accepted"]))
                ended.add(name)
        except (ValueError, TypeError, KeyError):  # half a line of a process that was killed
            continue
    return tuple(found.values())


def _place(root: Path, skill: str) -> Path:
    return root / ".skillopt" / "trigger-looks" / skill


def _write(root: Path, skill: str, row: dict[str, object]) -> None:
    state_folder(root)
    place = _place(root, skill)
    try:
        place.parent.mkdir(exist_ok=True)
        with place.open("a", encoding="utf-8") as file:
            # After half a line of a process that was killed, a whole one has to begin anew.
            file.write(f"\n{json.dumps(row)}\n")
    except OSError as error:
        raise UsageError(
            f"cannot write {place}: {error.strerror or error}; all trainings of a description share one error, so "
            "each is noted: make it writable"
        ) from error
