"""Open, update and close the pull requests of a skill, as the policy decides by what the forge says now.

What is offered was written down before, without a token; here nothing is computed, only posted. The steps are
idempotent and in an order that can stop anywhere, so that running them again continues.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field, field_validator

from skillopt.errors import ForgeError
from skillopt.nightly.people_commands import StrictModel, carry_unticked, handled_mark, last_handled
from skillopt.protocols import Forge, PullRequest
from skillopt.safety.escaping import truncate

CLOSED_BY_NIGHT: Final = "<!-- skillopt: closed by the night -->\n"
"""First line of a pull request's text that a night closed; it is taken out of one that people opened again."""

_TOPIC: Final = "nightly"
_ANSWERS: Final = "answers"
_LONGEST_TITLE: Final = 256  # characters that GitHub takes
_LONGEST_BODY: Final = 66_000  # characters: GitHub takes 65,536, of which marks may be cut
_COMMIT: Final = r"^(?:[0-9a-f]{40}|[0-9a-f]{64})?$"

_CALLS: Final = re.compile(
    r"(?:@|&(?:#0{0,9}64|#x0{0,9}40|commat);)(?=\w)|(?:(?<!&)#|&(?:#0{0,9}35|#x0{0,9}23|num);)(?=\d)|\bGH-(?=\d)"
    r"|/(?:issues|pull)/(?=\d)",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"(<code>[^\n]*?</code>|<pre>.*?</pre>)", re.DOTALL)

_Commit = Annotated[str, Field(pattern=_COMMIT)]
_Line = Annotated[str, Field(max_length=2000)]
_AnswerLine = Annotated[str, Field(max_length=30_000)]
"""Texts of people and models, of which escaping makes several times their length."""

_Number = Annotated[int, Field(ge=0, lt=2**63)]


class Action(StrEnum):
    """What is done with a pull request."""

    OPEN = "open"
    UPDATE = "update"
    CLOSE = "close"
    LEAVE = "leave"


@dataclass(frozen=True, slots=True)
class PullRequestDecision:
    """What to do, with which pull request, and why."""

    action: Action
    number: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class PullRequestUpdate:
    """What was done with a pull request."""

    action: str = ""
    url: str = ""
    notes: tuple[str, ...] = ()
    is_open: bool = False
    withheld: bool = False
    title: str = ""


class BranchOffer(StrictModel):
    """What is offered from one branch: facts for the policy, and the text of its pull request.

    The text names nobody and no issue, whoever wrote it: what a forge would act on is broken up.
    """

    branch: Annotated[str, Field(pattern=r"^skillopt(?:-draft|-audit|-trigger)?/[a-z0-9]+(?:-[a-z0-9]+)*$")]
    seen: _Commit = ""
    tip: _Commit = ""
    unfit_reason: _Line = ""
    moot_reason: _Line = ""
    waits: bool = False
    proven: bool = True
    mark: _Line = ""
    known_by: _Line = ""
    title: Annotated[str, Field(max_length=_LONGEST_TITLE)] = ""
    body: Annotated[str, Field(max_length=_LONGEST_BODY)] = ""
    decided: bool = False
    opened: _Number = 0
    notes: Annotated[tuple[_Line, ...], Field(max_length=100)] = ()

    @field_validator("title", "body", "moot_reason")
    @classmethod
    def _acts_on_nothing(cls, text: str) -> str:
        return disarm_page(text)


class PostedAnswer(StrictModel):
    """What is said under a pull request to people who asked for something."""

    pull_request: _Number
    lines: Annotated[tuple[_AnswerLine, ...], Field(max_length=100)]
    last: _Number = 0


def open_request(requests: Sequence[PullRequest]) -> PullRequest | None:
    """Return the open one of the pull requests from a branch."""
    return next((one for one in requests if one.state == "open"), None)


def closed_by_people(request: PullRequest) -> bool:
    """Return whether people closed a pull request without a merge; what a night closed is no decision of theirs."""
    return request.state == "closed" and not request.body.startswith(CLOSED_BY_NIGHT)


def decide_pull_request(offer: BranchOffer, requests: Sequence[PullRequest]) -> PullRequestDecision:
    """Decide what to do with a skill's pull request.

    A text whose pull request people closed or merged never gets another one: if a merged text is gone, somebody
    reverted it on purpose. A draft is written anew by each run, so it is its text that was refused, not its commit.
    """
    opened = next((one.number for one in requests if one.state == "open"), None)
    if offer.moot_reason:
        return PullRequestDecision(Action.LEAVE if opened is None else Action.CLOSE, opened, offer.moot_reason)
    if offer.unfit_reason:
        return PullRequestDecision(Action.LEAVE, opened, offer.unfit_reason)
    if opened is not None:
        return PullRequestDecision(Action.UPDATE, opened, "")
    withdrawn = next((one for one in requests if one.number == offer.opened and closed_by_people(one)), None)
    if withdrawn is not None:
        reason = f"#{withdrawn.number} was closed by people during this night; the next night declines what it offered"
        return PullRequestDecision(Action.LEAVE, withdrawn.number, reason)
    decided = [one for one in requests if one.state == "merged" or closed_by_people(one)]
    settled = next((one for one in decided if one.head == offer.tip or (offer.mark and offer.mark in one.body)), None)
    if settled is not None:
        what = "text" if offer.mark else "version"
        reason = f"#{settled.number} with this {what} was {settled.state} by people"
        return PullRequestDecision(Action.LEAVE, settled.number, reason)
    return PullRequestDecision(Action.OPEN, None, "")


def post_offer(forge: Forge, offer: BranchOffer, push: Callable[[], bool]) -> PullRequestUpdate:
    """Do what the policy decides for the pull request of a branch."""
    try:
        requests = forge.pull_requests(offer.branch)
    except ForgeError:
        if decide_pull_request(offer, ()).action is Action.OPEN:
            push()  # so that a version outlives the machine that trained it
        raise
    found = decide_pull_request(offer, requests)
    # Where people deleted the branch, a decision does not bring it back; one that never was there had no pull request.
    decided = offer.decided and (offer.seen != "" or not requests)
    pushed = (found.action in (Action.OPEN, Action.UPDATE) or decided) and push()
    if found.action is not Action.CLOSE:
        requests = _unmark(forge, requests)
    opened, url = open_request(requests), next((one.url for one in requests if one.number == found.number), "")
    if found.action is Action.LEAVE:
        withheld = offer.waits and opened is None
        what = f"{'the draft is ' if offer.mark else ''}not offered: " if withheld else ""
        said = (*offer.notes, *([f"{what}{found.reason}"] if found.reason else []))
        return PullRequestUpdate("", url, said, is_open=opened is not None, withheld=withheld)
    if found.action is Action.CLOSE and opened is not None:
        forge.comment(opened.number, _TOPIC, f"Closed by `skillopt nightly`: {found.reason}.")
        forge.update(opened.number, opened.title, CLOSED_BY_NIGHT + opened.body.removeprefix(CLOSED_BY_NIGHT))
        forge.close(opened.number)
        return PullRequestUpdate("closed", url, (*offer.notes, found.reason))
    if opened is not None:
        rewritten = _update_text(forge, offer, opened)
        action = "updated" if pushed or rewritten else ""
        return PullRequestUpdate(action, url, offer.notes, is_open=True, title=offer.title)
    new = forge.create(offer.branch, forge.facts().default_branch, offer.title, offer.body, draft=not offer.proven)
    return PullRequestUpdate("opened", new.url, offer.notes, is_open=True, title=offer.title)


def post_answers(forge: Forge, branches: Sequence[str], answers: Sequence[PostedAnswer]) -> None:
    """Say in one comment what was done about commands and boxes, and remember up to which comment they are answered."""
    for answer in answers:
        requests = (one for branch in branches for one in forge.pull_requests(branch))
        request = next((one for one in requests if one.number == answer.pull_request), None)
        if request is None:
            continue
        if answer.lines:
            said = "\n".join(f"- {disarm_page(line)}" for line in answer.lines)
            forge.comment(request.number, _ANSWERS, truncate(said, _LONGEST_BODY))
        done, body = last_handled(request.body)
        if answer.last > done:
            # Never beyond what was said by now, or what people ask later would count as answered.
            last = min(answer.last, max((comment.id for comment in forge.comments(request.number)), default=done))
            text = f"{body.rstrip()}\n\n{handled_mark(last)}\n"
            forge.update(request.number, request.title, text)


def _unmark(forge: Forge, requests: Sequence[PullRequest]) -> tuple[PullRequest, ...]:
    """Take the mark of a night's closing out of pull requests that people opened again."""
    found = []
    for one in requests:
        if one.state == "open" and one.body.startswith(CLOSED_BY_NIGHT):
            found.append(replace(one, body=one.body.removeprefix(CLOSED_BY_NIGHT)))
            forge.update(one.number, one.title, found[-1].body)
        else:
            found.append(one)
    return tuple(found)


def _update_text(forge: Forge, offer: BranchOffer, opened: PullRequest) -> bool:
    """Rewrite title and text of an open pull request for what is offered, unless they were written for it already."""
    if not offer.title or (offer.known_by and offer.known_by in opened.body):
        return False
    what = "the newest version" if offer.proven or not offer.mark else "the newest draft"
    comment = f"`skillopt nightly` wrote the description anew: it is of {what}, {offer.tip[:10]}."
    forge.comment(opened.number, _TOPIC, comment)  # first, so that a night that ends here does both again
    done, _ = last_handled(opened.body)
    # A box that somebody unticked since the night looked is for the next one.
    body = carry_unticked(opened.body, offer.body)
    body = f"{body.rstrip()}\n\n{handled_mark(done)}\n" if done else body
    forge.update(opened.number, offer.title, body, draft=not offer.proven)
    return True


def disarm_page(text: str) -> str:
    """Break up in Markdown what a forge would turn into a mention or a link, but in HTML code, where it turns nothing.

    >>> disarm_page("Fixes #3, ask @team; <code>@team</code>")
    'Fixes # 3, ask @ team; <code>@team</code>'
    """
    pieces = _CODE.split(text)
    return "".join(piece if number % 2 else _CALLS.sub(r"\g<0> ", piece) for number, piece in enumerate(pieces))
