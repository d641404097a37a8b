"""A run that keeps its accepted versions in git.

A version's commit is made of recorded facts only, so a rerun makes the same commit.
"""

from skillopt.execution.recording import Recording
from skillopt.execution.runner import RunObserver
from skillopt.loop.events import Event, RunStarted, VersionAccepted
from skillopt.runs.plan import RunPlan, read_version
from skillopt.runs.version_message import VersionOrigin, body_of, subject_of, trailers_of
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import files_of
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.versions.repository import NewVersion

__all__ = ["RecordedRun"]


class RecordedRun(Recording):
    """Keeps what a run yields, and commits its versions.

    Args:
        plan: The planned run.
        ledger: Where it is recorded.
        record: The run.
        observer: Gets its events and progress.
    """

    def __init__(self, plan: RunPlan, ledger: Ledger, record: RunRecord, watch: RunObserver) -> None:
        super().__init__(ledger, record, plan.drivers, plan.target.settings, watch)
        self.commits: list[str] = []
        self._plan = plan
        self._tip = record.base
        self._started_at = ""

    def recorded(self, event: Event, at: str) -> None:
        """Commit an accepted version that is recorded.

        Args:
            event: What happened.
            at: When it was first recorded, which is the time of the commit.
        """
        if isinstance(event, RunStarted):
            self._started_at = at
        elif isinstance(event, VersionAccepted):
            self._commit(event, at)

    def _commit(self, event: VersionAccepted, at: str) -> None:
        """Commit an accepted version, and before the first one the text it started from if git lacks it."""
        if not self.commits:
            self._commit_start()
        plan, record = self._plan, self.record
        target, proposer, *_ = plan.identities
        settings = plan.target.settings
        origin = VersionOrigin(self.skill.name, record.id, target, proposer, record.suite_digest, settings.metric.value)
        trailers = trailers_of(origin, event, self.runner.usage)
        document = SkillDocument(event.text)
        self._write(document, subject_of(self.skill.name, event), body_of(event), trailers, at)
        self.commits.append(self._tip)

    def _commit_start(self) -> None:
        base, name = self.record.base, self.skill.name
        known = base and read_version(self._plan.repository, name, base, self.record.skill_path, missing_ok=True)
        if known and known.digest == self.skill.digest:
            return
        subject = f"{name}: the text that training starts from"
        trailers = (("Skill", name), ("Skillopt-Run", self.record.id))
        body = "As it lay in the work tree, not committed before."
        self._write(self.skill.document, subject, body, trailers, self._started_at)

    def _write(
        self, document: SkillDocument, subject: str, body: str, trailers: tuple[tuple[str, str], ...], at: str
    ) -> None:
        name = self.skill.name
        # Our last commit, or for the first one where the branch was; a branch that is not there is made.
        expected = None if self._plan.repository.branch_tip(name) is None else self._tip
        draft = NewVersion(
            skill=name,
            path=self.record.skill_path,
            files=files_of(self.skill.with_document(document)),
            subject=subject,
            body=body,
            trailers=trailers,
            at=at,
            parent=self._tip,
            expected_tip=expected,
        )
        self._tip = self._plan.repository.commit_version(draft)
