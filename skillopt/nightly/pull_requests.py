"""What is offered of a skill's newest version and of its draft, with the texts of their pull requests.

It is written down without asking any forge; posting does what the policy decides, when there is a token.
"""

from dataclasses import dataclass
from typing import Final

from skillopt.nightly.offers import NO_RECORD, Offer, find_draft_offer, find_version_offer
from skillopt.nightly.posting import BranchOffer
from skillopt.nightly.skill_state import DefaultBranch, SkillState
from skillopt.project import Project
from skillopt.reports.load_view import load_view
from skillopt.reports.pull_request import LIMIT, OfferKind, pull_request_body, pull_request_title
from skillopt.runs.draft_publication import became_version
from skillopt.storage.ledger import Ledger
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.remotes import Remote, Tips

__all__ = ["NightlyContext", "offer_draft", "offer_version"]

_MARKS: Final = 60
"""Characters of a text that are left for marks which are not shown."""


@dataclass(frozen=True, slots=True)
class NightlyContext:
    """Where versions are offered.

    Args:
        project: What is offered.
        remote: Holds the branches; None where there is none.
        tips: Where its branches are.
        default_branch: The default branch.
    """

    project: Project
    remote: Remote | None
    tips: Tips | None
    default_branch: DefaultBranch


def offer_version(context: NightlyContext, state: SkillState, ledger: Ledger) -> BranchOffer | None:
    """Say what is offered of a skill's newest version, None where its branch does not exist.

    Args:
        context: Repository and remote.
        state: State of the skill.
        ledger: Where its runs are recorded.
    """
    if not state.tip:
        return None
    offer = find_version_offer(state, context.default_branch.name, ledger)
    seen = context.tips.skills.get(state.target.name, "") if context.tips else ""
    return _offered(context, ledger, offer, seen, _notes(context, state))


def offer_draft(context: NightlyContext, state: SkillState, ledger: Ledger) -> BranchOffer | None:
    """Say what is offered of a skill's draft, None where there is and was none.

    A draft that has become a version is removed.

    Args:
        context: Repository and remote.
        state: State of the skill.
        ledger: Where its runs are recorded.
    """
    repository = context.project.repository()
    branch = DraftBranch(repository, state.target.name, repository.relative(state.target.folder))
    if became_version(branch):
        branch.remove()
    seen = context.tips.drafts.get(state.target.name, "") if context.tips else ""
    if branch.tip is None and not seen:
        return None
    return _offered(context, ledger, find_draft_offer(state, repository, ledger), seen, [])


def _offered(context: NightlyContext, ledger: Ledger, offer: Offer, seen: str, notes: list[str]) -> BranchOffer:
    """Write an offer down, with title and text where it may have a pull request."""
    title, body = "", ""
    if offer.record is not None and not offer.unfit_reason and not offer.moot_reason:
        view = load_view(context.project, ledger, offer.record)
        kind = OfferKind.DRAFT if offer.mark else OfferKind.VERSION if offer.proven else OfferKind.UNPROVEN
        body = pull_request_body(view, LIMIT - len(offer.mark) - _MARKS, kind)
        title, body = pull_request_title(view, kind), f"{body}\n{offer.mark}\n" if offer.mark else body
    return BranchOffer(
        branch=offer.branch,
        seen=seen,
        tip=offer.tip,
        unfit_reason=offer.unfit_reason,
        moot_reason=offer.moot_reason,
        missing_reason=_missing_record(offer, ledger) if offer.unfit_reason == NO_RECORD else "",
        proven=offer.proven,
        mark=offer.mark,
        known_by=offer.record.id if offer.record is not None else "",
        title=title,
        body=body,
        notes=tuple(notes),
    )


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
