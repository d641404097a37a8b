"""Plan of a run before anything is spent: target, suite, drivers, first text, and what run it continues."""

from dataclasses import dataclass
from typing import Final, Literal

from skillopt.errors import SkillError, UsageError
from skillopt.execution.drivers import Drivers, Given, load_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.recording import config_of, record_of
from skillopt.execution.records import recorded_events
from skillopt.loop.caps import settle_folds
from skillopt.loop.events import VersionAccepted
from skillopt.project import Selection, Target
from skillopt.sandbox.processes import shell_problem
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import decode_skill, skill_at_place
from skillopt.skills.validation import check_trainable
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.storage.locks import is_unreported
from skillopt.tasks import Suite
from skillopt.versions.commit_message import commit_kind
from skillopt.versions.merging import fork_of
from skillopt.versions.refusals import refusals_of
from skillopt.versions.repository import NewVersion, Repository

_MOST_TRAINED: Final = 200_000
"""Characters; edits of a longer text are refused, and no prompt holds it beside failures."""

Start = Literal["auto", "worktree", "branch"]
"""Which text to begin with when work tree and branch differ."""


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that a run needs."""

    target: Target
    suite: Suite
    drivers: Drivers
    repository: Repository
    skill_path: str
    proposer: str
    further: tuple[Drivers, ...] = ()
    """Those of the harnesses behind the first one of a list, which measure what the run accepted."""

    @property
    def base(self) -> str:
        """The commit that a run would start from now; empty for none."""
        return self.repository.branch_tip(self.target.name) or self.repository.head() or ""

    @property
    def refusals(self) -> str:
        """The object with what people refused of the skill by now; empty for nothing."""
        return refusals_of(self.repository, self.target.name)

    @property
    def identities(self) -> tuple[str, ...]:
        """List the identities of target, proposer and, where there is one, judge."""
        judge = () if self.drivers.judge is None else (self.drivers.judge.identity,)
        return (self.drivers.harness.identity, self.proposer, *judge)


def make_plan(selection: Selection, *, proposer: str = "", allowance: Meter | None = None) -> RunPlan:
    """RunPlan a run, and refuse a skill or a suite that could not be trained."""
    project = selection.project()
    target = project.target(selection)
    repository = project.repository()
    repository.check_branch(f"skillopt/{target.name}")
    repository.check_name(f"skillopt-draft/{target.name}")
    suite = settle_folds(target.suite(), target.settings)
    skill, harness = target.skill(), target.settings.harness
    check_trainable(skill)
    document = skill.document
    if (size := len(document.text)) > _MOST_TRAINED:
        found = f"expected at most {_MOST_TRAINED:,} characters to train, found {size:,}"
        raise SkillError(f"{skill.name}: {found}; move detail to files that are not trained")
    if problem := next(filter(None, (shell_problem(part.path, part.text) for part in document.parts)), ""):
        raise SkillError(f"{skill.name}/{problem}; mend it before it is trained")
    if harness.partition("/")[0] == "chat" and document.trained:
        found = f"{', '.join(document.trained)} and harness {harness!r}, which opens and runs no file"
        raise UsageError(f"{skill.name}: expected an agent to exercise what is trained, found {found}; choose an agent")
    drivers = load_drivers(target.settings, suite, project.root, Given(allowance=allowance), optimizer=not proposer)
    given = Given(meter=drivers.meter, allowance=allowance)
    others = target.settings.by_target[1:]
    further = tuple(load_drivers(one, suite, project.root, given, optimizer=False) for one in others)
    named = proposer or (drivers.model.identity if drivers.model else "")
    return RunPlan(
        target=target,
        suite=suite,
        drivers=drivers,
        repository=repository,
        skill_path=target.place(repository),
        proposer=named,
        further=further,
    )


def begin_run(plan: RunPlan, ledger: Ledger, start: Start) -> tuple[RunRecord, bool]:
    """Find the interrupted run that this command continues, or record a new one."""
    settings, suite = plan.target.settings, plan.suite
    config = config_of(settings, plan.identities)
    runs = [run for run in ledger.runs(plan.target.name) if run.suite_digest == suite.digest]
    same = next((run for run in runs if run.config == config), None)
    if same is not None and same.state != "finished" and _started_so(plan, same, start):
        return ledger.begin_run(same), True
    unshown = same is not None and is_unreported(ledger.path.parent.parent, same.id) and _started_so(plan, same, start)
    if same is not None and unshown and _is_untouched(plan, ledger, same, start):
        ledger.end_run(same.id, "stopped", "its result was never shown")
        return ledger.begin_run(same), True
    return record_run(plan, ledger, incumbent_of(plan.target, plan.repository, start), config, settings.seed), False


def _is_untouched(plan: RunPlan, ledger: Ledger, run: RunRecord, start: Start) -> bool:
    """Return whether training would go on from the text that a run ended with."""
    if start == "worktree":
        return True
    ended = decode_skill(run.skill, run.start)
    for event in recorded_events(ledger, run.id):
        ended = ended.with_document(SkillDocument(event.text)) if isinstance(event, VersionAccepted) else ended
    return incumbent_of(plan.target, plan.repository, start).digest == ended.digest


def _started_so(plan: RunPlan, run: RunRecord, start: Start) -> bool:
    """Return whether a run began with the text that is asked for, also where it has moved the branch since."""
    name, repository = plan.target.name, plan.repository
    if run.skill_path != plan.skill_path:
        return False  # other files are trained by now
    if run.refusals != plan.refusals:
        return False  # people refused something since
    newest = next(iter(repository.versions(name)), None)
    by_people = newest is not None and commit_kind(newest) in ("taken", "declined", "undeclined", "dropped")
    if newest is not None and by_people and not (run.base and repository.contains(run.base, newest.sha)):
        return False  # a person decided since, and what the run would commit is not based on that
    if start == "auto":
        return True
    is_own = newest is not None and newest.trailer("Skillopt-Run") == run.id
    if start == "branch" and newest is not None and is_own and newest.sha == repository.branch_tip(name):
        return True
    asked = incumbent_of(plan.target, repository, start)
    return asked.digest == decode_skill(name, run.start).digest


def record_run(plan: RunPlan, ledger: Ledger, skill: Skill, config: str, seed: int) -> RunRecord:
    """Record a run, or continue the one that starts from the same text, configuration and commit."""
    start = plan.base, plan.refusals
    return ledger.begin_run(record_of(skill, plan.suite, config, seed, path=plan.skill_path, start=start))


def uncommitted_start(repository: Repository, record: RunRecord, at: str) -> NewVersion | None:
    """Return the commit that the text needs which a run starts from; None where git has it at the run's base."""
    name, base, skill = record.skill, record.base, decode_skill(record.skill, record.start)
    known = read_version(repository, name, base, record.skill_path, missing_ok=True) if base else None
    if known is not None and known.digest == skill.digest:
        return None
    return NewVersion(
        skill=name,
        path=record.skill_path,
        files=skill.shipped,
        subject=f"{name}: the text that training starts from",
        body="As it lay in the work tree, not committed before.",
        trailers=(("Skill", name), ("Skillopt-Run", record.id)),
        at=at,
        parent=base,
    )


def incumbent_of(target: Target, repository: Repository, start: Start = "auto") -> Skill:
    """Choose the text to begin with; a text that a person changed outside the branch is never ignored."""
    worktree = target.skill()
    tip = repository.branch_tip(target.name)
    if tip is None or start == "worktree":
        return worktree
    path = target.place(repository)
    newest = read_version(repository, target.name, tip, path)
    if start == "branch" or newest.digest == worktree.digest:
        return newest
    if not is_new_text(target, repository, worktree):
        return newest
    raise UsageError(
        f"{target.folder} was changed after branch skillopt/{target.name} was trained; say where to start: worktree, "
        "to train what lies in the folder, or branch, to go on from the branch (as in --start worktree); to keep both, "
        f"git merge the new text into skillopt/{target.name} first"
    )


def is_new_text(target: Target, repository: Repository, worktree: Skill) -> bool:
    """Return whether the text in the work tree is none that the skill's branch has, or began from."""
    versions = repository.versions(target.name)
    tip = repository.branch_tip(target.name) or ""
    known = [tip, *(version.sha for version in versions), fork_of(repository, tip) if tip else ""]
    known += [version.parent for version in versions[-1:] if version.parent]
    known += [version.merged for version in versions if version.merged]
    path = target.place(repository)
    texts = (read_version(repository, target.name, commit, path, missing_ok=True) for commit in known if commit)
    return all(text.digest != worktree.digest for text in texts)


def read_version(repository: Repository, name: str, commit: str, path: str, *, missing_ok: bool = False) -> Skill:
    """Read a skill from a commit; with `missing_ok`, one that the commit lacks is empty."""
    return skill_at_place(name, repository.read_folder(commit, path), path, missing_ok=missing_ok)
