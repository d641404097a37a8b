"""A run that keeps its accepted versions and its draft in git.

A version's commit is made of recorded facts only, so a rerun makes the same commit.
"""

from dataclasses import replace

from skillopt.errors import SkilloptError
from skillopt.execution.recording import Recording
from skillopt.execution.runner import RunObserver
from skillopt.gate.grades import UNGRADED
from skillopt.loop.events import Event, GateDecided, RunEnded, RunStarted, VersionAccepted
from skillopt.runs.draft_publication import DraftState, publish_draft
from skillopt.runs.plan import RunPlan, uncommitted_start
from skillopt.runs.raised_caps import stages_of
from skillopt.runs.version_message import VersionOrigin, body_of, subject_of, trailers_of
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import files_of
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.notes import mark_unreported
from skillopt.versions.decisions import edit_trailers
from skillopt.versions.repository import NewVersion

__all__ = ["RecordedRun"]


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
            self.draft = publish_draft(self._plan.repository, self._ledger, self.record)

    def interrupted(self) -> None:
        """Publish the draft as it is, ungraded; the run that goes on grades it."""
        try:
            self.draft = publish_draft(self._plan.repository, self._ledger, self.record)
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
        target, proposer, *_ = plan.identities
        settings = plan.target.settings
        origin = VersionOrigin(self.skill.name, record.id, target, proposer, record.suite_digest, settings.metric.value)
        new = NewVersion(
            skill=self.skill.name,
            path=record.skill_path,
            files=files_of(self.skill.with_document(SkillDocument(event.text))),
            subject=subject_of(self.skill.name, event),
            body=body_of(event, origin.metric),
            trailers=(
                *trailers_of(origin, event, self.runner.usage, self._spent),
                *edit_trailers([change.edit for change in event.changes]),
            ),
            at=at,
            parent=self._tip,
            expected_tip=None,
        )
        self._write(new)
        self.commits.append(self._tip)

    def _write(self, new: NewVersion) -> None:
        # Our last commit, or for the first one where the branch was; a branch that is not there is made.
        expected = None if self._plan.repository.branch_tip(new.skill) is None else self._tip
        self._tip = self._plan.repository.commit_version(replace(new, expected_tip=expected))
