"""The command `nightly offer`: push what training left, and open, update or close pull requests.

It runs no model and no code of skills or suites, and pushes nothing that it has not checked against the remote.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from skillopt.actions.nightly.check import ForgeAccess, find_access
from skillopt.errors import BusyError, ForgeError, SkilloptError, UsageError, VersionConflictError
from skillopt.nightly.dashboard import update_dashboard
from skillopt.nightly.newcomers import Newcomers, OpenLimit
from skillopt.nightly.night import Nightly, SkillNight, Training, with_failure
from skillopt.nightly.offer_folder import BUNDLE, OfferFolder, SkillOffers, read_offers
from skillopt.nightly.posting import BranchOffer, PullRequestUpdate, post_answers, post_offer
from skillopt.project import Project, Selection
from skillopt.storage.locks import writer_lock
from skillopt.triggers.description import is_described
from skillopt.versions.bundles import check_commits, read_bundle
from skillopt.versions.draft_branch import DRAFT_BRANCHES, DraftBranch
from skillopt.versions.remotes import Remote, Tips

__all__ = ["offer_night"]

_PREFIXES: Final = ("skillopt", "skillopt-draft", "skillopt-trigger")


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where offers are made: forge, remote, where its branches are now, and how many pull requests may be open."""

    project: Project
    access: ForgeAccess
    tips: Tips | None
    limit: OpenLimit

    @property
    def known(self) -> tuple[str, ...]:
        """List the commits that the remote has."""
        return self.tips.all if self.tips else ()


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
    settings = found.settings(flags or {}).nightly
    limit = OpenLimit(settings.most_open or 0, _count_open(access, left) if settings.most_open else 0)
    desk, offers = _Desk(found, access, tips, limit), {one.skill: one for one in left.offers}
    rows = (_post(desk, row, offers[row.skill]) if row.skill in offers else row for row in left.night.skills)
    done = replace(left.night, skills=tuple(rows))
    if not settings.dashboard:
        return done
    try:
        url = update_dashboard(access.forge, left.record, done.skills, settings.monthly_usd, datetime.now(UTC))
    except ForgeError as error:
        return replace(done, problems=(f"the dashboard was not updated: {error}",))
    return replace(done, dashboard=url)


def _count_open(access: ForgeAccess, left: OfferFolder) -> int:
    """Count the pull requests that are open now."""
    branches = (f"{prefix}/{one.name}" for one in left.offers for prefix in _PREFIXES)
    return sum(any(request.state == "open" for request in access.forge.pull_requests(one)) for one in branches)


def _post(desk: _Desk, row: SkillNight, offers: SkillOffers) -> SkillNight:
    """Offer what there is of a skill, under a lock against other nights."""
    try:
        target = desk.project.target(Selection(offers.skill, folder=desk.project.root))
        if target.name != offers.name:
            raise UsageError(f"expected offers of the skill {target.name!r}, found {offers.name!r}; train again")
        path, settings = desk.project.repository().relative(target.folder), target.settings.nightly
        with writer_lock(desk.project.root, f"{offers.name}@nightly"):
            if offers.version is not None:
                newcomers = desk.limit.newcomers(settings)
                row = replace(row, offer=_post_version(desk, offers.name, offers.version, path, newcomers))
                desk.limit.count(row.offer.action)
            if offers.draft is not None:
                newcomers = desk.limit.newcomers(settings)
                row = replace(row, draft=_post_draft(desk, offers.name, offers.draft, path, row.offer, newcomers))
                desk.limit.count(row.draft.action)
            if offers.description is not None:
                newcomers = desk.limit.newcomers(settings)
                row = replace(row, description=_post_version(desk, offers.name, offers.description, path, newcomers))
                desk.limit.count(row.description.action)
            branches = [f"{prefix}/{offers.name}" for prefix in _PREFIXES]
            post_answers(desk.access.forge, branches, offers.answers)
            return row
    except BusyError:
        return replace(row, training=Training.BUSY, reason="another run trains it")
    except SkilloptError as error:
        return with_failure(row, error)


def _post_version(desk: _Desk, skill: str, offer: BranchOffer, path: str, newcomers: Newcomers) -> PullRequestUpdate:
    """Take the newest version, or description, over from the bundle, push it, and bring its pull request up to date."""
    if offer.branch not in (f"skillopt/{skill}", f"skillopt-trigger/{skill}"):
        raise UsageError(f"expected an offer from skillopt/{skill}, found one from {offer.branch!r}; train again")
    if not offer.tip:
        raise UsageError(f"expected the newest commit of {offer.branch} in the offer, found none; train again")
    remote, tips = desk.access.remote, desk.tips
    if remote is None or tips is None:
        return post_offer(desk.access.forge, offer, lambda: False, newcomers)
    branches = f"refs/heads/{offer.branch.removesuffix(skill)}"
    remote.fast_forward(skill, tips.of(branches).get(skill), branches)
    remote.fast_forward(skill, offer.tip, branches)
    if remote.repository.ref_tip(f"{branches}{skill}") != offer.tip:
        return _moved(offer)
    push = _checked_push(desk, remote, offer, path, partial(remote.push, skill, tips, branches))
    return post_offer(desk.access.forge, offer, push, newcomers)


def _post_draft(
    desk: _Desk, skill: str, offer: BranchOffer, path: str, version: PullRequestUpdate, newcomers: Newcomers
) -> PullRequestUpdate:
    """Take the draft over from the bundle, push or remove it, and bring its pull request up to date."""
    if offer.branch != f"skillopt-draft/{skill}":
        raise UsageError(f"expected an offer from skillopt-draft/{skill}, found one from {offer.branch!r}; train again")
    remote, tips = desk.access.remote, desk.tips
    if version.is_open and not (offer.unfit_reason and not offer.missing_reason):
        waits = f"the pull request of the newest version comes first: {version.url}"
        offer = offer.model_copy(update={"unfit_reason": waits, "missing_reason": ""})
    if remote is None or tips is None:
        return post_offer(desk.access.forge, offer, lambda: False, newcomers)
    branch, there = DraftBranch(remote.repository, skill, path), tips.drafts.get(skill, "")
    if branch.tip is None and offer.tip:
        problem = remote.repository.move_branch(f"{DRAFT_BRANCHES}{skill}", None, offer.tip)
        if problem:
            raise VersionConflictError(f"{problem}; mend that and run this again")
    if (branch.tip or "") != offer.tip or there not in (offer.seen, offer.tip):
        return _moved(offer)
    push = _checked_push(desk, remote, offer, path, partial(remote.push_draft, branch, tips))
    done = post_offer(desk.access.forge, offer, push, newcomers)
    if not offer.tip:
        push()  # last, because a forge closes the pull request of a branch that goes, and would not say why
    return done


def _checked_push(
    desk: _Desk, remote: Remote, offer: BranchOffer, path: str, push: Callable[[], bool]
) -> Callable[[], bool]:
    """Check what a branch changes before it is pushed."""

    def checked() -> bool:
        if offer.tip:
            describes = is_described if offer.branch.startswith("skillopt-trigger/") else None
            check_commits(remote.repository, offer.branch, offer.tip, path, desk.known, describes)
        return push()

    return checked


def _moved(offer: BranchOffer) -> PullRequestUpdate:
    note = f"{offer.branch} was moved since this night looked at it; the next night offers what is there"
    return PullRequestUpdate(notes=(*offer.notes, note))
