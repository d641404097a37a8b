"""Port of trained descriptions: what nights and commands ask of the package that trains them."""

from collections.abc import Sequence
from typing import Protocol

from skillopt.contrib import find_driver
from skillopt.nightly.night import SkillNight
from skillopt.nightly.offers import Night
from skillopt.project import Selection


class TrainedDescriptions(Protocol):
    """Trains descriptions, and knows what was trained."""

    def train_due(self, night: Night, rows: list[SkillNight]) -> None:
        """Train the descriptions that are due, and add to rows and offers what came of that."""
        ...

    def is_described(self, before: bytes, after: bytes) -> bool:
        """Return whether two texts of a skill differ in the description alone."""
        ...

    def shorten(self, names: Sequence[str], selection: Selection, *, repeats: int, drop: bool, **options: bool) -> None:
        """Show what clients list of all skills, and shorten descriptions unless `options` name a dry run."""
        ...


def find_descriptions() -> TrainedDescriptions | None:
    """Return what trains descriptions; None where no package does."""
    made = find_driver("descriptions")
    return None if made is None else made()
