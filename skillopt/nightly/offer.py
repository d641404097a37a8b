"""The step `nightly offer`: push what training left, and open, update or close pull requests.

It runs no model and no code of skills or suites, and pushes nothing that it has not checked against the remote. What
is offered was written down before, without a token; here nothing is computed, only posted, as the policy decides by
what the forge says now. The steps are idempotent and in an order that can stop anywhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from skillopt.errors import BusyError, ForgeError, SkilloptError, UsageError, VersionConflictError
from skillopt.nightly.check import ForgeAccess, find_access
from skillopt.nightly.handover import (
    BUNDLE,
    CLOSED_BY_NIGHT,
    LONGEST_BODY,
    BranchOffer,
    PostedAnswer,
    SkillOffers,
    closed_by_people,
    disarm_page,
    open_request,
    read_offers,
)
from skillopt.nightly.night import Nightly, PullRequestUpdate, SkillNight, Training, with_failure
from skillopt.nightly.offers import find_descriptions
from skillopt.nightly.people_commands import carry_unticked, handled_mark, last_handled
from skillopt.project import Project, Selection, Target
from skillopt.protocols import Forge, PullRequest
from skillopt.reports.markdown import comment_marker
from skillopt.safety.escaping import truncate
from skillopt.storage.locks import writer_lock
from skillopt.versions.branches import DRAFT_BRANCHES, VERSION_BRANCHES, DraftBranch, people_commits
from skillopt.versions.bundles import check_commits, read_bundle
from skillopt.versions.records import add_records
from skillopt.versions.refusals import add_refusals
from skillopt.versions.remotes import Remote, Tips

_ENDED: Final = (Training.GONE, Training.NO_SUITE)

_PREFIXES: Final = {"version": "skillopt", "draft": "skillopt-draft"}
_TOPIC: Final = "nightly"
_ANSWERS: Final = "answers"


@dataclass(slots=True)
class _Desk:
    """Where offers are made: forge, remote, and where its branches are now."""

    project: Project
    access: ForgeAccess
    tips: Tips | None

    def checked(self, remote: Remote, target: Target, offer: BranchOffer, push: Callable[[], bool]) -> bool:
        """Push a branch after its commits were found to change only what training may change."""
        if offer.tip:
            found = find_descriptions()
            describes = found.is_described if found else None
            path, known = target.place(remote.repository), self.tips.all if self.tips else ()
            check_commits(remote.repository, offer.branch, offer.tip, path, known=known, describes=describes)
        return push()


def offer_night(folder: Path, *, flags: Mapping[str, object] | None = None, project: Path | None = None) -> Nightly:
    """Push the branches of a night, bring the pull requests up to date, and give the whole night's result.

    Doing it again changes nothing.
    """
    found = Project.find(project or Path.cwd())
    access, left = find_access(found, flags or {}), read_offers(folder)
    remote = access.remote
    if left.remote != (remote.name if remote else ""):
        expected = remote.name if remote else "none"
        raise UsageError(f"{folder}: expected offers for the remote {expected!r}, found {left.remote!r}; train again")
    tips = remote.fetch_tips() if remote else None
    if remote is not None:
        read_bundle(remote.repository, folder / BUNDLE)
        for one in left.offers:
            add_refusals(remote.repository, one.name, one.refusals)
            add_records(remote.repository, one.name, one.record)
        remote.fetch_lines()
    offers = {one.skill: one for one in left.offers}
    desk = _Desk(found, access, tips)
    rows = [_post(desk, row, offers[row.skill]) if row.skill in offers else row for row in left.night.skills]
    # Of a skill that is gone there is one remark, in the night that closes its pull request.
    told = (one for one in rows if one.training is not Training.GONE or one.offer.action or one.draft.action)
    return replace(left.night, skills=tuple(told))


def _post(desk: _Desk, row: SkillNight, offers: SkillOffers) -> SkillNight:
    """Offer what there is of a skill, under a lock against other nights; of one that is gone, close what is open."""
    try:
        if row.training in _ENDED:
            row, offers = _close(desk, row, offers)
        if row.training is Training.GONE:
            return row
        told = row
        target = desk.project.target(Selection(offers.skill, folder=desk.project.root))
        if target.name != offers.name:
            raise UsageError(f"expected offers of the skill {target.name!r}, found {offers.name!r}; train again")
        with writer_lock(desk.project.root, f"{offers.name}@nightly"):
            if desk.access.remote is not None:
                desk.access.remote.push_lines(offers.name)
            if (version := _expected(offers, "version")) is not None:
                told = replace(told, offer=_post_version(desk, target, version))
            if (draft := _expected(offers, "draft")) is not None:
                told = replace(told, draft=_post_draft(desk, target, draft, told.offer))
            branches = [f"{prefix}/{offers.name}" for prefix in _PREFIXES.values()]
            post_answers(desk.access.forge, branches, offers.answers)
            return told
    except BusyError:
        return replace(row, training=Training.BUSY, reason="another run trains it")
    except SkilloptError as error:
        return with_failure(row, error)


def _close(desk: _Desk, row: SkillNight, offers: SkillOffers) -> tuple[SkillNight, SkillOffers]:
    """Close the pull requests of a skill that is trained no more, and give what else is offered of it."""
    gone = dict[str, None]()
    for kind in _PREFIXES:
        if (offer := _expected(offers, kind)) is not None and not (offer.tip or offer.seen):
            gone[kind] = None
            opened = open_request(desk.access.forge.pull_requests(offer.branch))
            if opened is not None and comment_marker(offers.name) in opened.body:  # else a person opened it
                done = post_offer(desk.access.forge, offer, lambda: False)
                row = replace(row, offer=done) if kind == "version" else replace(row, draft=done)
    return row, offers.model_copy(update=gone)


def _expected(offers: SkillOffers, kind: str) -> BranchOffer | None:
    """Return the offer of a kind, which is of that kind's branch and no other."""
    offer: BranchOffer | None = getattr(offers, kind)
    branch = f"{_PREFIXES[kind]}/{offers.name}"
    if offer is not None and offer.branch != branch:
        raise UsageError(f"expected an offer from {branch}, found one from {offer.branch!r}; train again")
    return offer


def _post_version(desk: _Desk, target: Target, offer: BranchOffer) -> PullRequestUpdate:
    """Take the newest version over from the bundle, push it, and bring its pull request up to date."""
    if not offer.tip:
        raise UsageError(f"expected the newest commit of {offer.branch} in the offer, found none; train again")
    remote, tips, skill = desk.access.remote, desk.tips, target.name
    if remote is None or tips is None:
        return post_offer(desk.access.forge, offer, lambda: False)
    if _gives_way(remote, skill, offer, tips):
        return _moved(offer)
    remote.fast_forward(skill, tips.of(VERSION_BRANCHES, skill))
    remote.fast_forward(skill, offer.tip)
    if remote.repository.branch_tip(skill) != offer.tip:
        return _moved(offer)
    push = partial(remote.push, skill, tips)
    try:
        return post_offer(desk.access.forge, offer, partial(desk.checked, remote, target, offer, push))
    except VersionConflictError:
        desk.tips = remote.fetch_tips()
        if not _gives_way(remote, skill, offer, desk.tips):
            raise
    return _moved(offer)


def _gives_way(remote: Remote, skill: str, offer: BranchOffer, tips: Tips) -> bool:
    """Give up what this night trained, and nothing of people, where a branch was pushed from elsewhere meanwhile."""
    repository, there = remote.repository, tips.of(VERSION_BRANCHES, skill)
    if there in ("", offer.seen) or repository.contains(offer.tip, there) or repository.contains(there, offer.tip):
        return False
    if people_commits(repository, skill, offer.tip, "--not", there, tips.default):
        return False
    remote.follow(skill, offer.tip, there)
    return True


def _post_draft(desk: _Desk, target: Target, offer: BranchOffer, version: PullRequestUpdate) -> PullRequestUpdate:
    """Take the draft over from the bundle, push or remove it, and bring its pull request up to date."""
    remote, tips, skill = desk.access.remote, desk.tips, target.name
    if version.is_open and not offer.unfit_reason:
        waits = f"the draft waits until the newest version is merged or closed: {version.url}"
        offer = offer.model_copy(update={"unfit_reason": waits})
    if remote is None or tips is None:
        return post_offer(desk.access.forge, offer, lambda: False)
    branch = DraftBranch(remote.repository, skill, target.place(remote.repository))
    if branch.tip is None and offer.tip:
        remote.repository.move_branch(f"{DRAFT_BRANCHES}{skill}", None, offer.tip)
    if (branch.tip or "") != offer.tip or tips.of(DRAFT_BRANCHES, skill) not in (offer.seen, offer.tip):
        return _moved(offer)
    push = partial(desk.checked, remote, target, offer, partial(remote.push_draft, branch, tips))
    done = post_offer(desk.access.forge, offer, push)
    if not offer.tip:
        push()  # last, because a forge closes the pull request of a branch that goes, and would not say why
    return done


def _moved(offer: BranchOffer) -> PullRequestUpdate:
    note = f"not offered: {offer.branch} was moved since this night looked at it; the next night goes on from there"
    return PullRequestUpdate(notes=(*offer.notes, note), withheld=True)


@dataclass(frozen=True, slots=True)
class PullRequestDecision:
    """What to do, with which pull request, and why."""

    action: Literal["open", "update", "close", "leave"]
    number: int | None
    reason: str


def decide_pull_request(offer: BranchOffer, requests: Sequence[PullRequest]) -> PullRequestDecision:
    """Decide what to do with a skill's pull request.

    A text whose pull request people closed or merged never gets another one: if a merged text is gone, somebody
    reverted it on purpose. A draft is written anew by each run, so it is its text that was refused, not its commit.
    """
    opened = next((one.number for one in requests if one.state == "open"), None)
    if offer.moot_reason:
        return PullRequestDecision("leave" if opened is None else "close", opened, offer.moot_reason)
    if offer.unfit_reason:
        return PullRequestDecision("leave", opened, offer.unfit_reason)
    if opened is not None:
        return PullRequestDecision("update", opened, "")
    withdrawn = next((one for one in requests if one.number == offer.opened and closed_by_people(one)), None)
    if withdrawn is not None:
        reason = f"#{withdrawn.number} was closed by people during this night; the next night declines what it offered"
        return PullRequestDecision("leave", withdrawn.number, reason)
    decided = [one for one in requests if one.state == "merged" or closed_by_people(one)]
    settled = next((one for one in decided if one.head == offer.tip or (offer.mark and offer.mark in one.body)), None)
    if settled is not None:
        what = "text" if offer.mark else "version"
        reason = f"#{settled.number} with this {what} was {settled.state} by people"
        return PullRequestDecision("leave", settled.number, reason)
    return PullRequestDecision("open", None, "")


def post_offer(forge: Forge, offer: BranchOffer, push: Callable[[], bool]) -> PullRequestUpdate:
    """Do what the policy decides for the pull request of a branch."""
    try:
        requests = forge.pull_requests(offer.branch)
    except ForgeError:
        if decide_pull_request(offer, ()).action == "open":
            push()  # so that a version outlives the machine that trained it
        raise
    found = decide_pull_request(offer, requests)
    # Where people deleted the branch, a decision does not bring it back; one that never was there had no pull request.
    decided = offer.decided and (offer.seen != "" or not requests)
    pushed = (found.action in ("open", "update") or decided) and push()
    opened, url = open_request(requests), next((one.url for one in requests if one.number == found.number), "")
    if found.action == "leave":
        withheld = offer.waits and opened is None
        what = f"{'the draft is ' if offer.mark else ''}not offered: " if withheld else ""
        said = (*offer.notes, *([f"{what}{found.reason}"] if found.reason else []))
        return PullRequestUpdate("", url, said, is_open=opened is not None, withheld=withheld)
    if found.action == "close" and opened is not None:
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
            forge.comment(request.number, _ANSWERS, truncate(said, LONGEST_BODY))
        done, body = last_handled(request.body)
        if answer.last > done:
            # Never beyond what was said by now, or what people ask later would count as answered.
            last = min(answer.last, max((comment.id for comment in forge.comments(request.number)), default=done))
            text = f"{body.rstrip()}\n\n{handled_mark(last)}\n"
            forge.update(request.number, request.title, text)


def _update_text(forge: Forge, offer: BranchOffer, opened: PullRequest) -> bool:
    """Rewrite title and text of an open pull request for what is offered, unless they were written for it already."""
    marked = opened.body.startswith(CLOSED_BY_NIGHT)  # people opened it again
    if not offer.title or (offer.known_by and offer.known_by in opened.body and not marked):
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
