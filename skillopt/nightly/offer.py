"""The step `nightly offer`: push what training left, and open, update or close pull requests.

It runs no model and no code of skills or suites, and pushes nothing that it has not checked against the remote.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from skillopt.errors import BusyError, SkilloptError, UsageError, VersionConflictError
from skillopt.nightly.check import ForgeAccess, find_access
from skillopt.nightly.descriptions import find_descriptions
from skillopt.nightly.handover import BUNDLE, SkillOffers, read_offers
from skillopt.nightly.night import Nightly, SkillNight, Training, with_failure
from skillopt.nightly.posting import BranchOffer, PullRequestUpdate, open_request, post_answers, post_offer
from skillopt.project import Project, Selection, Target
from skillopt.reports.markdown import comment_marker
from skillopt.storage.locks import writer_lock
from skillopt.versions.branches import DRAFT_BRANCHES, VERSION_BRANCHES, DraftBranch, people_commits
from skillopt.versions.bundles import check_commits, read_bundle
from skillopt.versions.records import add_records
from skillopt.versions.refusals import add_refusals
from skillopt.versions.remotes import Remote, Tips

_ENDED: Final = (Training.GONE, Training.NO_SUITE)

_PREFIXES: Final = {"version": "skillopt", "draft": "skillopt-draft"}


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
        return row if row.training is Training.GONE else _posted(desk, row, offers)
    except BusyError:
        return replace(row, training=Training.BUSY, reason="another run trains it")
    except SkilloptError as error:
        return with_failure(row, error)


def _posted(desk: _Desk, row: SkillNight, offers: SkillOffers) -> SkillNight:
    target = desk.project.target(Selection(offers.skill, folder=desk.project.root))
    if target.name != offers.name:
        raise UsageError(f"expected offers of the skill {target.name!r}, found {offers.name!r}; train again")
    with writer_lock(desk.project.root, f"{offers.name}@nightly"):
        if desk.access.remote is not None:
            desk.access.remote.push_lines(offers.name)
        if (version := _expected(offers, "version")) is not None:
            row = replace(row, offer=_post_version(desk, target, version))
        if (draft := _expected(offers, "draft")) is not None:
            row = replace(row, draft=_post_draft(desk, target, draft, row.offer))
        branches = [f"{prefix}/{offers.name}" for prefix in _PREFIXES.values()]
        post_answers(desk.access.forge, branches, offers.answers)
        return row


def _close(desk: _Desk, row: SkillNight, offers: SkillOffers) -> tuple[SkillNight, SkillOffers]:
    """Close the pull requests of a skill that is trained no more, and give what else is offered of it."""
    for kind in ("version", "draft"):
        if (offer := _expected(offers, kind)) is not None and not (offer.tip or offer.seen):
            opened = open_request(desk.access.forge.pull_requests(offer.branch))
            if opened is None or comment_marker(offers.name) not in opened.body:
                continue  # a person opened it
            done = post_offer(desk.access.forge, offer, lambda: False)
            row = replace(row, offer=done) if kind == "version" else replace(row, draft=done)
    gone = {
        kind: None for kind in _PREFIXES if (one := getattr(offers, kind)) is not None and not (one.tip or one.seen)
    }
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
