"""Open, update and close the pull request of a skill's newest version, as the policy decides.

The steps are idempotent and in an order that can stop anywhere, so that running them again continues.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.errors import ForgeError, LedgerError
from skillopt.gate.comparison import Outcome
from skillopt.loop.events import Event, HeldOutTestMeasured, ReleaseCheckWithheld, decode_event
from skillopt.nightly.pull_request_policy import Action, BranchFacts, decide_pull_request
from skillopt.nightly.skill_state import DefaultBranch, SkillState
from skillopt.project import Project
from skillopt.protocols import Forge, PullRequest
from skillopt.reports.load_view import load_view
from skillopt.reports.pull_request import pull_request_body, pull_request_title
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.versions.remotes import Remote, Tips

__all__ = ["NightlyContext", "PullRequestUpdate", "update_pull_request"]

_TOPIC = "nightly"
_NO_RECORD = "the record of its run is not here"


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
    """

    action: str = ""
    url: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Release:
    """The run behind the newest version, and why that version gets no pull request; empty when it may have one."""

    record: RunRecord | None
    unfit_reason: str


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
    branch, release = f"skillopt/{state.target.name}", _find_release(state, ledger)
    facts = BranchFacts(
        state.tip, context.default_branch.name, state.on_default_branch, state.diverged, release.unfit_reason
    )
    requests = _list_pull_requests(context, state, facts)
    found = decide_pull_request(facts, requests)
    pushed = found.action in (Action.OPEN, Action.UPDATE) and _push(context, state)
    notes = tuple(_notes(context, state))
    match found.action:
        case Action.LEAVE:
            if found.reason == _NO_RECORD and not any(one.state == "open" or one.head == state.tip for one in requests):
                raise LedgerError(_missing_record(state, ledger))
            return PullRequestUpdate("", _url(requests, found.number), (*notes, *filter(None, [found.reason])))
        case Action.CLOSE:
            number = found.number or 0
            context.forge.comment(number, _TOPIC, f"Closed by `skillopt nightly`: {found.reason}.")
            context.forge.close(number)
            return PullRequestUpdate("closed", _url(requests, number), (*notes, found.reason))
        case Action.UPDATE:
            one = next(one for one in requests if one.state == "open")
            rewritten = _update_text(context, state, release, ledger, one)
            return PullRequestUpdate("updated" if pushed or rewritten else "", one.url, notes)
        case Action.OPEN:
            base = context.forge.default_branch()
            opened = context.forge.create(branch, base, *_title_and_body(context, release, ledger))
            return PullRequestUpdate("opened", opened.url, notes)


def _list_pull_requests(context: NightlyContext, state: SkillState, facts: BranchFacts) -> tuple[PullRequest, ...]:
    """List the pull requests from a skill's branch; where the forge is down, push the branch first."""
    try:
        return context.forge.pull_requests(f"skillopt/{state.target.name}")
    except ForgeError:
        if decide_pull_request(facts, ()).action is Action.OPEN:
            _push(context, state)
        raise


def _push(context: NightlyContext, state: SkillState) -> bool:
    """Push a skill's branch, where there is a remote; tell whether there was anything to push."""
    if context.remote is None or context.tips is None:
        return False
    return context.remote.push(state.target.name, context.tips)


def _update_text(
    context: NightlyContext, state: SkillState, release: _Release, ledger: Ledger, opened: PullRequest
) -> bool:
    """Rewrite title and text of an open pull request for the newest version, unless they are of that run already."""
    if release.record is not None and release.record.id in opened.body:
        return False
    comment = f"`skillopt nightly` pushed a newer version, {state.tip[:10]}; the description is of that version."
    context.forge.comment(opened.number, _TOPIC, comment)  # first, so that a night that ends here does both again
    context.forge.update(opened.number, *_title_and_body(context, release, ledger))
    return True


def _missing_record(state: SkillState, ledger: Ledger) -> str:
    return (
        f"expected the record of the run that made {state.tip[:10]}, found none in {ledger.path}; restore it from "
        f"the machine that trained {state.target.name}, or open the pull request by hand"
    )


def _find_release(state: SkillState, ledger: Ledger) -> _Release:
    """Find the run of the newest version, and whether that version may have a pull request."""
    newest = next(iter(state.versions), None)
    if newest is None or newest.sha != state.tip:
        return _Release(None, "people have committed on top of the newest version")
    if not newest.trailer("Val-After"):
        return _Release(None, "the newest commit is no version that was accepted")
    run = newest.trailer("Skillopt-Run")
    record = next((one for one in ledger.runs() if one.id == run), None)
    if record is None:
        return _Release(None, _NO_RECORD)
    return _Release(record, _unfit(record, [decode_event(row.kind, row.payload) for row in ledger.events(record.id)]))


def _unfit(record: RunRecord, events: Sequence[Event]) -> str:
    if record.state != "finished":
        return f"its run ended early: {record.reason or 'it was interrupted'}"
    test = next((event for event in reversed(events) if isinstance(event, HeldOutTestMeasured)), None)
    if test is None:
        withheld = (event.reason for event in reversed(events) if isinstance(event, ReleaseCheckWithheld))
        return f"it was not compared on the held-out test: {next(withheld, 'its run made no such comparison')}"
    if test.verdict.outcome is Outcome.REJECT:
        return f"it is no better on the held-out test: {test.verdict.before:.3f} -> {test.verdict.after:.3f}"
    return ""


def _title_and_body(context: NightlyContext, release: _Release, ledger: Ledger) -> tuple[str, str]:
    """Give title and text; every number in them is read from the ledger."""
    if release.record is None:
        message = "a version gets a pull request only with the record of its run"
        raise AssertionError(message)
    view = load_view(context.project, ledger, release.record)
    return pull_request_title(view), pull_request_body(view)


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
