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
from skillopt.gate.grades import Grade, Grading, grade_words
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


def publish_draft(repository: Repository, ledger: Ledger, record: RunRecord) -> DraftState | None:
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
    config, target, proposer, *_ = json.loads(record.config)
    settings, grading = json.loads(config), draft.grading if isinstance(draft, DraftGraded) else None
    origin = VersionOrigin(record.skill, record.id, target, proposer, record.suite_digest, settings["metric"])
    parent = _incumbent(repository, record, events)
    before = read_version(repository, record.skill, parent, record.skill_path, missing_ok=True)
    marks = find_marks(before.text, draft.text, frozenset(map(LintClass, settings["allow"])))
    rollouts = draft.rollouts if isinstance(draft, DraftGraded) else 0
    named = edit_trailers([change.edit for change in draft.changes])
    return NewVersion(
        skill=record.skill,
        path=record.skill_path,
        files=files_of(decode_skill(record.skill, record.start).with_document(SkillDocument(draft.text))),
        at=next(at for at, event in reversed(events) if event is draft),
        parent=parent,
        expected_tip=None,
        subject=draft_subject(record.skill, draft.changes),
        body=draft_body(draft.changes, grading),
        trailers=(*draft_trailers(origin, grading, rollouts, marks), *named),
    )


def _incumbent(repository: Repository, record: RunRecord, events: Sequence[tuple[str, Event]]) -> str:
    """Return the commit with the text that the draft is compared with: the run's newest version, else its start."""
    own = (one for one in repository.versions(record.skill) if one.trailer(_RUN) == record.id and one.trailer(ACCEPTED))
    if any(isinstance(event, VersionAccepted) for _, event in events) and (newest := next(own, None)):
        return newest.sha
    began = next((at for at, event in events if isinstance(event, RunStarted)), "")
    start = uncommitted_start(repository, record, began)
    return record.base if start is None else repository.write_commit(start)
