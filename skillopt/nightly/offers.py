"""What is offered of a skill's newest version and of its draft, with the texts of their pull requests.

It is written down without asking any forge; posting does what the policy decides, when there is a token.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal, Protocol

from skillopt.contrib import find_driver
from skillopt.execution.metering import Meter
from skillopt.execution.records import recorded_events
from skillopt.execution.runner import RunObserver
from skillopt.figures import HELD_OUT, comparison_words, name_grade
from skillopt.loop.events import HeldOutTestMeasured
from skillopt.nightly.handover import BranchOffer, ReviewState, SkillOffers, open_request
from skillopt.nightly.night import RemainingBudget, SkillNight
from skillopt.nightly.offer_texts import OfferPlace, write_offer
from skillopt.nightly.people_commands import read_checklist, write_edits
from skillopt.nightly.skill_state import SkillState, read_skill_state
from skillopt.project import Project, Selection, Target
from skillopt.protocols import PullRequest
from skillopt.reports.offer import OFFER_LIMIT, offer_body, offer_mark, offer_title
from skillopt.runs.plan import read_version
from skillopt.runs.run import became_version, draft_obstacle, read_grading
from skillopt.storage.ledger import Ledger
from skillopt.tasks import digest_of
from skillopt.versions.branches import DRAFT_BRANCHES, VERSION_BRANCHES, DraftBranch
from skillopt.versions.commit_message import DESCRIPTION, DROPPED_BY, NEEDS_A_PERSON, Version, commit_kind
from skillopt.versions.decisions import edits_of, read_decisions
from skillopt.versions.remotes import Remote, Tips
from skillopt.versions.repository import Repository

_NO_RECORD: Final = "the record of its run is not here"
_DECIDED: Final = "the newest commit is no version that was accepted or taken"
_NO_VERSION: Final = "there is no version on it"
_DECISIONS: Final = ("declined", "undeclined", "dropped")


RecordMaking = Literal["no", "also", "only"]
"""Whether a night makes records of accepted texts, beside training or in its place."""


@dataclass(frozen=True, slots=True)
class Night:
    """What all skills of a night share; remote and tips, empty for no remote, are as when the forge was asked."""

    project: Project
    remote: Remote | None
    tips: Tips
    review: ReviewState
    ledger: Ledger
    remaining: RemainingBudget
    observer: RunObserver
    flags: Mapping[str, object]
    report: Path
    record: RecordMaking = "no"
    offers: list[SkillOffers] = field(default_factory=list)

    @property
    def repository(self) -> Repository:
        """The repository of the project."""
        return self.project.repository()

    def read_state(self, selection: Selection) -> SkillState:
        """Take up what the remote has of a skill, and read its state."""
        self.take_up(self.project.target(selection))
        return read_skill_state(selection, self.tips, self.ledger, datetime.now(UTC))

    def take_up(self, target: Target) -> None:
        """Fast-forward a skill's branch to the remote's, and take up the remote's draft."""
        if self.remote is None:
            return
        repository = self.remote.repository
        self.remote.fast_forward(target.name, self.tips.of(VERSION_BRANCHES, target.name))
        there, ref = self.tips.of(DRAFT_BRANCHES, target.name), f"{DRAFT_BRANCHES}{target.name}"
        # A draft that people declined stays on the remote until the night pushes.
        if there and there not in read_decisions(repository, target.name).declined and repository.ref_tip(ref) is None:
            repository.move_branch(ref, None, there)


class TrainedDescriptions(Protocol):
    """Trains descriptions, and knows what was trained."""

    def train_due(self, night: Night, rows: list[SkillNight]) -> None:
        """Train the descriptions that are due, and add to rows and offers what came of that."""
        ...

    def is_described(self, before: bytes, after: bytes) -> bool:
        """Return whether two texts of a skill differ in the description alone."""
        ...

    def shorten(self, names: Sequence[str], selection: Selection, *, repeats: int, drop: bool, **options: bool) -> None:
        """Show what clients list of all skills, and shorten descriptions unless `options` name a dry run."""
        ...


def find_descriptions() -> TrainedDescriptions | None:
    """Return what trains descriptions; None where no package does."""
    made = find_driver("descriptions")
    return None if made is None else made()


def offer_version(night: Night, state: SkillState, requests: Sequence[PullRequest], meter: Meter) -> BranchOffer | None:
    """Return what is offered of a skill's newest version, None where its branch does not exist."""
    if not state.tip:
        return None
    # What people committed or dropped on top of a version is theirs to have measured and offered, too.
    newest = next((one for one in state.versions if commit_kind(one) != "dropped"), None)
    unfit = _unfit(newest, night.ledger)
    made = BranchOffer(
        branch=f"skillopt/{state.target.name}",
        seen=night.tips.of(VERSION_BRANCHES, state.target.name),
        tip=state.tip,
        unfit_reason=unfit,
        waits=unfit not in ("", _NO_VERSION, _DECIDED),
        moot_reason=_moot(state, newest, night.tips.default_branch),
        decided=_holds_decision(night.repository, state.tip),
    )
    return _written(night, state, made, requests, meter)


def offer_draft(night: Night, state: SkillState, requests: Sequence[PullRequest], meter: Meter) -> BranchOffer | None:
    """Return what is offered of a skill's draft, None where there is and was none.

    A draft that has become a version is removed.
    """
    repository = night.repository
    branch = DraftBranch(repository, state.target.name, state.target.place(repository))
    if became_version(branch):
        branch.remove()
    seen = night.tips.of(DRAFT_BRANCHES, state.target.name)
    if branch.tip is None and not seen:
        return None
    made = _draft_facts(branch, state, night.ledger).model_copy(update={"seen": seen})
    return _written(night, state, made, requests, meter)


def offer_decision(night: Night, name: str) -> BranchOffer | None:
    """Offer only what people decided, of a skill that is left alone otherwise; None where that is nothing new."""
    repository = night.repository
    tip, seen = repository.branch_tip(name) or "", night.tips.of(VERSION_BRANCHES, name)
    if tip == seen or not _holds_decision(repository, tip):
        return None
    return BranchOffer(branch=f"skillopt/{name}", seen=seen, tip=tip, unfit_reason="it is left alone", decided=True)


def _holds_decision(repository: Repository, tip: str) -> bool:
    """Return whether the newest commit of a branch is a decision of people, which is pushed whatever is offered."""
    return bool(tip) and commit_kind(repository.commit(tip)) in _DECISIONS


def _unfit(newest: Version | None, ledger: Ledger) -> str:
    """Return why the newest version may have no pull request; empty where it may."""
    if newest is None:
        return _NO_VERSION
    kind = commit_kind(newest)
    # A draft that people want after all is on its own branch again, and here nothing changed.
    if kind not in ("accepted", "taken", "undeclined") or (kind == "undeclined" and not edits_of(newest)):
        return _DECIDED
    record = ledger.find_run(newest.trailer("Skillopt-Run"))
    if record is None:
        return _NO_RECORD
    if kind == "accepted" and record.state != "finished":
        return f"its run ended early: {record.reason or 'it was interrupted'}"
    events = recorded_events(ledger, record.id)[::-1] if kind == "accepted" else []
    test = next((event for event in events if isinstance(event, HeldOutTestMeasured)), None)
    if test is not None and test.verdict.rejected:
        return f"it is no better on the held-out test: {comparison_words(test.verdict, HELD_OUT)}"
    return ""


def _draft_facts(branch: DraftBranch, state: SkillState, ledger: Ledger) -> BranchOffer:
    """Find the draft of a skill, and whether it may have a draft pull request."""
    draft, repository = branch.read(), branch.repository
    if draft is None:
        return BranchOffer(branch=branch.name, moot_reason="there is no draft any more")
    if draft.trailer("Kind") == DESCRIPTION:
        return BranchOffer(branch=branch.name, tip=draft.sha, unfit_reason="what trains descriptions offers it")
    digest = read_version(repository, state.target.name, draft.sha, branch.path, missing_ok=True).digest
    obstacle = unfit = draft_obstacle(repository, state.target, branch, draft)
    record, grading = ledger.find_run(draft.trailer("Skillopt-Run")), read_grading(draft.trailers)
    # What only waits for a person to look at it has no grade.
    held = record is not None and record.state == "finished" and bool(draft.values(NEEDS_A_PERSON))
    offered = bool(draft.trailer(DROPPED_BY)) or (grading.requested if grading else held)
    if record is None:
        unfit = unfit or _NO_RECORD
    elif not offered:
        unfit = unfit or name_grade(grading)
    moot, mark = obstacle if branch.is_ours(draft.sha) else "", f"<!-- skillopt text: {digest} -->"
    return BranchOffer(
        branch=branch.name, tip=draft.sha, unfit_reason=unfit, moot_reason=moot, mark=mark, waits=offered
    )


def _written(
    night: Night, state: SkillState, made: BranchOffer, requests: Sequence[PullRequest], meter: Meter
) -> BranchOffer:
    """Write title and text of an offer that may have a pull request.

    Where the record of its run is gone, as in a clone without a ledger, an open pull request must still be true: its
    text is measured anew as soon as it is of other texts or tasks than it was measured with. A version or draft that
    never had a pull request gets one as soon as it is measured.
    """
    opened = open_request(requests)
    repository, into, target = night.repository, night.tips, state.target
    place = OfferPlace(
        night.project,
        repository,
        target,
        night.ledger,
        observer=night.observer,
        branch=made.branch,
        tip=made.tip,
        into=into.default_branch,
        base=into.default or repository.head() or "",
        allowance=meter,
        identity=state.due_facts.target,
    )
    texts = digest_of(place.text(place.base), place.text(made.tip), state.due_facts.suite)
    measured = f"<!-- skillopt measured: {texts[:16]} -->"
    made = made.model_copy(update={"opened": opened.number if opened else 0})
    if made.unfit_reason == _NO_VERSION and opened and (measured not in opened.body or read_checklist(opened.body)):
        made = made.model_copy(update={"unfit_reason": ""})  # people have amended the version that it offered
    if unrecorded := made.unfit_reason == _NO_RECORD:
        is_new = not any(one.head == made.tip or (made.mark and made.mark in one.body) for one in requests)
        if measured not in opened.body if opened and opened.body else is_new:
            made = made.model_copy(update={"unfit_reason": ""})
    if made.unfit_reason or made.moot_reason or not made.tip:
        return made
    view, page = write_offer(place)
    if unrecorded and opened is None and view.claim is None:
        reason = f"{_NO_RECORD}, and it could not be measured: {view.unmeasured}"
        return made.model_copy(update={"unfit_reason": reason})
    if page:
        night.report.mkdir(parents=True, exist_ok=True)
        name = f"{target.name}{'-draft' if view.draft else ''}-before-after.html"
        (night.report / name).write_text(page, encoding="utf-8")
    edits = write_edits([(one.key, one.edit) for one in view.edits])
    marks = [made.mark, measured if view.claim is not None else "", edits]
    body = offer_body(view)
    if len(body) + len(marks[-1]) > OFFER_LIMIT:
        marks.pop()
    body = "\n".join([body, *filter(None, marks)]).rstrip() + "\n"
    said = {"proven": view.proven, "known_by": offer_mark(view), "title": offer_title(view), "body": body}
    said["notes"] = (*made.notes, *view.returned)
    return made.model_copy(update=said)


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
