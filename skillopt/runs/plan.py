"""RunPlan of a run before anything is spent: target, suite, drivers, starting text, and the run that it continues."""

from dataclasses import dataclass, replace
from typing import Final, Literal

from skillopt.errors import UsageError
from skillopt.execution.drivers import Drivers, Given, load_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.recording import config_of, record_of
from skillopt.loop.siblings import Sibling, identify_siblings
from skillopt.project import Selection, Target
from skillopt.runs.raised_caps import check_not_lower, ends_with, find_capped
from skillopt.runs.siblings import protected_siblings, with_siblings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import decode_skill, files_of, skill_from_files
from skillopt.skills.validation import check_trainable
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.notes import is_unreported
from skillopt.tasks import Split, Suite, digest_of
from skillopt.versions.commit_message import commit_kind
from skillopt.versions.repository import NewVersion, Repository

__all__ = [
    "RunPlan",
    "Start",
    "begin_run",
    "incumbent_of",
    "make_plan",
    "read_version",
    "record_run",
    "uncommitted_start",
]

Start = Literal["auto", "worktree", "branch"]
"""Which text to begin with when work tree and branch differ."""


_BY_PEOPLE: Final = ("taken", "declined", "undeclined", "dropped")


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that a run needs."""

    target: Target
    suite: Suite
    drivers: Drivers
    repository: Repository
    skill_path: str
    proposer: str
    folds: tuple[Suite, ...] = ()
    siblings: tuple[Sibling, ...] = ()

    @property
    def suite_digest(self) -> str:
        """Identify the suite, whichever of its folds is `train`."""
        return self.folds[0].digest if self.folds else self.suite.digest

    @property
    def fold(self) -> int:
        """The number of the fold that is `train`, from 1; 0 without folds."""
        return self.folds.index(self.suite) + 1 if self.folds else 0

    def with_fold(self, number: int) -> "RunPlan":
        """Plan the same with another fold as `train`."""
        if not self.folds and number == 1:
            return self
        if not 1 <= number <= len(self.folds):
            has = "two folds, 1 and 2" if self.folds else "a fixed train split and no folds"
            raise UsageError(
                f"expected a fold that there is, found {number}: the suite of {self.target.name} has {has}"
            )
        return replace(self, suite=self.folds[number - 1])

    def with_fold_of(self, task: str) -> "RunPlan":
        """Plan the same with the fold that has a task as `train`; as it is where none has."""
        found = (fold for fold in self.folds if task in {one.id for one in fold.tasks(Split.TRAIN)})
        return replace(self, suite=next(found, self.suite))

    @property
    def base(self) -> str:
        """The commit that a run would start from now; empty for none."""
        return self.repository.branch_tip(self.target.name) or self.repository.head() or ""

    @property
    def identities(self) -> tuple[str, ...]:
        """List the identities of target, proposer and, where there are any, judge and protected siblings."""
        judge = () if self.drivers.judge is None else (self.drivers.judge.identity,)
        return (self.drivers.harness.identity, self.proposer, *judge, *identify_siblings(self.siblings))


def make_plan(selection: Selection, *, proposer: str = "", allowance: Meter | None = None) -> RunPlan:
    """RunPlan a run, and refuse a skill or a suite that could not be trained."""
    project = selection.project()
    target = project.target(selection)
    repository = project.repository()
    repository.check_branch(f"skillopt/{target.name}")
    whole = target.suite()
    folds = whole.fold_suites if proposer else ()  # whoever proposes is shown one fold at a time
    suite = folds[0] if folds else whole
    check_trainable(target.skill())
    siblings = protected_siblings(project, target, selection.flags)
    asked = with_siblings(suite, siblings)
    drivers = load_drivers(target.settings, asked, project.root, Given(allowance=allowance), optimizer=not proposer)
    named = proposer or (drivers.model.identity if drivers.model else "")
    return RunPlan(target, suite, drivers, repository, repository.relative(target.folder), named, folds, siblings)


def begin_run(plan: RunPlan, ledger: Ledger, start: Start) -> tuple[RunRecord, bool]:
    """Find the interrupted run that this command continues, or record a new one."""
    settings, suite = plan.target.settings, plan.suite
    config = config_of(settings, plan.identities)
    interrupted = ledger.find_interrupted(plan.target.name, digest_of(config), suite.digest)
    if interrupted is not None and _started_so(plan, interrupted, start):
        check_not_lower(ledger, interrupted, settings)
        ledger.begin_run(interrupted)
        return interrupted, True
    for run in (_find_unseen(plan, ledger, config), find_capped(ledger, plan.target.name, config, suite, settings)):
        if run is not None and _started_so(plan, run, start) and _is_untouched(plan, ledger, run, start):
            return _taken_up(ledger, run), True
    return record_run(plan, ledger, incumbent_of(plan.target, plan.repository, start), config, settings.seed), False


def _find_unseen(plan: RunPlan, ledger: Ledger, config: str) -> RunRecord | None:
    """Find the newest run of this very command, if it finished and was killed before it could say so."""
    wanted = (config, plan.suite.digest)
    runs = (run for run in ledger.runs(plan.target.name) if (run.config, run.suite_digest) == wanted)
    newest = next(runs, None)
    finished = newest is not None and newest.state == "finished"
    return newest if newest and finished and is_unreported(ledger.path.parent.parent, newest.id) else None


def _taken_up(ledger: Ledger, run: RunRecord) -> RunRecord:
    """Go on with a run; one that is stopped, not finished, keeps its start, which tells what came before."""
    if run.state == "finished":
        ledger.end_run(run.id, "stopped", "it goes on")
    return ledger.begin_run(run)


def _is_untouched(plan: RunPlan, ledger: Ledger, run: RunRecord, start: Start) -> bool:
    """Return whether training would go on from the text that a run ended with, or has not ended."""
    if run.state != "finished" or start == "worktree":
        return True
    return incumbent_of(plan.target, plan.repository, start).digest == ends_with(ledger, run)


def _started_so(plan: RunPlan, run: RunRecord, start: Start) -> bool:
    """Return whether a run began with the text that is asked for.

    The run itself may have moved the branch since: a branch that ends with one of its versions is where it goes on.
    """
    name, repository = plan.target.name, plan.repository
    newest = next(iter(repository.versions(name)), None)
    if newest is not None and commit_kind(newest) in _BY_PEOPLE and not _began_after(repository, run, newest.sha):
        return False  # a person decided since, and what the run would commit is not based on that
    if start == "auto":
        return True
    if start == "branch":
        is_own = newest is not None and newest.trailer("Skillopt-Run") == run.id
        if newest is not None and is_own and newest.sha == repository.branch_tip(name):
            return True
    asked = incumbent_of(plan.target, repository, start)
    return asked.digest == decode_skill(name, run.start).digest


def _began_after(repository: Repository, run: RunRecord, commit: str) -> bool:
    return bool(run.base) and repository.contains(run.base, commit)


def record_run(plan: RunPlan, ledger: Ledger, skill: Skill, config: str, seed: int) -> RunRecord:
    """Record a run, or continue the one that starts from the same text, configuration and commit."""
    suite = plan.folds[0] if plan.folds else plan.suite
    return ledger.begin_run(record_of(skill, suite, config, seed, path=plan.skill_path, base=plan.base))


def uncommitted_start(repository: Repository, record: RunRecord, at: str) -> NewVersion | None:
    """Return the commit that the text needs which a run starts from; None where git has it at the run's base."""
    name, base, skill = record.skill, record.base, decode_skill(record.skill, record.start)
    known = read_version(repository, name, base, record.skill_path, missing_ok=True) if base else None
    if known is not None and known.digest == skill.digest:
        return None
    return NewVersion(
        skill=name,
        path=record.skill_path,
        files=files_of(skill),
        subject=f"{name}: the text that training starts from",
        body="As it lay in the work tree, not committed before.",
        trailers=(("Skill", name), ("Skillopt-Run", record.id)),
        at=at,
        parent=base,
        expected_tip=None,
    )


def incumbent_of(target: Target, repository: Repository, start: Start = "auto") -> Skill:
    """Choose the text to begin with; a text that a person changed outside the branch is never ignored."""
    worktree = target.skill()
    tip = repository.branch_tip(target.name)
    if tip is None or start == "worktree":
        return worktree
    path = repository.relative(target.folder)
    newest = read_version(repository, target.name, tip, path)
    if start == "branch" or newest.digest == worktree.digest:
        return newest
    versions = repository.versions(target.name)
    known = [version.sha for version in versions[1:]] + [version.parent for version in versions[-1:] if version.parent]
    known += [version.merged for version in versions if version.merged]
    texts = (read_version(repository, target.name, commit, path, missing_ok=True) for commit in known)
    if any(text.digest == worktree.digest for text in texts):
        return newest
    message = (
        f"{target.folder} was changed after branch skillopt/{target.name} was trained; say where to start: worktree, "
        "to train what lies in the folder, or branch, to go on from the branch (as in --start worktree)"
    )
    raise UsageError(message)


def read_version(repository: Repository, name: str, commit: str, path: str, *, missing_ok: bool = False) -> Skill:
    """Read a skill from a commit; with `missing_ok`, one that the commit lacks is empty."""
    files = repository.read_folder(commit, path)
    if missing_ok and not any(file.path == "SKILL.md" for file in files):
        return Skill(name, SkillDocument(""))
    return skill_from_files(name, files)
