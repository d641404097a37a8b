"""What is offered of a skill's newest version and of its draft, with the texts of their pull requests.

It is written down without asking any forge; posting does what the policy decides, when there is a token.
"""

from dataclasses import dataclass, field
from pathlib import Path

from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.nightly.offer_claims import ClaimSources
from skillopt.nightly.offer_texts import write_offer
from skillopt.nightly.offered import OfferPlace
from skillopt.nightly.offers import NO_RECORD, Offer, find_draft_offer, find_version_offer
from skillopt.nightly.posting import BranchOffer
from skillopt.nightly.skill_state import DefaultBranch, SkillState
from skillopt.project import Project
from skillopt.runs.draft_publication import became_version
from skillopt.storage.ledger import Ledger
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.remotes import Remote, Tips

__all__ = ["NightlyContext", "OfferMaking", "offer_draft", "offer_version"]


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


@dataclass(frozen=True, slots=True)
class OfferMaking:
    """What offers are made with.

    Args:
        context: Repository and remote.
        ledger: Where runs are recorded.
        report: Folder for pages of tasks before and after; None for none.
        observer: Follows what is measured.
        allowance: Caps what measuring may cost; None for no cap beside the settings' own.
    """

    context: NightlyContext
    ledger: Ledger
    report: Path | None = None
    observer: RunObserver = field(default_factory=RunObserver)
    allowance: Meter | None = None


def offer_version(making: OfferMaking, state: SkillState) -> BranchOffer | None:
    """Say what is offered of a skill's newest version, None where its branch does not exist.

    Args:
        making: What it is made with.
        state: State of the skill.
    """
    context = making.context
    if not state.tip:
        return None
    offer = find_version_offer(state, context.default_branch.name, making.ledger)
    seen = context.tips.skills.get(state.target.name, "") if context.tips else ""
    return _offered(making, state, offer, seen, _notes(context, state))


def offer_draft(making: OfferMaking, state: SkillState) -> BranchOffer | None:
    """Say what is offered of a skill's draft, None where there is and was none.

    A draft that has become a version is removed.

    Args:
        making: What it is made with.
        state: State of the skill.
    """
    context = making.context
    repository = context.project.repository()
    branch = DraftBranch(repository, state.target.name, repository.relative(state.target.folder))
    if became_version(branch):
        branch.remove()
    seen = context.tips.drafts.get(state.target.name, "") if context.tips else ""
    if branch.tip is None and not seen:
        return None
    return _offered(making, state, find_draft_offer(state, repository, making.ledger), seen, [])


def _offered(making: OfferMaking, state: SkillState, offer: Offer, seen: str, notes: list[str]) -> BranchOffer:
    """Write an offer down, with title and text where it may have a pull request."""
    made = BranchOffer(
        branch=offer.branch,
        seen=seen,
        tip=offer.tip,
        unfit_reason=offer.unfit_reason,
        moot_reason=offer.moot_reason,
        missing_reason=_missing_record(offer, making.ledger) if offer.unfit_reason == NO_RECORD else "",
        mark=offer.mark,
        notes=tuple(notes),
    )
    if offer.record is None or offer.unfit_reason or offer.moot_reason:
        return made
    context, repository = making.context, making.context.project.repository()
    into = context.default_branch
    place = OfferPlace(
        repository,
        state.target.name,
        repository.relative(state.target.folder),
        offer.branch,
        offer.tip,
        into.name,
        into.commit or repository.head() or "",
    )
    sources = ClaimSources(context.project, state.target, making.ledger, making.observer, making.allowance)
    written = write_offer(sources, place)
    if written.page and making.report is not None:
        making.report.mkdir(parents=True, exist_ok=True)
        name = f"{state.target.name}{'-draft' if written.view.draft else ''}-before-after.html"
        (making.report / name).write_text(written.page, encoding="utf-8")
    body = f"{written.body}\n{offer.mark}\n" if offer.mark else written.body
    said = {"proven": written.view.proven, "known_by": written.mark, "title": written.title, "body": body}
    return made.model_copy(update=said)


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
