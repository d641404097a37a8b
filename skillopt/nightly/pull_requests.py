"""One skill's newest version, offered as a pull request: pushed, and the pull request brought up to date.

Owns doing what upkeep decides, in an order that can stop anywhere and be taken up again. Does not own the decision
(nightly.pull_request_policy), git (versions.remotes) or the words (reports).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.errors import ForgeError, LedgerError
from skillopt.gate.comparison import Outcome
from skillopt.loop.events import Event, HeldOutTestMeasured, ReleaseCheckWithheld, decode_event
from skillopt.nightly.pull_request_policy import Action, BranchFacts, decide
from skillopt.nightly.skill_state import SkillState, Trunk
from skillopt.project import Project
from skillopt.protocols import Forge, PullRequest
from skillopt.reports.load_view import load_view
from skillopt.reports.pull_request import pull_request_body, pull_request_title
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.versions.remotes import Remote, Tips

__all__ = ["Offer", "Place", "offer"]

_TOPIC = "nightly"
_LOST = "the record of its run is not here"


@dataclass(frozen=True, slots=True)
class Place:
    """Where versions are offered.

    Args:
        project: What is offered.
        forge: Keeps pull requests.
        remote: Holds the branches; None where there is none.
        tips: Where its branches are.
        trunk: The default branch.
    """

    project: Project
    forge: Forge
    remote: Remote | None
    tips: Tips | None
    trunk: Trunk


@dataclass(frozen=True, slots=True)
class Offer:
    """What became of a pull request.

    Args:
        action: `opened`, `updated`, `closed`; empty when it is as it was.
        url: Where it is, empty when there is none.
        notes: What a reader should know.
    """

    action: str = ""
    url: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Release:
    """The run behind the newest version, and why the version is not offered; empty when it is."""

    record: RunRecord | None
    unfit: str


def offer(place: Place, state: SkillState, ledger: Ledger) -> Offer:
    """Bring a skill's branch and pull request up to date; doing it again changes nothing.

    The branch is pushed even where the forge is down, so that a version outlives the machine that trained it.

    Args:
        place: Where.
        state: How the skill stands.
        ledger: Where its runs are recorded.

    Raises:
        VersionConflictError: The remote's branch was moved by someone.
        RemoteError: The remote failed.
        ForgeError: The forge failed.
        LedgerError: Nothing is recorded of a version that nobody was shown yet.
    """
    if not state.tip:
        return Offer()
    branch, release = f"skillopt/{state.target.name}", _find_release(state, ledger)
    facts = BranchFacts(state.tip, place.trunk.name, state.landed, state.aside, release.unfit)
    requests = _ask(place, state, facts)
    found = decide(facts, requests)
    pushed = found.action in (Action.OPEN, Action.UPDATE) and _push(place, state)
    notes = tuple(_notes(place, state))
    match found.action:
        case Action.LEAVE:
            if found.reason == _LOST and not any(one.state == "open" or one.head == state.tip for one in requests):
                raise LedgerError(_lost(state, ledger))
            return Offer("", _url(requests, found.number), (*notes, *filter(None, [found.reason])))
        case Action.CLOSE:
            number = found.number or 0
            place.forge.comment(number, _TOPIC, f"Closed by `skillopt nightly`: {found.reason}.")
            place.forge.close(number)
            return Offer("closed", _url(requests, number), (*notes, found.reason))
        case Action.UPDATE:
            one = next(one for one in requests if one.state == "open")
            told = _retell(place, state, release, ledger, one)
            return Offer("updated" if pushed or told else "", one.url, notes)
        case Action.OPEN:
            into = place.forge.default_branch()
            opened = place.forge.create(branch, into, *_words(place, release, ledger))
            return Offer("opened", opened.url, notes)


def _ask(place: Place, state: SkillState, facts: BranchFacts) -> tuple[PullRequest, ...]:
    """Ask for the pull requests from a skill's branch."""
    try:
        return place.forge.pull_requests(f"skillopt/{state.target.name}")
    except ForgeError:
        if decide(facts, ()).action is Action.OPEN:
            _push(place, state)
        raise


def _push(place: Place, state: SkillState) -> bool:
    """Push a skill's branch, where there is a remote; tell whether there was anything to push."""
    if place.remote is None or place.tips is None:
        return False
    return place.remote.push(state.target.name, place.tips)


def _retell(place: Place, state: SkillState, release: _Release, ledger: Ledger, one: PullRequest) -> bool:
    """Give an open pull request the words of the newest version, unless it tells of that run already."""
    if release.record is not None and release.record.id in one.body:
        return False
    said = f"`skillopt nightly` pushed a newer version, {state.tip[:10]}; the description tells of it."
    place.forge.comment(one.number, _TOPIC, said)  # first, so that a night that ends here does both again
    place.forge.update(one.number, *_words(place, release, ledger))
    return True


def _lost(state: SkillState, ledger: Ledger) -> str:
    return (
        f"expected the record of the run that made {state.tip[:10]}, found none in {ledger.path}; restore it from "
        f"the machine that trained {state.target.name}, or open the pull request by hand"
    )


def _find_release(state: SkillState, ledger: Ledger) -> _Release:
    """Find what is recorded of the newest version, and whether it is fit to be offered."""
    newest = next(iter(state.versions), None)
    if newest is None or newest.sha != state.tip:
        return _Release(None, "people have committed on top of the newest version")
    if not newest.trailer("Val-After"):
        return _Release(None, "the newest commit is no version that was accepted")
    run = newest.trailer("Skillopt-Run")
    record = next((one for one in ledger.runs() if one.id == run), None)
    if record is None:
        return _Release(None, _LOST)
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


def _words(place: Place, release: _Release, ledger: Ledger) -> tuple[str, str]:
    """Give title and text; every number in them is read from the ledger."""
    if release.record is None:
        message = "a version is offered only with the record of its run"
        raise AssertionError(message)
    view = load_view(place.project, ledger, release.record)
    return pull_request_title(view), pull_request_body(view)


def _notes(place: Place, state: SkillState) -> list[str]:
    """Tell what a reader should know of the branch."""
    remote, trunk = place.remote, place.trunk
    if remote is None or not trunk.commit or state.landed:
        return []
    people = remote.people(state.target.name, state.tip, [trunk.commit])
    older = not remote.contains(state.tip, trunk.commit)
    return [
        *([f"the branch is based on an older {trunk.name}"] if older else []),
        *([f"{len(people)} commit{'' if len(people) == 1 else 's'} on the branch by people; kept"] if people else []),
    ]


def _url(requests: Sequence[PullRequest], number: int | None) -> str:
    return next((one.url for one in requests if one.number == number), "")
