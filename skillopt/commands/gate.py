"""The user action `gate`: may this change of skills be merged? For changes by people as by the optimizer.

Every skill that differs is checked as text (review.checks), then measured against its old text (review.gate).
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from skillopt.errors import InfrastructureError, SkillError, SuiteError, UsageError
from skillopt.execution.drivers import caps_of, load_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.project import CONFIG, Project, Target
from skillopt.review.checks import ALWAYS_REFUSED, check_new_text
from skillopt.review.gate import ChangeGate, Demand, why_untestable
from skillopt.review.result import ChangeFinding, ChangeKind, GatedChange, GateReport, ReviewAnswer, Standing, Weight
from skillopt.rollouts import Usage
from skillopt.runs.earlier_spending import earlier_spending, runs_on
from skillopt.runs.plan import RunPlan
from skillopt.runs.revision_project import RevisionProject
from skillopt.runs.run import RecordedRun
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.leaks import index_protected_text
from skillopt.safety.lint import LintClass
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import SKILL_FILE, encode_skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import Split, Suite, digest_of
from skillopt.versions.revisions import FolderChange, changed_folders, changed_in_worktree, find_commit, merge_base

__all__ = ["GateOptions", "gate"]

_WORKTREE = "worktree"
"""What stands for the work tree in place of a revision."""

_WORK = "gate"


@dataclass(frozen=True, slots=True)
class GateOptions:
    """How a change is gated.

    Args:
        demand: What each skill must be.
        strict: Whether warnings refuse.
        direct: Whether to compare with the base itself, not with the merge base.
        flags: Settings that override file and environment.
        suite: Overrides the configured suite.
        folder: Where the command is given; the current folder when None.
    """

    demand: Demand = field(default_factory=Demand)
    strict: bool = False
    direct: bool = False
    flags: Mapping[str, object] = field(default_factory=dict)
    suite: Path | None = None
    folder: Path | None = None


def gate(
    base: str, head: str = "HEAD", options: GateOptions | None = None, observer: RunObserver | None = None
) -> GateReport:
    """Check and measure every skill that differs between two revisions.

    Args:
        base: What the change is to be merged into: a commit, branch or tag.
        head: The change: a commit, branch or tag, or `worktree`.
        options: How it is gated.
        observer: Follows the rollouts.

    Raises:
        UsageError: A revision is not there, or the configuration is wrong; nothing was spent.
        SkilloptError: Something broke that concerns every skill.
    """
    options = options or GateOptions()
    folder = options.folder or Path.cwd()
    project = Project.find(folder)
    repository = project.repository()
    first = find_commit(repository, base)
    commit = find_commit(repository, "HEAD" if head == _WORKTREE else head)
    before = first if options.direct else merge_base(repository, first, commit)
    with ExitStack() as stack:
        places = [Path(stack.enter_context(TemporaryDirectory(prefix="skillopt-gate-"))) for _ in range(2)]
        old = RevisionProject(project, repository, before, places[0])
        new = RevisionProject(project, repository, "" if head == _WORKTREE else commit, places[1])
        if head == _WORKTREE:
            changed = changed_in_worktree(repository, before, new.present())
        else:
            changed = changed_folders(repository, before, commit)
        gated = _Gate(project, (old, new), options, observer or RunObserver())
        stack.callback(gated.close)
        changes = tuple(gated.change(one) for one in changed)
    after = "" if head == _WORKTREE else commit
    return GateReport(base, head, before, after, options.demand.required, options.strict, changes)


class _Gate:
    """Gates the skills of one change, one after the other."""

    def __init__(
        self,
        project: Project,
        revisions: tuple[RevisionProject, RevisionProject],
        options: GateOptions,
        observer: RunObserver,
    ) -> None:
        self._project = project
        self._old, self._new = revisions
        self._options = options
        self._observer = observer
        self._ledger: Ledger | None = None
        self._meter = Meter(caps_of(self._new.project.settings(options.flags)))

    def close(self) -> None:
        """Close what was opened."""
        if self._ledger is not None:
            self._ledger.close()

    def change(self, one: FolderChange) -> GatedChange:
        """Gate one skill; what is wrong with it alone is its own finding."""
        row = _row(one)
        if one.after is None:
            return row
        self._observer.notice(f"{escape_terminal(row.skill)}: {row.kind.value}")
        try:
            after = self._new.skill(one.after)
            target = self._new.target(one.after, self._options.flags, self._options.suite)
            suite = target.suite() if target.suite_path is not None else None
        except (SkillError, SuiteError) as error:
            return _refuse(row, "suite" if isinstance(error, SuiteError) else "skill", self._new.error_text(error))
        before = self._before(one)
        row = replace(row, findings=tuple(self._found(row, (before, after), target, suite)))
        refusals = [finding for finding in row.findings if self._refuses(finding)]
        if refusals:
            listed = ", ".join(dict.fromkeys(finding.rule for finding in refusals))
            return replace(row, standing=Standing.REFUSED, reason=f"refused unmeasured: {listed}")
        if suite is None:
            return replace(
                row, standing=Standing.UNTESTABLE, reason="untestable: it has no suite, so nothing was measured"
            )
        return self._measured(row, (before, after), target, suite)

    def _before(self, one: FolderChange) -> Skill | None:
        """Give the old text; one that cannot be read is none."""
        try:
            return None if one.before is None else self._old.skill(one.before)
        except SkillError:
            return None

    def _refuses(self, finding: ChangeFinding) -> bool:
        return finding.weight is Weight.REFUSE or (self._options.strict and finding.weight is Weight.WARN)

    def _found(
        self, row: GatedChange, texts: tuple[Skill | None, Skill], target: Target, suite: Suite | None
    ) -> Iterator[ChangeFinding]:
        """Find what the texts bring, and what else changed with them."""
        before, after = texts
        settings = target.settings
        # What is in the change's own skillopt.toml cannot allow what is refused always; who runs the command can.
        asked = {LintClass(name) for name in settings.allow} if "allow" in self._options.flags else set()
        allow = {*settings.allow} - ALWAYS_REFUSED | asked
        protected = index_protected_text(suite) if suite is not None and settings.scan_leaks else None
        yield from check_new_text(before, after, row.path, allow, protected)
        if suite is None:
            advice = f"name one in {CONFIG}, or give the skill evals/evals.json"
            yield _finding(row, Weight.WARN, "no suite", f"expected a suite to measure it on, found none; {advice}")
            return
        if suite.left_out:
            yield _finding(row, Weight.WARN, "skipped tasks", suite.left_out)
        yield from self._moved(row, target)

    def _moved(self, row: GatedChange, target: Target) -> Iterator[ChangeFinding]:
        """Find what the measurement rests on and this change changes, too."""
        if not row.before_path:
            return
        try:
            old = self._old.target(row.before_path, self._options.flags, self._options.suite)
        except UsageError:
            return
        if self._old.suite_files(old) != self._new.suite_files(target):
            warning = "the suite changed, too: both texts are measured with the new one, so check that it asks no less"
            yield _finding(row, Weight.WARN, "suite changed", warning)
        if self._old.project.config.is_file() and old.settings.identity != target.settings.identity:
            warning = f"settings in {CONFIG} changed, too: the new ones hold, so check that they ask no less"
            yield ChangeFinding(CONFIG, 1, Weight.WARN, "settings changed", warning)

    def _measured(
        self, row: GatedChange, texts: tuple[Skill | None, Skill], target: Target, suite: Suite
    ) -> GatedChange:
        """Measure it, unless there is nothing to measure."""
        row = replace(row, suite=suite.name, tasks=len(suite.tasks(Split.VAL)))
        before, after = texts[0] or Skill(row.skill, SkillDocument("")), texts[1]
        if before.digest == after.digest:
            return replace(row, standing=Standing.PASSED, reason="its text is the same")
        if why := why_untestable(row.tasks, target.settings, self._options.demand):
            finding = _finding(row, Weight.WARN, "small suite", why)
            untestable = replace(row, standing=Standing.UNTESTABLE, reason=f"untestable: {why}")
            return replace(untestable, findings=(*row.findings, finding))
        try:
            return self._compared(row, (before, after), target, suite)
        except InfrastructureError as error:
            return replace(row, standing=Standing.INVALID, reason=str(error))

    def _compared(self, row: GatedChange, texts: tuple[Skill, Skill], target: Target, suite: Suite) -> GatedChange:
        drivers = load_drivers(target.settings, suite, self._project.root, optimizer=False, meter=self._meter)
        plan = RunPlan(target, suite, drivers, self._project.repository(), row.path, "a person")
        if self._ledger is None:
            self._ledger = Ledger.open(self._project.root)
        record = _record(self._ledger, plan, texts, self._options.demand, self._old.commit)
        run = RecordedRun(plan, self._ledger, record, self._observer)
        gate = ChangeGate(*texts, suite, target.settings, run.runner, self._options.demand)
        spent = self._meter.by_role
        _, ended = run.drive(gate.events(earlier_spending(self._ledger, record)))
        judged = gate.judged
        row = replace(
            row,
            run=record.id,
            looks=record.seed + 1,
            rollouts=ended.rollouts,
            paid_rollouts=run.runner.paid_rollouts,
            spent=_since(spent, self._meter.by_role),
            judged=judged,
            reason=ended.reason if judged is None else judged.reason,
        )
        if judged is None:
            return replace(row, standing=Standing.INVALID)
        if judged.answer is not ReviewAnswer.REFUSED and judged.test is None and self._options.demand.release:
            return replace(row, standing=Standing.INVALID, reason=f"not compared on test: {ended.reason}")
        return replace(row, standing=Standing(judged.answer.value))


def _row(one: FolderChange) -> GatedChange:
    """Begin with what git knows."""
    path = one.after or one.before or ""
    if one.after is None:
        kind = ChangeKind.DELETED
    elif one.before is None:
        kind = ChangeKind.ADDED
    else:
        kind = ChangeKind.MODIFIED if one.before == one.after else ChangeKind.RENAMED
    name = PurePosixPath(path).name or "."
    reason = "it is gone, and nothing is measured" if kind is ChangeKind.DELETED else ""
    return GatedChange(name, kind, path, one.before or "", one.files, Standing.DELETED, reason)


def _finding(row: GatedChange, weight: Weight, rule: str, message: str) -> ChangeFinding:
    path = SKILL_FILE if row.path == "." else f"{row.path}/{SKILL_FILE}"
    return ChangeFinding(path, 1, weight, rule, message)


def _refuse(row: GatedChange, rule: str, message: str) -> GatedChange:
    finding = _finding(row, Weight.REFUSE, rule, message)
    return replace(row, standing=Standing.REFUSED, reason=f"refused unmeasured: {rule}", findings=(finding,))


def _record(ledger: Ledger, plan: RunPlan, texts: tuple[Skill, Skill], demand: Demand, base: str) -> RunRecord:
    """Record the measurement; the same texts, asked the same, are the same run, and come to the same."""
    before, after = texts
    settings, suite = plan.target.settings, plan.suite
    config = json.dumps([settings.identity, *plan.identities, f"{_WORK} {demand} {after.digest}"])
    name = digest_of(_WORK, after.name, before.digest, config, suite.digest)[:12]
    looks = [run for run in runs_on(ledger, _WORK, after.name, suite.digest) if run.id != name]
    return ledger.begin_run(
        RunRecord(
            id=name,
            skill=after.name,
            skill_path=plan.skill_path,
            config=config,
            config_digest=digest_of(config),
            suite_digest=suite.digest,
            start=encode_skill(before),
            base=base,
            seed=len(looks),
        )
    )


def _since(before: Mapping[str, Usage], now: Mapping[str, Usage]) -> dict[str, Usage]:
    """Subtract what earlier skills of this command consumed."""
    found = {}
    for role, usage in now.items():
        old = before.get(role, Usage())
        usd = None if usage.usd is None or old.usd is None else usage.usd - old.usd
        found[role] = Usage(
            usage.calls - old.calls,
            usage.input_tokens - old.input_tokens,
            usage.output_tokens - old.output_tokens,
            usd,
        )
    return found
