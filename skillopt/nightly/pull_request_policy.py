"""Pull request policy: decide whether a skill's pull request is opened, updated, closed or left alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from skillopt.protocols import PullRequest

__all__ = ["CLOSED_BY_NIGHT", "Action", "BranchFacts", "PullRequestDecision", "closed_by_people", "decide_pull_request"]

CLOSED_BY_NIGHT: Final = "<!-- skillopt: closed by the night -->\n"
"""First line of a pull request's text that a night closed; it is taken out of one that people opened again."""


class Action(StrEnum):
    """What is done with a pull request."""

    OPEN = "open"
    UPDATE = "update"
    CLOSE = "close"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class BranchFacts:
    """State of a skill's branch, or of its draft's."""

    tip: str
    moot_reason: str = ""
    unfit_reason: str = ""
    mark: str = ""
    opened: int = 0


@dataclass(frozen=True, slots=True)
class PullRequestDecision:
    """What to do, with which pull request, and why."""

    action: Action
    number: int | None
    reason: str


def closed_by_people(request: PullRequest) -> bool:
    """Return whether people closed a pull request without a merge; what a night closed is no decision of theirs."""
    return request.state == "closed" and not request.body.startswith(CLOSED_BY_NIGHT)


def decide_pull_request(facts: BranchFacts, requests: Sequence[PullRequest]) -> PullRequestDecision:
    """Decide what to do with a skill's pull request.

    A text whose pull request people closed or merged never gets another one: if a merged text is gone, somebody
    reverted it on purpose. A draft is written anew by each run, so it is its text that was refused, not its commit.
    """
    opened = next((one.number for one in requests if one.state == "open"), None)
    if facts.moot_reason:
        return PullRequestDecision(Action.LEAVE if opened is None else Action.CLOSE, opened, facts.moot_reason)
    if facts.unfit_reason:
        return PullRequestDecision(Action.LEAVE, opened, facts.unfit_reason)
    if opened is not None:
        return PullRequestDecision(Action.UPDATE, opened, "")
    withdrawn = next((one for one in requests if one.number == facts.opened and closed_by_people(one)), None)
    if withdrawn is not None:
        reason = f"#{withdrawn.number} was closed by people during this night; the next night declines what it offered"
        return PullRequestDecision(Action.LEAVE, withdrawn.number, reason)
    decided = [one for one in requests if one.state == "merged" or closed_by_people(one)]
    settled = next((one for one in decided if one.head == facts.tip or (facts.mark and facts.mark in one.body)), None)
    if settled is not None:
        what = "text" if facts.mark else "version"
        return PullRequestDecision(
            Action.LEAVE, settled.number, f"#{settled.number} with this {what} was {settled.state} by people"
        )
    return PullRequestDecision(Action.OPEN, None, "")
