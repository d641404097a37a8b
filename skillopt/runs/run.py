"""A run that keeps its accepted versions and its draft in git; a draft is published after a kill, too.

What is committed is a function of the recorded events and the versions in git, so doing it again changes nothing.
"""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.errors import SkilloptError, VersionConflictError
from skillopt.execution.recording import Recording
from skillopt.execution.runner import RunObserver
from skillopt.gate.grades import UNGRADED, Grade, Grading, grade_words
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    Event,
    GateDecided,
    RunEnded,
    RunStarted,
    VersionAccepted,
    decode_event,
    newest_draft,
)
from skillopt.project import Target
from skillopt.runs.plan import RunPlan, read_version, stages_of, uncommitted_start
from skillopt.runs.version_message import draft_of, version_of
from skillopt.safety.lint import find_marks
from skillopt.safety.text_classes import NEEDS_A_PERSON, LintClass
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked
from skillopt.storage.notes import mark_unreported
from skillopt.versions.commit_message import ACCEPTED, Version
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.repository import NewVersion, Repository

__all__ = ["DraftState", "RecordedRun", "became_version", "draft_obstacle", "open_draft"]

_RUN: Final = "Skillopt-Run"

_LEAST_LEFTOVER: Final = 0.8
"""Probability from which a draft is published that was left over after an accepted version.

Of such leftovers 26 of 65 were worse than the version in simulation, so a guess is not worth a reader's time."""


@dataclass(frozen=True, slots=True)
class DraftState:
    """The draft that a run ended with."""

    branch: str
    commit: str
    grading: Grading | None
    note: str = ""
    replaced: str = ""
    marks: tuple[str, ...] = ()


class RecordedRun(Recording):
    """Keeps what a run yields, commits its versions, and publishes the draft that it ends with."""

    def __init__(self, plan: RunPlan, ledger: Ledger, record: RunRecord, watch: RunObserver) -> None:
        first, *raised = stages_of(ledger, record, plan.target.settings)
        super().__init__(ledger, record, plan.drivers, first, watch, raised)
        self.commits: list[str] = []
        self.draft: DraftState | None = None
        self._plan = plan
        self._tip = record.base
        self._started_at = ""
        self._spent = 0.0

    def recorded(self, event: Event, at: str) -> None:
        """Commit an accepted version that is recorded; at the end, publish the draft."""
        if isinstance(event, RunStarted):
            self._started_at = at
        elif isinstance(event, GateDecided):
            self._spent += event.verdict.error_spent
        elif isinstance(event, VersionAccepted):
            self._commit(event, at)
            self._spent = 0.0
        elif isinstance(event, RunEnded):
            mark_unreported(self._ledger.path.parent.parent, self.record.id)
            self.draft = _publish_draft(self._plan.repository, self._ledger, self.record)

    def interrupted(self) -> None:
        """Publish the draft as it is, ungraded; the run that goes on grades it."""
        try:
            self.draft = _publish_draft(self._plan.repository, self._ledger, self.record)
        except SkilloptError as error:  # what ended the run is told first
            self._watch.notice(f"the draft was not published: {error}")
            return
        if self.draft is not None:
            self._watch.notice(self.draft.note or f"the draft is on branch {self.draft.branch}, {UNGRADED}")

    def _commit(self, event: VersionAccepted, at: str) -> None:
        """Commit an accepted version, and before the first one the text it started from if git lacks it."""
        plan, record = self._plan, self.record
        if not self.commits and (start := uncommitted_start(plan.repository, record, self._started_at)) is not None:
            self._write(start)
        self._write(version_of(record, event, at, self._tip, (self.runner.usage, self._spent)))
        self.commits.append(self._tip)

    def _write(self, new: NewVersion) -> None:
        # Our last commit, or for the first one where the branch was; a branch that is not there is made.
        expected = None if self._plan.repository.branch_tip(new.skill) is None else self._tip
        self._tip = self._plan.repository.commit_version(replace(new, expected_tip=expected))


def _publish_draft(repository: Repository, ledger: Ledger, record: RunRecord) -> DraftState | None:
    """Bring the branch of a skill's draft to what a run recorded: publish, replace or remove the draft."""
    branch = DraftBranch(repository, record.skill, record.skill_path)
    events = [(row.at, decode_event(row.kind, row.payload)) for row in ledger.events(record.id)]
    draft = newest_draft(event for _, event in events)
    grading = draft.grading if isinstance(draft, DraftGraded) else None
    accepted = any(isinstance(event, VersionAccepted) for _, event in events)
    unfit, commit, replaced = _unfit_reason(grading, accepted=accepted), "", ""
    try:
        before = branch.read()
        is_own = before is not None and before.trailer(_RUN) == record.id
        if draft is not None and not unfit:
            new = _new_version(repository, record, draft, events)
            commit = branch.publish(new)
            if record.kind == "proposal" and before is not None and not is_own:
                tip = repository.branch_tip(record.skill)
                there = {_digest(branch, sha) for sha in (commit, tip) if sha}
                replaced = "" if _digest(branch, before.sha) in there else before.sha
        elif is_own or became_version(branch):
            branch.remove()
    except VersionConflictError as error:
        return DraftState(branch.name, "", grading, str(error))
    if draft is None:
        return None
    marks = repository.commit(commit).values(NEEDS_A_PERSON) if commit else ()
    return DraftState(branch.name, commit, grading, unfit, replaced, marks)


def _unfit_reason(grading: Grading | None, *, accepted: bool) -> str:
    """Return why a draft is not published, empty where it is."""
    if grading is not None and grading.grade is Grade.WORSE:
        return f"it is {grade_words(grading)}"
    if grading is not None and accepted and grading.probability < _LEAST_LEFTOVER:
        return f"after an accepted version it takes {_LEAST_LEFTOVER:.0%}, and it is {grade_words(grading)}"
    return ""


def open_draft(root: Path, repository: Repository, target: Target) -> DraftBranch:
    """Return the branch of a skill's draft, and publish the draft of a run that was killed before it could."""
    skill = target.name
    if (root / ".skillopt" / "ledger.db").exists():
        with closing(Ledger.open(root, read_only=True)) as ledger:
            newest = next((run for run in ledger.runs(skill) if run.kind == "training"), None)
            if newest is not None and newest.state == "running" and not is_locked(root, skill):
                _publish_draft(repository, ledger, newest)
    return DraftBranch(repository, skill, repository.relative(target.folder))


def became_version(branch: DraftBranch) -> bool:
    """Return whether the newest commit of a skill's versions has the text of its draft."""
    tip = branch.repository.branch_tip(branch.skill)
    return bool(branch.tip and tip) and _digest(branch, branch.tip or "") == _digest(branch, tip or "")


def draft_obstacle(repository: Repository, target: Target, branch: DraftBranch, draft: Version) -> str:
    """Say why a draft cannot become a version, empty when it can: its figures are about other texts."""
    if not branch.is_ours(draft.sha):
        return (
            f"expected {branch.name} as training wrote it, found a commit of people there ({draft.sha[:10]}), which "
            "nothing has measured; merge it by hand, or measure it with `skillopt gate` first"
        )
    tip = repository.branch_tip(target.name)
    now = target.skill().digest if tip is None else _digest(branch, tip)
    place = f"branch skillopt/{target.name}" if tip else str(target.folder)
    if now == _digest(branch, draft.sha):
        return f"{place} has the text of the draft already; there is nothing to take"
    if now != _digest(branch, draft.parent):
        return (
            f"the draft was measured against {draft.parent[:10]}, and {place} has another text by now; train from "
            f"there with `skillopt optimize {target.name}`, or look at it with `skillopt diff {target.name} draft`"
        )
    return ""


def _digest(branch: DraftBranch, commit: str) -> str:
    return read_version(branch.repository, branch.skill, commit, branch.path, missing_ok=True).digest


def _new_version(
    repository: Repository, record: RunRecord, draft: DraftChanged | DraftGraded, events: Sequence[tuple[str, Event]]
) -> NewVersion:
    parent = _incumbent(repository, record, events)
    before = read_version(repository, record.skill, parent, record.skill_path, missing_ok=True)
    allowed = json.loads(json.loads(record.config)[0])["allow"]
    marks = find_marks(before.text, draft.text, frozenset(map(LintClass, allowed)))
    at = next(at for at, event in reversed(events) if event is draft)
    return draft_of(record, draft, at, parent, marks)


def _incumbent(repository: Repository, record: RunRecord, events: Sequence[tuple[str, Event]]) -> str:
    """Return the commit with the text that the draft is compared with: the run's newest version, else its start."""
    own = (one for one in repository.versions(record.skill) if one.trailer(_RUN) == record.id and one.trailer(ACCEPTED))
    if any(isinstance(event, VersionAccepted) for _, event in events) and (newest := next(own, None)):
        return newest.sha
    began = next((at for at, event in events if isinstance(event, RunStarted)), "")
    start = uncommitted_start(repository, record, began)
    return record.base if start is None else repository.write_commit(start)
