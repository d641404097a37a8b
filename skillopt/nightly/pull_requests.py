"""What is offered of a skill's newest version and of its draft, with the texts of their pull requests.

It is written down without asking any forge; posting does what the policy decides, when there is a token.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.nightly.known_texts import DefaultBranch
from skillopt.nightly.offer_claims import ClaimSources
from skillopt.nightly.offer_texts import write_offer
from skillopt.nightly.offered import OfferPlace
from skillopt.nightly.offers import NO_RECORD, Offer, find_draft_offer, find_version_offer
from skillopt.nightly.posting import BranchOffer
from skillopt.nightly.review_state import open_text
from skillopt.nightly.skill_state import SkillState
from skillopt.project import Project, Target
from skillopt.protocols import PullRequest
from skillopt.runs.draft_publication import became_version
from skillopt.storage.ledger import Ledger
from skillopt.tasks import digest_of
from skillopt.versions.decisions import read_decisions
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.remotes import Remote, Tips

__all__ = ["NightlyContext", "OfferMaking", "offer_draft", "offer_version"]


@dataclass(frozen=True, slots=True)
class NightlyContext:
    """Where versions are offered."""

    project: Project
    remote: Remote | None
    tips: Tips | None
    default_branch: DefaultBranch

    def take_up(self, target: Target) -> None:
        """Fast-forward a skill's branch to the remote's, and take up the remote's draft."""
        if self.remote is None or self.tips is None:
            return
        repository = self.remote.repository
        self.remote.fast_forward(target.name, self.tips.skills.get(target.name))
        # A draft that people declined stays on the remote until the night pushes.
        if self.tips.drafts.get(target.name) not in read_decisions(repository, target.name).declined:
            place = DraftBranch(repository, target.name, repository.relative(target.folder))
            self.remote.take_up_draft(place, self.tips)


@dataclass(frozen=True, slots=True)
class OfferMaking:
    """What offers are made with."""

    context: NightlyContext
    ledger: Ledger
    report: Path | None = None
    observer: RunObserver = field(default_factory=RunObserver)
    allowance: Meter | None = None


@dataclass(frozen=True, slots=True)
class _There:
    """What remote and forge have of a branch."""

    seen: str
    opened: str
    may_open: bool


def offer_version(making: OfferMaking, state: SkillState, requests: Sequence[PullRequest] = ()) -> BranchOffer | None:
    """Return what is offered of a skill's newest version, None where its branch does not exist."""
    context = making.context
    if not state.tip:
        return None
    offer = find_version_offer(state, context.default_branch.name, making.ledger)
    seen = context.tips.skills.get(state.target.name, "") if context.tips else ""
    may_open = not any(one.head == state.tip for one in requests)
    return _offered(making, state, offer, _There(seen, open_text(requests), may_open), _notes(context, state))


def offer_draft(making: OfferMaking, state: SkillState, requests: Sequence[PullRequest] = ()) -> BranchOffer | None:
    """Return what is offered of a skill's draft, None where there is and was none.

    A draft that has become a version is removed.
    """
    context = making.context
    repository = context.project.repository()
    branch = DraftBranch(repository, state.target.name, repository.relative(state.target.folder))
    if became_version(branch):
        branch.remove()
    seen = context.tips.drafts.get(state.target.name, "") if context.tips else ""
    if branch.tip is None and not seen:
        return None
    offer = find_draft_offer(state, repository, making.ledger)
    return _offered(making, state, offer, _There(seen, open_text(requests), may_open=False), [])


def _offered(making: OfferMaking, state: SkillState, offer: Offer, there: _There, notes: list[str]) -> BranchOffer:
    """Write an offer down, with title and text where it may have a pull request.

    Where the record of its run is gone, as in a clone without a ledger, an open pull request must still be true: its
    text is measured anew as soon as it is of other texts or tasks than it was measured with. A version that never had a
    pull request gets one as soon as it is measured.
    """
    place = _place(making.context, state, offer)
    measured = _measured_mark(state, place)
    unrecorded = offer.unfit_reason == NO_RECORD
    to_measure = unrecorded and (measured not in there.opened if there.opened else there.may_open)
    unfit = "" if to_measure else offer.unfit_reason
    made = BranchOffer(
        branch=offer.branch,
        seen=there.seen,
        tip=offer.tip,
        unfit_reason=unfit,
        moot_reason=offer.moot_reason,
        missing_reason=_missing_record(offer, making.ledger) if unfit == NO_RECORD else "",
        mark=offer.mark,
        notes=tuple(notes),
    )
    if unfit or offer.moot_reason or not offer.tip or (offer.record is None and not to_measure):
        return made
    sources = ClaimSources(making.context.project, state.target, making.ledger, making.observer, making.allowance)
    written = write_offer(sources, place)
    if unrecorded and not there.opened and written.view.claim is None:
        reason = f"{NO_RECORD}, and it could not be measured: {written.view.unmeasured}"
        return made.model_copy(update={"unfit_reason": reason})
    if written.page and making.report is not None:
        making.report.mkdir(parents=True, exist_ok=True)
        name = f"{state.target.name}{'-draft' if written.view.draft else ''}-before-after.html"
        (making.report / name).write_text(written.page, encoding="utf-8")
    marks = [offer.mark, measured if written.view.claim is not None else ""]
    body = "\n".join([written.body, *filter(None, marks)]).rstrip() + "\n"
    said = {"proven": written.view.proven, "known_by": written.mark, "title": written.title, "body": body}
    return made.model_copy(update=said)


def _place(context: NightlyContext, state: SkillState, offer: Offer) -> OfferPlace:
    repository, into = context.project.repository(), context.default_branch
    path, base = repository.relative(state.target.folder), into.commit or repository.head() or ""
    return OfferPlace(repository, state.target.name, path, offer.branch, offer.tip, into.name, base)


def _measured_mark(state: SkillState, place: OfferPlace) -> str:
    """Return the hidden line that names the texts and the suite that a pull request was measured with."""
    texts = digest_of(place.text(place.base), place.text(place.tip), state.due_facts.suite)
    return f"<!-- skillopt measured: {texts[:16]} -->"


def _missing_record(offer: Offer, ledger: Ledger) -> str:
    return (
        f"expected the record of the run that made {offer.tip[:10]}, found none in {ledger.path}; restore it from "
        f"the machine that trained {offer.branch.rpartition('/')[2]}, or open the pull request by hand"
    )


def _notes(context: NightlyContext, state: SkillState) -> list[str]:
    """List remarks on the branch: an older base, commits by people."""
    remote, default_branch = context.remote, context.default_branch
    if remote is None or not default_branch.commit or state.on_default_branch:
        return []
    people = remote.commits_by_people(state.target.name, state.tip, [default_branch.commit])
    older = not remote.repository.contains(state.tip, default_branch.commit)
    return [
        *([f"the branch is based on an older {default_branch.name}"] if older else []),
        *([f"{len(people)} commit{'' if len(people) == 1 else 's'} on the branch by people; kept"] if people else []),
    ]
