"""What becomes of a skill's pull request: opened, updated, closed or left alone.

Owns the decision, from facts. Does not own finding the facts or doing it (commands), or the text (reports).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from skillopt.protocols import PullRequest

__all__ = ["Action", "BranchFacts", "Upkeep", "decide"]


class Action(StrEnum):
    """What is done with a pull request."""

    OPEN = "open"
    UPDATE = "update"
    CLOSE = "close"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class BranchFacts:
    """How a skill's branch stands.

    Args:
        tip: Its newest commit.
        into: Name of the default branch.
        landed: Whether the default branch has the branch's text of the skill.
        aside: Whether people changed the skill on the default branch beside the branch.
        unfit: Why the newest version is not offered; empty when it is fit.
    """

    tip: str
    into: str
    landed: bool = False
    aside: bool = False
    unfit: str = ""


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What to do, with which pull request, and why."""

    action: Action
    number: int | None
    reason: str


def decide(facts: BranchFacts, requests: Sequence[PullRequest]) -> Upkeep:
    """Decide what becomes of a skill's pull request.

    A version that people have closed or merged is never offered again: a merged one whose text is gone was undone
    by somebody, who had a reason.

    Args:
        facts: How the branch stands.
        requests: The pull requests from it, newest first.
    """
    opened = next((one.number for one in requests if one.state == "open"), None)
    moot = ""
    if facts.landed:
        moot = f"{facts.into} has this text"
    elif facts.aside:
        moot = f"the skill was changed on {facts.into} beside it, so it was measured against a text that is gone"
    if moot:
        return Upkeep(Action.LEAVE if opened is None else Action.CLOSE, opened, moot)
    if facts.unfit:
        return Upkeep(Action.LEAVE, opened, facts.unfit)
    if opened is not None:
        return Upkeep(Action.UPDATE, opened, "")
    settled = next((one for one in requests if one.head == facts.tip), None)
    if settled is not None:
        return Upkeep(
            Action.LEAVE, settled.number, f"#{settled.number} with this version was {settled.state} by people"
        )
    return Upkeep(Action.OPEN, None, "")
