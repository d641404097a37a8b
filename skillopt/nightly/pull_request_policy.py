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
    """State of a skill's branch, or of its draft's.

    Args:
        tip: Its newest commit.
        moot_reason: Why an open pull request is closed; empty for none.
        unfit_reason: Why what is there gets no pull request; empty when it may have one.
        mark: Text by which a pull request of this very text is known; empty where its commit tells.
    """

    tip: str
    moot_reason: str = ""
    unfit_reason: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class PullRequestDecision:
    """What to do, with which pull request, and why."""

    action: Action
    number: int | None
    reason: str


def decide_pull_request(facts: BranchFacts, requests: Sequence[PullRequest]) -> PullRequestDecision:
    """Decide what to do with a skill's pull request.

    A text whose pull request people closed or merged never gets another one: if a merged text is gone, somebody
    reverted it on purpose. A draft is written anew by each run, so it is its text that was refused, not its commit.

    Args:
        facts: State of the branch.
        requests: The pull requests from it, newest first.
    """
    opened = next((one.number for one in requests if one.state == "open"), None)
    if facts.moot_reason:
        return PullRequestDecision(Action.LEAVE if opened is None else Action.CLOSE, opened, facts.moot_reason)
    if facts.unfit_reason:
        return PullRequestDecision(Action.LEAVE, opened, facts.unfit_reason)
    if opened is not None:
        return PullRequestDecision(Action.UPDATE, opened, "")
    settled = next((one for one in requests if one.head == facts.tip or (facts.mark and facts.mark in one.body)), None)
    if settled is not None:
        what = "text" if facts.mark else "version"
        return PullRequestDecision(
            Action.LEAVE, settled.number, f"#{settled.number} with this {what} was {settled.state} by people"
        )
    return PullRequestDecision(Action.OPEN, None, "")
