"""What a new pull request gets beside its text: labels, reviewers, assignees; and how many may be open at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.errors import ForgeAccessError, ForgeMissingError, ForgeRefusedError
from skillopt.protocols import Forge
from skillopt.settings import NightlySettings

__all__ = ["Newcomers", "OpenLimit", "introduce"]


@dataclass(frozen=True, slots=True)
class Newcomers:
    """How new pull requests are treated."""

    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    held_reason: str = ""


@dataclass(slots=True)
class OpenLimit:
    """How many pull requests are open, and how many may be."""

    most: int
    open: int = 0

    def newcomers(self, settings: NightlySettings) -> Newcomers:
        """Return how the pull request of a skill is treated if it is opened now."""
        held = f"waits: {self.open} pull requests are open, and `most_open` is {self.most}"
        reason = held if 0 < self.most <= self.open else ""
        return Newcomers(settings.labels, settings.reviewers, settings.assignees, reason)

    def count(self, action: str) -> None:
        """Count what was done with one: `opened`, `closed`, or anything else."""
        self.open += (action == "opened") - (action == "closed")


def introduce(forge: Forge, number: int, newcomers: Newcomers, *, draft: bool) -> Sequence[str]:
    """Return a pull request its labels, reviewers and assignees; a name that the forge does not take is a remark."""
    notes = []
    reviewers = () if draft else newcomers.reviewers
    for labels, people, assignees in (
        (newcomers.labels, (), ()),
        ((), reviewers, ()),
        ((), (), newcomers.assignees),
    ):
        if labels or people or assignees:
            try:
                forge.label(number, labels, people, assignees)
            except (ForgeAccessError, ForgeMissingError, ForgeRefusedError) as error:
                notes.append(str(error))
    return notes
