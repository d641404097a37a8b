"""Publish the draft of a run on its branch by what the run recorded, also after an interruption or a kill.

What is published is a function of the recorded events and the versions in git, so doing it again changes nothing.
"""

import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skillopt.errors import UsageError, VersionConflictError
from skillopt.gate.grade_words import grade_words
from skillopt.gate.grades import Grade, Grading
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    Event,
    RunStarted,
    VersionAccepted,
    decode_event,
    newest_draft,
)
from skillopt.project import Target
from skillopt.runs.plan import read_version, uncommitted_start
from skillopt.runs.version_message import VersionOrigin, draft_body, draft_subject, draft_trailers
from skillopt.safety.lint import find_marks
from skillopt.safety.text_classes import NEEDS_A_PERSON, LintClass
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import decode_skill, files_of
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_locked
from skillopt.versions.commit_message import ACCEPTED, Version
from skillopt.versions.decisions import edit_trailers
from skillopt.versions.draft_branch import DraftBranch
from skillopt.versions.repository import NewVersion, Repository

__all__ = ["DraftState", "became_version", "draft_obstacle", "publish_draft", "recover_draft"]

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


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What waits at the end of a run's events: the draft with its time, after how many accepted versions."""

    draft: DraftChanged | DraftGraded | None
    at: str
    accepted: int
    started_at: str

    @property
    def grading(self) -> Grading | None:
        return self.draft.grading if isinstance(self.draft, DraftGraded) else None

    @property
    def unfit_reason(self) -> str:
        """Why it is not published, empty where it is."""
        grading = self.grading
        if grading is None:
            return ""
        if grading.grade is Grade.WORSE:
            return f"it is {grade_words(grading)}"
        if self.accepted and grading.probability < _LEAST_LEFTOVER:
            return f"after an accepted version it takes {_LEAST_LEFTOVER:.0%}, and it is {grade_words(grading)}"
        return ""


def publish_draft(repository: Repository, ledger: Ledger, record: RunRecord) -> DraftState | None:
    """Bring the branch of a skill's draft to what a run recorded: publish, replace or remove the draft."""
    branch = DraftBranch(repository, record.skill, record.skill_path)
    rows = ledger.events(record.id)
    waiting = _find_waiting([(row.at, decode_event(row.kind, row.payload)) for row in rows])
    try:
        if waiting.draft is None or waiting.unfit_reason:
            _remove(branch, record)
            commit = replaced = ""
        else:
            before = branch.read() if record.kind == "proposal" else None
            commit = branch.publish(_new_version(repository, record, waiting))
            replaced = _keep(branch, record, before, commit)
    except VersionConflictError as error:
        return DraftState(branch.name, "", waiting.grading, str(error))
    if waiting.draft is None:
        return None
    published = branch.read() if commit else None
    marks = published.values(NEEDS_A_PERSON) if published else ()
    return DraftState(branch.name, commit, waiting.grading, waiting.unfit_reason, replaced, marks)


def recover_draft(root: Path, repository: Repository, skill: str) -> None:
    """Publish the draft of a run whose process was killed before it could; a project without a ledger has none."""
    try:
        opened = closing(Ledger.open(root, read_only=True))
    except UsageError:
        return
    with opened as ledger:
        newest = next((run for run in ledger.runs(skill) if run.kind == "training"), None)
        if newest is not None and newest.state == "running" and not is_locked(root, skill):
            publish_draft(repository, ledger, newest)


def became_version(branch: DraftBranch) -> bool:
    """Return whether the newest commit of a skill's versions has the text of its draft."""
    repository, draft = branch.repository, branch.tip
    tip = repository.branch_tip(branch.skill)
    if draft is None or tip is None:
        return False
    texts = (read_version(repository, branch.skill, commit, branch.path, missing_ok=True) for commit in (draft, tip))
    return len({text.digest for text in texts}) == 1


def draft_obstacle(repository: Repository, target: Target, branch: DraftBranch, draft: Version) -> str:
    """Say why a draft cannot become a version, empty when it can: its figures are about other texts."""

    def digest(commit: str) -> str:
        return read_version(repository, target.name, commit, branch.path, missing_ok=True).digest

    if not branch.is_ours(draft.sha):
        return (
            f"expected {branch.name} as training wrote it, found a commit of people there ({draft.sha[:10]}), which "
            "nothing has measured; merge it by hand, or measure it with `skillopt gate` first"
        )
    tip = repository.branch_tip(target.name)
    now = target.skill().digest if tip is None else digest(tip)
    place = f"branch skillopt/{target.name}" if tip else str(target.folder)
    if now == digest(draft.sha):
        return f"{place} has the text of the draft already; there is nothing to take"
    if now != digest(draft.parent):
        return (
            f"the draft was measured against {draft.parent[:10]}, and {place} has another text by now; train from "
            f"there with `skillopt optimize {target.name}`, or look at it with `skillopt diff {target.name} draft`"
        )
    return ""


def _find_waiting(events: Sequence[tuple[str, Event]]) -> _Waiting:
    draft = newest_draft(event for _, event in events)
    at = next((at for at, event in reversed(events) if event is draft), "")
    accepted = sum(isinstance(event, VersionAccepted) for _, event in events)
    return _Waiting(draft, at, accepted, next((at for at, event in events if isinstance(event, RunStarted)), ""))


def _keep(branch: DraftBranch, record: RunRecord, before: Version | None, now: str) -> str:
    """Keep the draft of another run with another text, which a proposal begins without; give its commit or nothing."""
    if before is None or before.trailer(_RUN) == record.id:
        return ""
    tip = branch.repository.branch_tip(record.skill)
    there = {_text_at(branch, commit) for commit in (now, tip) if commit}
    if _text_at(branch, before.sha) in there:
        return ""
    branch.keep(before.sha)
    return before.sha


def _text_at(branch: DraftBranch, commit: str) -> str:
    return read_version(branch.repository, branch.skill, commit, branch.path, missing_ok=True).digest


def _remove(branch: DraftBranch, record: RunRecord) -> None:
    """Remove the draft if it is of this run, or has become the newest version."""
    published = branch.read()
    if published is not None and (became_version(branch) or published.trailer(_RUN) == record.id):
        branch.remove()


def _new_version(repository: Repository, record: RunRecord, waiting: _Waiting) -> NewVersion:
    draft = waiting.draft
    if draft is None:
        raise AssertionError("there is a draft to publish")
    settings, target, proposer, *_ = json.loads(record.config)
    origin = VersionOrigin(
        record.skill, record.id, target, proposer, record.suite_digest, json.loads(settings)["metric"]
    )
    parent = _incumbent(repository, record, waiting)
    before = read_version(repository, record.skill, parent, record.skill_path, missing_ok=True)
    allow = frozenset(map(LintClass, json.loads(settings)["allow"]))
    skill = decode_skill(record.skill, record.start).with_document(SkillDocument(draft.text))
    return NewVersion(
        skill=record.skill,
        path=record.skill_path,
        files=files_of(skill),
        subject=draft_subject(record.skill, draft.changes),
        body=draft_body(draft.changes, waiting.grading),
        trailers=(
            *draft_trailers(
                origin,
                waiting.grading,
                draft.rollouts if isinstance(draft, DraftGraded) else 0,
                find_marks(before.text, draft.text, allow),
            ),
            *edit_trailers([change.edit for change in draft.changes]),
        ),
        at=waiting.at,
        parent=parent,
        expected_tip=None,
    )


def _incumbent(repository: Repository, record: RunRecord, waiting: _Waiting) -> str:
    """Return the commit with the text that the draft is compared with: the run's newest version, else its start."""
    if waiting.accepted:
        versions = repository.versions(record.skill)
        own = [one for one in versions if one.trailer(_RUN) == record.id and one.trailer(ACCEPTED)]
        if own:
            return own[0].sha
    start = uncommitted_start(repository, record, waiting.started_at)
    return record.base if start is None else repository.write_commit(start)
