"""Staleness of a version: whether it was trained on the target that is configured now.

Driver, client version and model are parsed from the target's identity, which the trailer `Harness` records.
"""

import re
from dataclasses import dataclass
from typing import Self

__all__ = ["TargetName", "why_stale"]

_VALUES = re.compile(r" (?=\w+=)")
_VERSION = re.compile(r"\d\S*")


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


def why_stale(trained: str, now: str) -> str:
    """Return how the configured target differs by driver or model from the one of a version; empty where unknown."""
    old, new = TargetName.parse(trained), TargetName.parse(now)
    is_same = (old.driver, old.model) == (new.driver, new.model)
    return "" if is_same or not (trained and now) else f"trained on {old}, now {new}"
