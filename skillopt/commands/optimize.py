"""The user action `optimize`: begin or continue a run, record its events, commit its versions.

Owns where a run starts, and the order "record, then commit": a version's commit is made of recorded
facts only, so a rerun makes the same commit. Does not own the loop (optimizer).
"""

import json
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Literal

from skillopt.documents import Skill, SkillDocument
from skillopt.errors import AnswersPendingError, InfrastructureError, SettingsError, UsageError
from skillopt.events import RunEnded, RunStarted, SealedTestMeasured, VersionAccepted, encode_event
from skillopt.executors.threads import ThreadExecutor
from skillopt.gate import GateRule
from skillopt.ledger import Ledger, RunRecord
from skillopt.locks import writer_lock
from skillopt.metering import OutOfBudget
from skillopt.optimizer import Optimizer
from skillopt.project import Project, Selection, Target
from skillopt.publication import Origin, body_of, subject_of, trailers_of
from skillopt.roles import Roles, load_roles
from skillopt.rollouts import Usage
from skillopt.runner import RecordedRunner, Watch
from skillopt.settings import Settings
from skillopt.skill_folder import decode_skill, encode_skill, files_of, skill_from_files
from skillopt.tasks import Split, Suite, digest_of
from skillopt.validation import check_trainable
from skillopt.versions import Repository, VersionDraft

__all__ = ["Optimized", "Start", "optimize"]

Start = Literal["auto", "worktree", "branch"]


@dataclass(frozen=True, slots=True)
class Optimized:
    """What a run came to.

    Args:
        run: Id of the run.
        skill: Name of the skill.
        branch: Where the versions are.
        versions: Commits of this run, oldest first.
        reason: Why the run ended.
        test: The sealed test, None when nothing was accepted.
        rollouts: Rollouts asked for.
        calls: Optimizer calls asked for.
        paid_rollouts: Of those, how many this command ran itself.
        paid_calls: Of those, how many this command made itself.
        resumed: Whether an interrupted run went on.
        spent: What each role consumed in this command.
    """

    run: str
    skill: str
    branch: str
    versions: tuple[str, ...]
    reason: str
    test: SealedTestMeasured | None
    rollouts: int
    calls: int
    paid_rollouts: int
    paid_calls: int
    resumed: bool
    spent: Mapping[str, Usage]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Everything a run is made of, settled before anything is spent."""

    target: Target
    suite: Suite
    roles: Roles
    repository: Repository
    skill_path: str

    @property
    def identities(self) -> tuple[str, ...]:
        """Name target, optimizer model and, where there is one, judge."""
        roles = (self.roles.harness, self.roles.model, self.roles.judge)
        return tuple(role.identity for role in roles if role is not None)


def optimize(selection: Selection, *, start: Start = "auto", watch: Watch | None = None) -> Optimized:
    """Train a skill, or continue the training that was interrupted.

    Args:
        selection: The skill, its suite and settings.
        start: Which text to begin with when work tree and branch differ.
        watch: Follows the run.

    Raises:
        UsageError: Something is missing or wrong; nothing was spent.
        BusyError: Another run trains this skill.
        InvalidMeasurementError: Too little could be measured; the same command continues.
    """
    project = selection.project()
    plan = _plan(project, project.target(selection))
    with writer_lock(project.root, plan.target.name), closing(Ledger.open(project.root)) as ledger:
        record, resumed = _begin(plan, ledger, start)
        return _Run(plan, ledger, record, watch or Watch()).drive(resumed=resumed)


def _plan(project: Project, target: Target) -> _Plan:
    settings = target.settings
    repository = project.repository()
    repository.check_branch(target.name)
    suite = target.suite()
    _check_cap(settings, suite)
    check_trainable(target.skill())
    return _Plan(
        target,
        suite,
        load_roles(settings, suite, project.root),
        repository,
        repository.relative(target.folder),
    )


def _check_cap(settings: Settings, suite: Suite) -> None:
    """Refuse a cap under which no candidate could ever be gated, before anything is spent."""
    train, val, test = (len(suite.tasks(split)) for split in Split)
    gate = val * (2 if settings.gate is GateRule.PAIRED else 1)
    least = val * settings.baseline_trials + min(settings.batch_size, train) + gate + 2 * test
    if 0 < settings.max_rollouts < least:
        message = (
            f"expected max_rollouts of at least {least} (baseline, one batch, one gate, sealed test), "
            f"found {settings.max_rollouts}; see `skillopt estimate`"
        )
        raise SettingsError(message)


def _begin(plan: _Plan, ledger: Ledger, start: Start) -> tuple[RunRecord, bool]:
    """Find the interrupted run that this command continues, or record a new one."""
    settings, suite = plan.target.settings, plan.suite
    config = json.dumps([settings.identity, *plan.identities])
    interrupted = ledger.find_interrupted(plan.target.name, digest_of(config), suite.digest)
    if interrupted is not None and start == "auto":
        ledger.begin_run(interrupted)
        return interrupted, True
    skill = _starting_skill(plan, start)
    base = plan.repository.branch_tip(plan.target.name) or plan.repository.head() or ""
    record = RunRecord(
        id=digest_of(plan.target.name, skill.digest, config, suite.digest, base)[:12],
        skill=plan.target.name,
        skill_path=plan.skill_path,
        config=config,
        config_digest=digest_of(config),
        suite_digest=suite.digest,
        start=encode_skill(skill),
        base=base,
        seed=settings.seed,
    )
    ledger.begin_run(record)
    return record, False


def _starting_skill(plan: _Plan, start: Start) -> Skill:
    """Choose the text to begin with; one that a person changed beside the branch is never passed over."""
    worktree = plan.target.skill()
    tip = plan.repository.branch_tip(plan.target.name)
    if tip is None or start == "worktree":
        return worktree
    newest = _skill_at(plan, tip)
    if start == "branch" or newest.digest == worktree.digest:
        return newest
    versions = plan.repository.versions(plan.target.name)
    known = [version.sha for version in versions[1:]] + [version.parent for version in versions[-1:] if version.parent]
    if any(_skill_at(plan, commit, missing_ok=True).digest == worktree.digest for commit in known):
        return newest
    message = (
        f"{plan.target.folder} was changed after branch skillopt/{plan.target.name} was trained; "
        "pass --start worktree to train what lies in the folder, or --start branch to go on from the branch"
    )
    raise UsageError(message)


def _skill_at(plan: _Plan, commit: str, *, missing_ok: bool = False) -> Skill:
    files = plan.repository.read_folder(commit, plan.skill_path)
    if missing_ok and not any(file.path == "SKILL.md" for file in files):
        return Skill(plan.target.name, SkillDocument(""))
    return skill_from_files(plan.target.name, files)


class _Run:
    """Drives the loop and keeps what it yields."""

    def __init__(self, plan: _Plan, ledger: Ledger, record: RunRecord, watch: Watch) -> None:
        self._plan = plan
        self._ledger = ledger
        self._record = record
        self._watch = watch
        self._skill = decode_skill(plan.target.name, record.start)
        executor = ThreadExecutor(plan.target.settings.workers, self._watch.notice)
        self._runner = RecordedRunner(ledger, record.id, plan.roles, executor, watch, plan.target.settings.breaker)
        self._tip = record.base
        self._commits: list[str] = []
        self._started_at = ""

    def drive(self, *, resumed: bool) -> Optimized:
        """Run to the end; whatever interrupts it leaves a run that the same command continues."""
        try:
            ended, test = self._loop()
        except KeyboardInterrupt:
            self._ledger.end_run(self._record.id, "stopped", "interrupted")
            raise
        except OutOfBudget as over:
            self._ledger.end_run(self._record.id, "stopped", str(over))
            return self._optimized(RunEnded(str(over), len(self._commits), 0, 0), None, resumed=resumed)
        except InfrastructureError as error:
            state = "stopped" if isinstance(error, AnswersPendingError) else "failed"
            self._ledger.end_run(self._record.id, state, str(error))
            raise
        self._ledger.end_run(self._record.id, "finished", ended.reason)
        return self._optimized(ended, test, resumed=resumed)

    def _optimized(self, ended: RunEnded, test: SealedTestMeasured | None, *, resumed: bool) -> Optimized:
        return Optimized(
            self._record.id,
            self._record.skill,
            f"skillopt/{self._record.skill}",
            tuple(self._commits),
            ended.reason,
            test,
            ended.rollouts,
            ended.calls,
            self._runner.paid_rollouts,
            self._runner.paid_calls,
            resumed,
            self._plan.roles.meter.by_role,
        )

    def _loop(self) -> tuple[RunEnded, SealedTestMeasured | None]:
        test = None
        optimizer = Optimizer(self._skill, self._plan.suite, self._plan.target.settings, self._runner)
        for number, event in enumerate(optimizer.events()):
            self._runner.keep_gaps()
            at = self._ledger.append_event(self._record.id, number, *encode_event(event))
            if isinstance(event, RunStarted):
                self._started_at = at
            elif isinstance(event, VersionAccepted):
                self._commit(event, at)
            self._watch.event(event)
            if isinstance(event, SealedTestMeasured):
                test = event
            if isinstance(event, RunEnded):
                return event, test
        message = "the loop ended without saying so"
        raise AssertionError(message)

    def _commit(self, event: VersionAccepted, at: str) -> None:
        """Commit an accepted version, and before the first one the text it started from if git lacks it."""
        if not self._commits:
            self._commit_start()
        skill = self._skill.with_document(SkillDocument(event.text))
        plan, record = self._plan, self._record
        origin = Origin(
            skill.name,
            record.id,
            plan.identities[0],
            plan.identities[1],
            record.suite_digest,
            plan.target.settings.metric.value,
        )
        trailers = trailers_of(origin, event, self._runner.usage)
        self._write(skill, subject_of(skill.name, event), body_of(event), trailers, at)
        self._commits.append(self._tip)

    def _commit_start(self) -> None:
        base = self._record.base
        if base and _skill_at(self._plan, base, missing_ok=True).digest == self._skill.digest:
            return
        subject = f"{self._skill.name}: the text that training starts from"
        trailers = (("Skill", self._skill.name), ("Skillopt-Run", self._record.id))
        self._write(
            self._skill, subject, "As it lay in the work tree, not committed before.", trailers, self._started_at
        )

    def _write(self, skill: Skill, subject: str, body: str, trailers: tuple[tuple[str, str], ...], at: str) -> None:
        # Our last commit, or for the first one where the branch was; a branch that is not there is made.
        expected = None if self._plan.repository.branch_tip(skill.name) is None else self._tip
        draft = VersionDraft(
            skill=skill.name,
            path=self._record.skill_path,
            files=files_of(skill),
            subject=subject,
            body=body,
            trailers=trailers,
            at=at,
            parent=self._tip,
            expected_tip=expected,
        )
        self._tip = self._plan.repository.commit_version(draft)
