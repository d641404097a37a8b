"""Drive a run: record each event in the ledger, then commit the accepted version.

In this order, because a version's commit is made of recorded facts only, so that a rerun makes the same commit.
"""

from collections.abc import Iterable

from skillopt.errors import AnswersPendingError, InfrastructureError
from skillopt.execution.metering import OutOfBudget
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.execution.threads import ThreadExecutor
from skillopt.loop.events import Event, RunEnded, RunStarted, VersionAccepted, encode_event
from skillopt.runs.plan import RunPlan, read_version
from skillopt.runs.version_message import VersionOrigin, body_of, subject_of, trailers_of
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import decode_skill, files_of
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.versions.repository import VersionDraft

__all__ = ["RecordedRun"]


class RecordedRun:
    """A run whose events are recorded and whose versions are committed.

    Args:
        plan: The planned run.
        ledger: Where it is recorded.
        record: The run.
        observer: Gets its events and progress.
    """

    def __init__(self, plan: RunPlan, ledger: Ledger, record: RunRecord, observer: RunObserver) -> None:
        settings = plan.target.settings
        self.skill = decode_skill(plan.target.name, record.start)
        executor = ThreadExecutor(settings.executor.workers, observer.notice)
        self.runner = RecordedRunner(ledger, record.id, plan.drivers, executor, observer, settings.executor.breaker)
        self.commits: list[str] = []
        self._plan = plan
        self._ledger = ledger
        self._record = record
        self._observer = observer
        self._tip = record.base
        self._started_at = ""

    def drive(self, events: Iterable[Event]) -> tuple[list[Event], RunEnded]:
        """Run to the end; after any interruption the same command continues.

        Returns:
            All events, and how the run ended; a cap that stopped it says so there.
        """
        happened: list[Event] = []
        ended: RunEnded | None = None
        try:
            for event in events:
                self._keep(len(happened), event)
                happened.append(event)
                ended = event if isinstance(event, RunEnded) else None
        except KeyboardInterrupt:
            self._ledger.end_run(self._record.id, "stopped", "interrupted")
            raise
        except OutOfBudget as over:
            self._ledger.end_run(self._record.id, "stopped", str(over))
            return happened, RunEnded(str(over), len(self.commits), 0, 0)
        except InfrastructureError as error:
            state = "stopped" if isinstance(error, AnswersPendingError) else "failed"
            self._ledger.end_run(self._record.id, state, str(error))
            raise
        if ended is None:
            message = "the run ended without saying so"
            raise AssertionError(message)
        self._ledger.end_run(self._record.id, "finished", ended.reason)
        return happened, ended

    def _keep(self, number: int, event: Event) -> None:
        self.runner.keep_failures()
        at = self._ledger.append_event(self._record.id, number, *encode_event(event))
        if isinstance(event, RunStarted):
            self._started_at = at
        elif isinstance(event, VersionAccepted):
            self._commit(event, at)
        self._observer.event(event)

    def _commit(self, event: VersionAccepted, at: str) -> None:
        """Commit an accepted version, and before the first one the text it started from if git lacks it."""
        if not self.commits:
            self._commit_start()
        plan, record = self._plan, self._record
        target, proposer, *_ = plan.identities
        settings = plan.target.settings
        origin = VersionOrigin(self.skill.name, record.id, target, proposer, record.suite_digest, settings.metric.value)
        trailers = trailers_of(origin, event, self.runner.usage)
        document = SkillDocument(event.text)
        self._write(document, subject_of(self.skill.name, event), body_of(event), trailers, at)
        self.commits.append(self._tip)

    def _commit_start(self) -> None:
        base, name = self._record.base, self.skill.name
        known = base and read_version(self._plan.repository, name, base, self._record.skill_path, missing_ok=True)
        if known and known.digest == self.skill.digest:
            return
        subject = f"{name}: the text that training starts from"
        trailers = (("Skill", name), ("Skillopt-Run", self._record.id))
        body = "As it lay in the work tree, not committed before."
        self._write(self.skill.document, subject, body, trailers, self._started_at)

    def _write(
        self, document: SkillDocument, subject: str, body: str, trailers: tuple[tuple[str, str], ...], at: str
    ) -> None:
        name = self.skill.name
        # Our last commit, or for the first one where the branch was; a branch that is not there is made.
        expected = None if self._plan.repository.branch_tip(name) is None else self._tip
        draft = VersionDraft(
            skill=name,
            path=self._record.skill_path,
            files=files_of(self.skill.with_document(document)),
            subject=subject,
            body=body,
            trailers=trailers,
            at=at,
            parent=self._tip,
            expected_tip=expected,
        )
        self._tip = self._plan.repository.commit_version(draft)
