"""What a night has to offer of a skill: its newest version, and its draft."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.gate.comparison import Outcome
from skillopt.gate.grade_words import grade_words
from skillopt.gate.grades import Grade
from skillopt.loop.events import Event, HeldOutTestMeasured, ReleaseCheckWithheld, decode_event
from skillopt.loop.gained import gained_on_test
from skillopt.nightly.skill_state import SkillState
from skillopt.runs.draft_publication import draft_obstacle
from skillopt.runs.plan import read_version
from skillopt.runs.version_message import grade_of, read_grading
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.versions.commit_message import DROPPED_BY, Version, commit_kind
from skillopt.versions.decisions import edits_of
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.repository import Repository

__all__ = ["NO_RECORD", "Offer", "find_draft_offer", "find_version_offer"]

NO_RECORD: Final = "the record of its run is not here"


@dataclass(frozen=True, slots=True)
class Offer:
    """A text that may get a pull request."""

    branch: str
    tip: str
    record: RunRecord | None
    unfit_reason: str
    moot_reason: str = ""
    mark: str = ""


def find_version_offer(state: SkillState, into: str, ledger: Ledger) -> Offer:
    """Find the newest version of a skill, and whether it may have a pull request."""
    branch = f"skillopt/{state.target.name}"
    # What people committed or dropped on top of a version is theirs to have measured and offered, too.
    newest = next((one for one in state.versions if commit_kind(one) != "dropped"), None)
    moot = _moot(state, newest, into)
    if newest is None:
        return Offer(branch, state.tip, None, "there is no version on it", moot)
    kind, grade = commit_kind(newest), grade_of(newest.trailers)
    # A draft that people want after all is on its own branch again, and here nothing changed.
    if kind not in ("accepted", "taken", "undeclined") or (kind == "undeclined" and not edits_of(newest)):
        return Offer(branch, state.tip, None, "the newest commit is no version that was accepted or taken", moot)
    record = _record(ledger, newest.trailer("Skillopt-Run"))
    if record is None:
        return Offer(branch, state.tip, None, NO_RECORD, moot)
    events = [decode_event(row.kind, row.payload) for row in ledger.events(record.id)]
    test = next((event for event in reversed(events) if isinstance(event, HeldOutTestMeasured)), None)
    unfit = _unfit(record, events, test, grade) if kind == "accepted" else ""
    return Offer(branch, state.tip, record, unfit, moot)


def find_draft_offer(state: SkillState, repository: Repository, ledger: Ledger) -> Offer:
    """Find the draft of a skill, and whether it may have a draft pull request."""
    branch = DraftBranch(repository, state.target.name, repository.relative(state.target.folder))
    draft = branch.read()
    if draft is None:
        return Offer(branch.name, "", None, "", "there is no draft any more")
    digest = read_version(repository, state.target.name, draft.sha, branch.path, missing_ok=True).digest
    grading, record = read_grading(draft.trailers), _record(ledger, draft.trailer("Skillopt-Run"))
    obstacle = draft_obstacle(repository, state.target, branch, draft)
    moot = obstacle if branch.is_ours(draft.sha) else ""
    unfit = obstacle
    if record is None:
        unfit = unfit or NO_RECORD
    elif grading is None and not draft.trailer(DROPPED_BY):
        unfit = unfit or grade_words(None)
    return Offer(branch.name, draft.sha, record, unfit, moot, mark=f"<!-- skillopt text: {digest} -->")


def _moot(state: SkillState, newest: Version | None, into: str) -> str:
    """Return why an open pull request is about a text that nobody offers any more; empty where it is offered."""
    begins_anew = newest is not None and newest.sha == state.tip and commit_kind(newest) == "start"
    if state.conflicts:
        return ""  # it says what contradicts what, and waits for a person
    if state.diverged or (begins_anew and state.on_default_branch):
        return f"the skill was changed on {into} beside it, so it was measured against a text that is gone"
    if state.on_default_branch and newest is not None and commit_kind(newest) == "declined":
        return "its version was declined"
    return f"{into} has this text" if state.on_default_branch else ""


def _record(ledger: Ledger, run: str) -> RunRecord | None:
    return ledger.find_run(run)


def _unfit(record: RunRecord, events: Sequence[Event], test: HeldOutTestMeasured | None, grade: Grade | None) -> str:
    if record.state != "finished":
        return f"its run ended early: {record.reason or 'it was interrupted'}"
    if test is not None and test.verdict.outcome is Outcome.REJECT:
        return f"it is no better on the held-out test: {gained_on_test(test).words}"
    if test is None and grade is None:
        withheld = (event.reason for event in reversed(events) if isinstance(event, ReleaseCheckWithheld))
        return f"it was not compared on the held-out test: {next(withheld, 'its run made no such comparison')}"
    return ""
