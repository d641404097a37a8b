"""Pull request policy: decide whether a skill's pull request is opened, updated, closed or left alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from skillopt.protocols import PullRequest

__all__ = ["Action", "BranchFacts", "PullRequestDecision", "decide_pull_request"]


class Action(StrEnum):
    """What is done with a pull request."""

    OPEN = "open"
    UPDATE = "update"
    CLOSE = "close"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class BranchFacts:
    """State of a skill's branch.

    Args:
        tip: Its newest commit.
        into: Name of the default branch.
        on_default_branch: Whether the default branch has the branch's text of the skill.
        diverged: Whether people changed the skill on the default branch beside the branch.
        unfit_reason: Why the newest version gets no pull request; empty when it may have one.
    """

    tip: str
    into: str
    on_default_branch: bool = False
    diverged: bool = False
    unfit_reason: str = ""


@dataclass(frozen=True, slots=True)
class PullRequestDecision:
    """What to do, with which pull request, and why."""

    action: Action
    number: int | None
    reason: str


def decide_pull_request(facts: BranchFacts, requests: Sequence[PullRequest]) -> PullRequestDecision:
    """Decide what to do with a skill's pull request.

    A version whose pull request people closed or merged never gets another one: if a merged text is gone, somebody
    reverted it on purpose.

    Args:
        facts: State of the branch.
        requests: The pull requests from it, newest first.
    """
    opened = next((one.number for one in requests if one.state == "open"), None)
    moot = ""
    if facts.on_default_branch:
        moot = f"{facts.into} has this text"
    elif facts.diverged:
        moot = f"the skill was changed on {facts.into} beside it, so it was measured against a text that is gone"
    if moot:
        return PullRequestDecision(Action.LEAVE if opened is None else Action.CLOSE, opened, moot)
    if facts.unfit_reason:
        return PullRequestDecision(Action.LEAVE, opened, facts.unfit_reason)
    if opened is not None:
        return PullRequestDecision(Action.UPDATE, opened, "")
    settled = next((one for one in requests if one.head == facts.tip), None)
    if settled is not None:
        return PullRequestDecision(
            Action.LEAVE, settled.number, f"#{settled.number} with this version was {settled.state} by people"
        )
    return PullRequestDecision(Action.OPEN, None, "")
