"""What a new pull request gets beside its text: labels, reviewers, assignees; and how many may be open at a time."""

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.errors import ForgeAccessError, ForgeMissingError, ForgeRefusedError
from skillopt.protocols import Forge
from skillopt.settings import NightlySettings

__all__ = ["Newcomers", "OpenLimit", "introduce"]


@dataclass(frozen=True, slots=True)
class Newcomers:
    """How new pull requests are treated.

    Args:
        labels: Labels that they get.
        reviewers: Who is asked to review those that are no drafts.
        assignees: Who they are assigned to.
        held_reason: Why none is opened now; empty when one may be.
    """

    labels: tuple[str, ...] = ()
    reviewers: tuple[str, ...] = ()
    assignees: tuple[str, ...] = ()
    held_reason: str = ""


@dataclass(slots=True)
class OpenLimit:
    """How many pull requests are open, and how many may be.

    Args:
        most: Open ones at which no more are opened; 0 for no limit.
        open: Those that are.
    """

    most: int
    open: int = 0

    def newcomers(self, settings: NightlySettings) -> Newcomers:
        """Say how the pull request of a skill is treated if it is opened now."""
        held = f"waits: {self.open} pull requests are open, and `most_open` is {self.most}"
        reason = held if 0 < self.most <= self.open else ""
        return Newcomers(settings.labels, settings.reviewers, settings.assignees, reason)

    def count(self, action: str) -> None:
        """Count what was done with one: `opened`, `closed`, or anything else."""
        self.open += (action == "opened") - (action == "closed")


def introduce(forge: Forge, number: int, newcomers: Newcomers, *, draft: bool) -> Sequence[str]:
    """Give a pull request its labels, reviewers and assignees; a name that the forge does not take is a remark.

    Args:
        forge: Keeps pull requests.
        number: Of the pull request.
        newcomers: How it is treated.
        draft: Whether it is a draft, which nobody is asked to review.

    Raises:
        ForgeError: The forge failed otherwise.
    """
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
