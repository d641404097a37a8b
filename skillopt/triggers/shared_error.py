"""Error that the trainings of a description share, from this project's notes, else from the trailers of its branch.

As for a skill's text: a description that no other improves is replaced with at most the probability that the settings
allow, however often it is trained.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from skillopt.gate.error_budget import ERROR_SPENT, ErrorSpent, TestChoice
from skillopt.settings import Settings
from skillopt.storage.notes import read_looks
from skillopt.tasks import digest_of
from skillopt.triggers.queries import Query
from skillopt.versions.commit_message import Version

__all__ = [
    "TRIGGER_TRAINING",
    "request_digests",
    "spent_by_trainings",
    "unreported_error",
    "why_exhausted",
]

TRIGGER_TRAINING: Final = "Trigger-Training"
"""Trailer of a description: id of the training that made it."""

_SHORT: Final = 12


def request_digests(held_out: Iterable[Query]) -> frozenset[str]:
    """Return short digests of requests, by which later trainings tell whether they look at the same ones."""
    return frozenset(digest_of(one.key)[:_SHORT] for one in held_out)


def spent_by_trainings(
    root: Path, skill: str, training: str, versions: Iterable[Version], held_out: Sequence[Query]
) -> tuple[ErrorSpent, ...]:
    """List what the trainings before one spent on today's held-out requests."""
    looks, today = read_looks(root, skill), request_digests(held_out)
    known = [look.id for look in looks]
    earlier = looks[: known.index(training)] if training in known else looks
    found = [ErrorSpent(look.error, len(look.requests & today) / max(1, len(today))) for look in earlier]
    # Which requests they looked at cannot be known here, and an error that is not counted would break the promise.
    others = (version for version in versions if version.trailer(TRIGGER_TRAINING) not in known)
    found += [ErrorSpent(_number(version.trailer(ERROR_SPENT))) for version in others]
    return tuple(one for one in found if one.error > 0)


def unreported_error(root: Path, skill: str, training: str) -> float:
    """Add up what trainings spent since the last one that became a version, for the trailer of the next."""
    total = 0.0
    for look in read_looks(root, skill):
        if look.id == training:
            break
        total = 0.0 if look.accepted else total + look.error
    return total


def why_exhausted(held_out: int, settings: Settings, earlier: Sequence[ErrorSpent]) -> str:
    """Return why nothing can be accepted on these requests any more; empty when something can."""
    choice = TestChoice(held_out, settings, earlier)
    if not (earlier and choice.exhausted):
        return ""
    return (
        f"expected error left for another training on these {held_out} held-out requests, found that earlier ones "
        f"spent {choice.budget.spent:.3f} of the {choice.budget.allowed:.2f} that they share; write new requests: "
        "each that is held out brings its share"
    )


def _number(text: str) -> float:
    try:
        return max(0.0, float(text))
    except ValueError:  # there is none, or people changed it
        return 0.0
