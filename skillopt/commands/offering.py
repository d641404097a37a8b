"""One skill's newest version, offered as a pull request: pushed, and the pull request brought up to date.

Owns doing what upkeep decides, in an order that can stop anywhere and be taken up again. Does not own the decision
(upkeep), git (remotes) or the words (reports).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.commands.skill_state import SkillState, Trunk
from skillopt.errors import LedgerError
from skillopt.events import Event, SealedTestMeasured, decode_event
from skillopt.gate import Outcome
from skillopt.ledger import Ledger, RunRecord
from skillopt.ports import Forge, PullRequest
from skillopt.remotes import Remote, Tips
from skillopt.reports.markdown import render_report
from skillopt.upkeep import Action, BranchFacts, decide

__all__ = ["Offer", "Place", "offer"]

_LONGEST = 65_536
_TOPIC = "nightly"


@dataclass(frozen=True, slots=True)
class Place:
    """Where versions are offered.

    Args:
        forge: Keeps pull requests.
        remote: Holds the branches; None where there is none.
        tips: Where its branches are.
        trunk: The default branch.
    """

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
    """The run behind the newest version, its events, and why the version is not offered; empty when it is."""

    record: RunRecord | None
    events: Sequence[Event]
    unfit: str

    @property
    def lost(self) -> bool:
        """Tell whether there is a version and no record of it."""
        return self.record is None and self.unfit == _LOST


_LOST = "the record of its run is not here"


def offer(place: Place, state: SkillState, ledger: Ledger) -> Offer:
    """Bring a skill's branch and pull request up to date; doing it again changes nothing.

    The branch is pushed before the forge is asked, so that a version outlives a forge that is down.

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
    skill, branch = state.target.name, f"skillopt/{state.target.name}"
    release = _find_release(state, ledger)
    pushed = False
    if place.remote and place.tips and not (state.landed or state.aside or release.unfit):
        pushed = place.remote.push(skill, place.tips)
    requests = place.forge.pull_requests(branch)
    facts = BranchFacts(state.tip, place.trunk.name, state.landed, state.aside, release.unfit)
    found = decide(facts, requests)
    notes = tuple(_notes(place, state))
    match found.action:
        case Action.LEAVE:
            if release.lost and not (state.landed or state.aside) and not _shown(requests, state.tip):
                message = (
                    f"expected the record of the run that made {state.tip[:10]}, found none in {ledger.path}; restore "
                    f"that file from the machine that trained {skill}, or open the pull request by hand"
                )
                raise LedgerError(message)
            return Offer("", _url(requests, found.number), (*notes, *filter(None, [found.reason])))
        case Action.CLOSE:
            number = found.number or 0
            place.forge.comment(number, _TOPIC, f"Closed by `skillopt nightly`: {found.reason}.")
            place.forge.close(number)
            return Offer("closed", _url(requests, number), (*notes, found.reason))
        case Action.UPDATE:
            return _update(place, state, release, requests, pushed=pushed, notes=notes)
        case Action.OPEN:
            title, body = _words(state, release)
            opened = place.forge.create(branch, place.forge.default_branch(), title, body)
            return Offer("opened", opened.url, notes)


def _update(
    place: Place,
    state: SkillState,
    release: _Release,
    requests: Sequence[PullRequest],
    *,
    pushed: bool,
    notes: tuple[str, ...],
) -> Offer:
    """Give an open pull request the words of the newest version."""
    one = next(one for one in requests if one.state == "open")
    title, body = _words(state, release)
    if (one.title, one.body) == (title, body):
        return Offer("updated" if pushed else "", one.url, notes)
    place.forge.update(one.number, title, body)
    if one.head != state.tip or pushed:
        run = release.record.id if release.record else ""
        said = f"`skillopt nightly` pushed a newer version, {state.tip[:10]} of run {run}; the description tells of it."
        place.forge.comment(one.number, _TOPIC, said)
    return Offer("updated", one.url, notes)


def _find_release(state: SkillState, ledger: Ledger) -> _Release:
    """Find what is recorded of the newest version, and whether it is fit to be offered."""
    newest = next(iter(state.versions), None)
    if newest is None or newest.sha != state.tip:
        return _Release(None, (), "people have committed on top of the newest version")
    if not newest.trailer("Val-After"):
        return _Release(None, (), "the newest commit is no version that was accepted")
    run = newest.trailer("Skillopt-Run")
    record = next((one for one in ledger.runs() if one.id == run), None)
    if record is None:
        return _Release(None, (), _LOST)
    events = [decode_event(row.kind, row.payload) for row in ledger.events(record.id)]
    return _Release(record, events, _unfit(record, events))


def _unfit(record: RunRecord, events: Sequence[Event]) -> str:
    if record.state != "finished":
        return f"its run ended early: {record.reason or 'it was interrupted'}"
    test = _test_of(events)
    if test is None:
        return "it was not compared on the sealed test"
    if test.verdict.outcome is Outcome.REJECT:
        return f"it is no better on the sealed test: {test.verdict.before:.3f} -> {test.verdict.after:.3f}"
    return ""


def _test_of(events: Sequence[Event]) -> SealedTestMeasured | None:
    return next((event for event in reversed(events) if isinstance(event, SealedTestMeasured)), None)


def _words(state: SkillState, release: _Release) -> tuple[str, str]:
    """Give title and text; every number in them is read from the ledger."""
    test, run = _test_of(release.events), release.record.id if release.record else ""
    scores = f" (test {test.verdict.before:.3f} to {test.verdict.after:.3f})" if test else ""
    title = f"{state.versions[0].subject}{scores}"
    return title, render_report(state.target.name, run, release.events)[:_LONGEST]


def _notes(place: Place, state: SkillState) -> list[str]:
    """Tell what a reader should know of the branch."""
    remote, trunk = place.remote, place.trunk
    if remote is None or not trunk.commit or state.landed:
        return []
    people = remote.people(state.target.name, state.tip, [trunk.commit])
    older = not remote.contains(state.tip, trunk.commit)
    return [
        *([f"the branch is based on an older {trunk.name}"] if older else []),
        *([f"{len(people)} commits on the branch are by people; they were kept"] if people else []),
    ]


def _shown(requests: Sequence[PullRequest], tip: str) -> bool:
    return any(one.state == "open" or one.head == tip for one in requests)


def _url(requests: Sequence[PullRequest], number: int | None) -> str:
    return next((one.url for one in requests if one.number == number), "")
