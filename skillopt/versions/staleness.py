"""Staleness of a version: whether it was trained on the target that is configured now.

Driver, client version and model are parsed from the target's identity, which the trailer `Harness` records.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

__all__ = ["Fit", "Staleness", "TargetName", "compare_targets"]

_VALUES = re.compile(r" (?=\w+=)")
_VERSION = re.compile(r"\d\S*")


class Fit(StrEnum):
    """How a version fits the configured target; `updated` is the same target with another client."""

    SAME = "same"
    UPDATED = "updated"
    STALE = "stale"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Staleness:
    """Result of comparing two targets; `reason` is empty where they are the same or unknown."""

    fit: Fit
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TargetName:
    """The part of a target's identity that names program and model; modes and limits are left out."""

    driver: str
    version: str
    model: str

    @classmethod
    def parse(cls, identity: str) -> Self:
        """Read an identity: words, the client's version perhaps, then `key=value` pairs.

        >>> TargetName.parse("codex 0.169.0 model=large mode=forced")
        TargetName(driver='codex', version='0.169.0', model='large')
        """
        head, *pairs = _VALUES.split(" ".join(identity.split()))
        driver, _, last = head.rpartition(" ")
        values = dict(pair.split("=", 1) for pair in pairs)
        if driver and _VERSION.fullmatch(last):
            return cls(driver, last, values.get("model", ""))
        return cls(head, "", values.get("model", ""))

    def __str__(self) -> str:
        """Write it in a few words."""
        return " ".join(filter(None, (self.driver, self.version, self.model and f"model={self.model}")))


def compare_targets(trained: str, now: str) -> Staleness:
    """Compare the target of a version with the configured one, by driver and model."""
    if not trained or not now:
        return Staleness(Fit.UNKNOWN)
    old, new = TargetName.parse(trained), TargetName.parse(now)
    if (old.driver, old.model) != (new.driver, new.model):
        return Staleness(Fit.STALE, f"trained on {old}, now {new}")
    if old.version != new.version:
        return Staleness(Fit.UPDATED, f"trained with {old.driver} {old.version}, now {new.version}")
    return Staleness(Fit.SAME)
