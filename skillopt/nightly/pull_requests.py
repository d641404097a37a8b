"""Open, update and close the pull requests of a skill's newest version and of its draft, as the policy decides.

The steps are idempotent and in an order that can stop anywhere, so that running them again continues.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skillopt.errors import ForgeError, LedgerError
from skillopt.nightly.offers import NO_RECORD, Offer, find_draft_offer, find_version_offer
from skillopt.nightly.pull_request_policy import Action, BranchFacts, decide_pull_request
from skillopt.nightly.skill_state import DefaultBranch, SkillState
from skillopt.project import Project
from skillopt.protocols import Forge, PullRequest
from skillopt.reports.load_view import load_view
from skillopt.reports.pull_request import LIMIT, OfferKind, pull_request_body, pull_request_title
from skillopt.runs.draft_publication import became_version
from skillopt.storage.ledger import Ledger
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.remotes import Remote, Tips

__all__ = ["NightlyContext", "PullRequestUpdate", "update_draft_pull_request", "update_pull_request"]

_TOPIC = "nightly"


@dataclass(frozen=True, slots=True)
class NightlyContext:
    """Where versions are offered.

    Args:
        project: What is offered.
        forge: Keeps pull requests.
        remote: Holds the branches; None where there is none.
        tips: Where its branches are.
        default_branch: The default branch.
    """

    project: Project
    forge: Forge
    remote: Remote | None
    tips: Tips | None
    default_branch: DefaultBranch


@dataclass(frozen=True, slots=True)
class PullRequestUpdate:
    """What was done with a pull request.

    Args:
        action: `opened`, `updated`, `closed`; empty when nothing changed.
        url: Its address, empty when there is none.
        notes: Remarks for the reader.
        is_open: Whether it is open now.
    """

    action: str = ""
    url: str = ""
    notes: tuple[str, ...] = ()
    is_open: bool = False


def update_pull_request(context: NightlyContext, state: SkillState, ledger: Ledger) -> PullRequestUpdate:
    """Push a skill's branch and bring its pull request up to date; doing it again changes nothing.

    The branch is pushed even where the forge is down, so that a version outlives the machine that trained it.

    Args:
        context: Repository, remote and forge.
        state: State of the skill.
        ledger: Where its runs are recorded.

    Raises:
        VersionConflictError: The remote's branch was moved by someone.
        RemoteError: The remote failed.
        ForgeError: The forge failed.
        LedgerError: A version that has no pull request yet is not recorded in the ledger.
    """
    if not state.tip:
        return PullRequestUpdate()
    offer = find_version_offer(state, context.default_branch.name, ledger)

    def push() -> bool:
        remote, tips = context.remote, context.tips
        return remote is not None and tips is not None and remote.push(state.target.name, tips)

    return _update(_Desk(context, ledger, push), offer, tuple(_notes(context, state)))


def update_draft_pull_request(
    context: NightlyContext, state: SkillState, ledger: Ledger, version: PullRequestUpdate
) -> PullRequestUpdate:
    """Push a skill's draft and bring its draft pull request up to date; doing it again changes nothing.

    Args:
        context: Repository, remote and forge.
        state: State of the skill.
        ledger: Where its runs are recorded.
        version: What was done for the skill's newest version, whose open pull request comes first.

    Raises:
        VersionConflictError: People have committed on the remote's draft.
        RemoteError: The remote failed.
        ForgeError: The forge failed.
    """
    repository, remote, tips = context.project.repository(), context.remote, context.tips
    branch = DraftBranch(repository, state.target.name, repository.relative(state.target.folder))
    if became_version(branch):
        branch.remove()
    known = remote is not None and tips is not None and state.target.name in tips.drafts
    if branch.tip is None and not known:
        return PullRequestUpdate()
    waits = f"the pull request of the newest version comes first: {version.url}" if version.is_open else ""
    offer = find_draft_offer(state, repository, ledger, waits)

    def push() -> bool:
        return remote is not None and tips is not None and remote.push_draft(branch, tips)

    done = _update(_Desk(context, ledger, push), offer, ())
    if not offer.tip:
        push()  # last, because a forge closes the pull request of a branch that goes, and would not say why
    return done


@dataclass(frozen=True, slots=True)
class _Desk:
    """Where an offer is made: project and forge, the ledger its numbers are from, and what pushes its branch."""

    context: NightlyContext
    ledger: Ledger
    push: Callable[[], bool]


def _update(desk: _Desk, offer: Offer, notes: tuple[str, ...]) -> PullRequestUpdate:
    """Do what the policy decides for a pull request."""
    facts, forge = BranchFacts(offer.tip, offer.moot_reason, offer.unfit_reason, offer.mark), desk.context.forge
    requests = _list_pull_requests(desk, offer, facts)
    found = decide_pull_request(facts, requests)
    pushed = found.action in (Action.OPEN, Action.UPDATE) and desk.push()
    still_open = any(one.state == "open" for one in requests)
    match found.action:
        case Action.LEAVE:
            if found.reason == NO_RECORD and not any(one.state == "open" or one.head == offer.tip for one in requests):
                raise LedgerError(_missing_record(offer, desk.ledger))
            said = (*notes, *filter(None, [found.reason]))
            return PullRequestUpdate("", _url(requests, found.number), said, is_open=still_open)
        case Action.CLOSE:
            number = found.number or 0
            forge.comment(number, _TOPIC, f"Closed by `skillopt nightly`: {found.reason}.")
            forge.close(number)
            return PullRequestUpdate("closed", _url(requests, number), (*notes, found.reason))
        case Action.UPDATE:
            one = next(one for one in requests if one.state == "open")
            rewritten = _update_text(desk, offer, one)
            if one.draft and offer.proven:
                notes = (*notes, f"#{one.number} is a draft, and its version is proven: mark it ready for review")
            return PullRequestUpdate("updated" if pushed or rewritten else "", one.url, notes, is_open=True)
        case Action.OPEN:
            base = forge.facts().default_branch
            opened = forge.create(offer.branch, base, *_title_and_body(desk, offer), draft=not offer.proven)
            return PullRequestUpdate("opened", opened.url, notes, is_open=True)


def _list_pull_requests(desk: _Desk, offer: Offer, facts: BranchFacts) -> tuple[PullRequest, ...]:
    """List the pull requests from a branch; where the forge is down, push the branch first."""
    try:
        return desk.context.forge.pull_requests(offer.branch)
    except ForgeError:
        if decide_pull_request(facts, ()).action is Action.OPEN:
            desk.push()
        raise


def _update_text(desk: _Desk, offer: Offer, opened: PullRequest) -> bool:
    """Rewrite title and text of an open pull request for what is offered, unless they are of that run already."""
    if offer.record is not None and offer.record.id in opened.body:
        return False
    what = "a newer version" if offer.proven or not offer.mark else "a newer draft"
    comment = f"`skillopt nightly` pushed {what}, {offer.tip[:10]}; the description is of that one."
    desk.context.forge.comment(opened.number, _TOPIC, comment)  # first, so that a night that ends here does both again
    desk.context.forge.update(opened.number, *_title_and_body(desk, offer))
    return True


def _missing_record(offer: Offer, ledger: Ledger) -> str:
    return (
        f"expected the record of the run that made {offer.tip[:10]}, found none in {ledger.path}; restore it from "
        f"the machine that trained {offer.branch.rpartition('/')[2]}, or open the pull request by hand"
    )


def _title_and_body(desk: _Desk, offer: Offer) -> tuple[str, str]:
    """Give title and text; every number in them is read from the ledger."""
    if offer.record is None:
        message = "a version gets a pull request only with the record of its run"
        raise AssertionError(message)
    view = load_view(desk.context.project, desk.ledger, offer.record)
    kind = OfferKind.DRAFT if offer.mark else OfferKind.VERSION if offer.proven else OfferKind.UNPROVEN
    body = pull_request_body(view, LIMIT - len(offer.mark) - 2, kind)
    return pull_request_title(view, kind), f"{body}\n{offer.mark}\n" if offer.mark else body


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


def _url(requests: Sequence[PullRequest], number: int | None) -> str:
    return next((one.url for one in requests if one.number == number), "")
