"""What the last training of a skill's description rested on, so that a night trains it again only when that changed."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from skillopt.errors import UsageError
from skillopt.storage.locks import state_folder

__all__ = ["TriggerBasis", "read_basis", "write_basis"]


@dataclass(frozen=True, slots=True)
class TriggerBasis:
    """What a training of a description rests on; an empty field is unknown."""

    descriptions: tuple[str, ...]
    target: str
    model: str
    siblings: str
    requests: str


def read_basis(root: Path, skill: str) -> TriggerBasis | None:
    """Read what the last training rested on that ended on this machine; None where there was none."""
    try:
        row = json.loads(_place(root, skill).read_text(encoding="utf-8"))
        texts = [str(row[name]) for name in ("target", "model", "siblings", "requests")]
        return TriggerBasis(tuple(map(str, row["descriptions"])), *texts)
    except (OSError, ValueError, TypeError, KeyError):  # none, or half of one
        return None


def write_basis(root: Path, skill: str, basis: TriggerBasis) -> None:
    """Write down what a training rested on that has ended."""
    state_folder(root)
    place = _place(root, skill)
    aside = place.with_name(f"{skill}.new")
    try:
        place.parent.mkdir(exist_ok=True)
        aside.write_text(json.dumps(asdict(basis)), encoding="utf-8")
        aside.replace(place)
    except OSError as error:
        raise UsageError(f"cannot write {place}: {error.strerror or error}; make it writable") from error


def _place(root: Path, skill: str) -> Path:
    return root / ".skillopt" / "trigger-basis" / f"{skill}.json"
