"""The command `gate`: may this change of skills be merged, whoever made it?"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import typer

from skillopt.agent_table import find_agent_table
from skillopt.commands.options import JsonOption, QuietOption, RunOptions, SummaryOption, with_run_options
from skillopt.commands.output import SHORT, interruptible, show, write_report
from skillopt.commands.progress import ProgressObserver
from skillopt.errors import InfrastructureError, SettingsError, SkillError, SuiteError, UsageError
from skillopt.execution.access import missing_access
from skillopt.execution.drivers import Given, caps_of, checks_warning, load_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.gate.comparison import Pairs
from skillopt.project import CONFIG, Project, Target
from skillopt.reports.gate_report import render_annotations, render_gate_summary, render_gate_text
from skillopt.reports.markdown import cited
from skillopt.reports.rollouts import before_after_page, describe_worst, find_differing_tasks
from skillopt.review.checks import (
    ALWAYS_REFUSED,
    REFUSED,
    check_new_text,
    find_first_change,
    find_unmeasured,
    unexercised_files,
)
from skillopt.review.gate import Demand, why_untestable
from skillopt.review.result import (
    ChangeFinding,
    ChangeKind,
    GatedChange,
    GateReport,
    Required,
    Standing,
    SuiteMeasurement,
    Weight,
    followed_criteria,
)
from skillopt.runs.history import bring_lines, difference_of_files
from skillopt.runs.plan import RunPlan
from skillopt.runs.proposal import ChangedTexts, measure_change
from skillopt.runs.revision_project import RevisionProject, find_changed_agent
from skillopt.safety.escaping import count_noun, escape_terminal
from skillopt.safety.leaks import index_protected_text
from skillopt.safety.text_classes import LintClass
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import SKILL_FILE, find_skill_folders, is_fixture, read_skill
from skillopt.skills.trained_files import SkillPlace
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite
from skillopt.versions.revisions import (
    FolderChange,
    changed_folders,
    find_commit,
    merge_base,
)

_MOST_NAMED = 5  # files of a finding, or criteria that are followed least: a reviewer opens the first


@dataclass(frozen=True, slots=True)
class _Options:
    """How a change is gated."""

    demand: Demand
    flags: Mapping[str, object]
    suite: Path | None
    pages: Path | None
    strict: bool
    direct: bool


@dataclass(frozen=True, slots=True)
class _BaseSuite:
    """Suite and settings as the base has them, and the files that the suite is made of."""

    target: Target
    suite: Suite
    files: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class _Work:
    """One skill of the change: both texts, what the change measures it with, and what the base would."""

    row: GatedChange
    before: Skill
    after: Skill
    target: Target
    suite: Suite | None
    base: _BaseSuite | None


@with_run_options
def gate(
    base: Annotated[
        str, typer.Argument(metavar="BASE", help="What the change is to be merged into: a commit, branch or tag.")
    ] = "",
    head: Annotated[str, typer.Argument(metavar="HEAD", help="The change: a commit, branch or tag.")] = "HEAD",
    *,
    require: Annotated[
        Literal["not-worse", "better"], typer.Option(help="Not worse, or shown to be better.")
    ] = "not-worse",
    margin: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="With not-worse: refuse unless a loss of so much is ruled out; 0: 0.2, without refusing.",
        ),
    ] = 0.0,
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse for warnings and for a suite that could show nothing, too.")
    ] = False,
    direct: Annotated[
        bool, typer.Option("--direct", help="Compare with BASE itself, not with the merge base.")
    ] = False,
    install: Annotated[
        Path | None,
        typer.Option("--install", metavar="PATH", help="Read a skill of somebody else instead, before it is used."),
    ] = None,
    summary: SummaryOption = None,
    pages: Annotated[
        Path | None,
        typer.Option("--pages", metavar="FOLDER", help="Write HTML pages of how each task went before and after."),
    ] = None,
    github: Annotated[
        Path | None, typer.Option("--github", metavar="FILE", help="Write annotations, for a step on GitHub to print.")
    ] = None,
    options: RunOptions,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Gate a change of skills, whoever made it.

    Every skill that differs is validated, scanned, and measured on val against its old text: passed, refused, cannot
    tell, or untestable. Where the old text has a record, which `nightly --record` makes, the new text alone runs at
    first, and both texts only where it looks worse. Ends with 1 when one is refused, with 3 when one could not be
    measured, else with 0.

    With --install and a folder or file, no change is gated: what a skill lets or tells an agent do is listed, with what
    hides in it. That needs no suite, model or network, and ends with 1 when it is refused, else with 0.
    """
    if bool(base) is (install is not None):
        raise UsageError("expected BASE, which the change is to be merged into, or --install PATH")
    named = options.select(None)
    demand = Demand(Required(require), margin)
    asked = _Options(demand, named.flags, named.suite, pages, strict=strict, direct=direct)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        report = _gate(base, head, asked, observer) if install is None else _install(install, asked)
    show(report, render_gate_text, as_json=as_json)
    if github is not None:
        write_report(github, render_annotations(report), "--github")
    if summary is not None:
        write_report(summary, render_gate_summary(report), "--summary", append=True)
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _install(path: Path, options: _Options) -> GateReport:
    """Read the skills of a folder that somebody else wrote, or one file of text; nothing is run."""
    allow = Project.find(Path.cwd()).settings(options.flags).allow
    try:
        if path.is_file():
            skills = [(path, Skill(path.name, SkillDocument.parse(path.read_bytes())))]
        else:
            skills = [(path / name, read_skill(path / name)) for name in find_skill_folders(path)]
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; name another --install") from error
    if not skills:
        raise UsageError(f"expected a folder with a {SKILL_FILE}, or a file of text, found none at {str(path)!r}")
    rows = (_foreign(skill, place, allow, strict=options.strict) for place, skill in skills)
    return GateReport("", str(path), "", "", required=Required.NOT_WORSE, strict=options.strict, changes=tuple(rows))


def _foreign(skill: Skill, place: Path, allow: Collection[LintClass], *, strict: bool) -> GatedChange:
    path, lone = place.as_posix(), place.is_file()  # what stands alone need not be a skill
    found = check_new_text(Skill(skill.name, SkillDocument("")) if lone else None, skill, path, allow, None)
    findings = tuple(replace(one, path=path) if lone else one for one in found)
    files = {place.name if lone else file.path: file.content for file in skill.shipped}
    refusals = dict.fromkeys(finding.rule for finding in findings if finding.refuses(strict=strict))
    reason = (
        f"refused: {', '.join(refusals)}" if refusals else f"{count_noun(len(files), 'file')} read, nothing was run"
    )
    return GatedChange(
        Standing.REFUSED if refusals else Standing.PASSED,
        reason,
        skill=skill.name,
        kind=ChangeKind.ADDED,
        path=path,
        files=tuple(files),
        findings=findings,
        first_path=path,
        difference=difference_of_files({}, files),
    )


def _gate(base: str, head: str, options: _Options, observer: RunObserver) -> GateReport:
    """Check and measure every skill that differs between two revisions."""
    project = Project.find(Path.cwd())
    repository = project.repository()
    bring_lines(repository, project.settings(options.flags).nightly.remote, observer)
    first = find_commit(repository, base)
    after = find_commit(repository, head)
    before = first if options.direct else merge_base(repository, first, after)
    with ExitStack() as stack:
        places = [Path(stack.enter_context(TemporaryDirectory(prefix="skillopt-gate-"))) for _ in range(2)]
        old = RevisionProject(project, repository, before, places[0])
        new = RevisionProject(project, repository, after, places[1])
        changed = changed_folders(repository, before, after)
        named = new.project.configured_paths().values()
        skills = [one for one in changed if (place := one.after or one.before or "") in named or not is_fixture(place)]
        gated = _Gate(project, (old, new), options, observer, stack)
        changes = tuple(gated.change(one) for one in (*skills, *new.changed_documents(old)))
    sides = base, head, before, after
    required, strict = options.demand.required, options.strict
    return GateReport(*sides, required=required, strict=strict, changes=changes, spent=gated.meter.by_role)


class _Gate:
    """Gates the skills of one change, one after the other."""

    def __init__(
        self,
        project: Project,
        revisions: tuple[RevisionProject, RevisionProject],
        options: _Options,
        observer: RunObserver,
        stack: ExitStack,
    ) -> None:
        self._project = project
        self._old, self._new = revisions
        self._options = options
        self._observer = observer
        self._stack = stack
        self.meter = Meter(caps_of(self._new.project.settings(options.flags)))

    @cached_property
    def _ledger(self) -> Ledger:
        return self._stack.enter_context(closing(Ledger.open(self._project.root)))

    def change(self, one: FolderChange) -> GatedChange:
        """Gate one skill; what is wrong with it alone is its own finding."""
        path = one.after or one.before or ""
        kind = ChangeKind.MODIFIED if one.before == one.after else ChangeKind.RENAMED
        kind = ChangeKind.DELETED if one.after is None else ChangeKind.ADDED if one.before is None else kind
        row = GatedChange(
            Standing.DELETED,
            "it is gone, and nothing is measured",
            skill=self._new.project.documents().get(path, PurePosixPath(path).name or "."),
            kind=kind,
            path=path,
            before_path=one.before or "",
            files=one.files,
            first_path=SkillPlace.parse(path).prefix + SkillPlace.parse(path).named[0],
        )
        if one.after is None:
            return row
        self._observer.notice(f"{escape_terminal(row.skill)}: {row.kind.value}")
        try:
            after = self._new.skill(one.after)
            target = self._new.target(one.after, self._options.flags, self._options.suite)
            suite = target.suite() if target.suite_path is not None else None
        except (SkillError, SuiteError) as error:
            rule = "suite" if isinstance(error, SuiteError) else "skill"
            found = _finding(row, Weight.REFUSE, rule, self._new.error_text(error))
            return replace(row, standing=Standing.REFUSED, reason=f"refused unmeasured: {rule}", findings=(found,))
        before = None
        with suppress(SkillError):  # an old text that cannot be read is none
            before = None if one.before is None else self._old.skill(one.before)
        path, line = find_first_change(before, after)
        sides = ({file.path: file.content for file in side.shipped} if side else {} for side in (before, after))
        first = SkillPlace.parse(row.path).prefix + path
        row = replace(row, first_path=first, first_line=line, difference=difference_of_files(*sides))
        base = None
        with suppress(UsageError):  # the base has no suite, or its suite or settings cannot be read
            old = self._old.target(row.before_path or row.path, self._options.flags, self._options.suite)
            base = _BaseSuite(old, old.suite(), self._old.suite_files(old))
        work = _Work(row, before or Skill(row.skill, SkillDocument("")), after, target, suite=suite, base=base)
        row = replace(row, findings=tuple(self._found(before, work)))
        refusals = [finding for finding in row.findings if finding.refuses(strict=self._options.strict)]
        if refusals:
            listed = ", ".join(dict.fromkeys(finding.rule for finding in refusals))
            return replace(row, standing=Standing.REFUSED, reason=f"refused unmeasured: {listed}")
        return self._measured(replace(work, row=row))

    def _found(self, before: Skill | None, work: _Work) -> Iterator[ChangeFinding]:
        """Find what the texts bring, and what else changed with them."""
        row, settings, base = work.row, work.target.settings, work.base
        # Tasks that come with a change may quote it; a new skill has no others.
        suite, judge = (base.suite, base.target) if base else (work.suite, work.target)
        protected = index_protected_text(suite) if suite and judge.settings.scan_leaks else None
        yield from check_new_text(before, work.after, row.path, self._allowed(work), protected)
        if work.suite is None:
            advice = f"name one in {CONFIG}, or give the skill evals/evals.json"
            yield _finding(row, Weight.WARN, "no suite", f"expected a suite to measure it on, found none; {advice}")
            return
        merged = base.target.settings if base else None
        yield from find_changed_agent(self._old, self._new, merged, settings, self._options.flags)
        if work.suite.left_out:
            yield _finding(row, Weight.WARN, "skipped tasks", work.suite.left_out)
        if gamed := checks_warning(work.suite, settings.sandbox):
            yield _finding(row, Weight.WARN, "no sandbox", gamed)
        if unseen := unexercised_files(settings.harness, work.before, work.after):
            listed = ", ".join(unseen[:_MOST_NAMED]) + (" …" if len(unseen) > _MOST_NAMED else "")
            kind = settings.harness.partition("/")[0]
            yield _finding(row, Weight.NOTE, "not exercised", f"{kind} opens and runs no files of a skill: {listed}")
        if base is None or not row.before_path:
            return
        # What the measurement rests on and this change changes, too.
        if base.files != self._new.suite_files(work.target):
            warning = "the suite changed, too: the base's is used beside it, so read what both say"
            yield _finding(row, Weight.WARN, "suite changed", warning)
        old, new = ((one.identity, find_agent_table(one.harness, one.agents)) for one in (merged or settings, settings))
        if old != new and self._old.project.config.is_file():
            warning = f"settings in {CONFIG} changed, too: the new ones hold, so check that they ask no less"
            yield ChangeFinding(CONFIG, 1, Weight.WARN, "settings changed", warning, person=True)

    def _allowed(self, work: _Work) -> set[LintClass]:
        """List what the change may add.

        Its own skillopt.toml cannot allow what refuses it. The base's can, but for what is refused always; that only
        whoever runs the command can.
        """
        own = {LintClass(name) for name in work.target.settings.allow}
        if "allow" in self._options.flags:
            return own
        is_merged = work.base is not None and self._old.project.config.is_file()
        merged = {LintClass(name) for name in work.base.target.settings.allow} if work.base and is_merged else set()
        return (own - REFUSED) | (merged - ALWAYS_REFUSED)

    def _measured(self, work: _Work) -> GatedChange:
        """Measure it, unless there is nothing to measure; beside the base's suite where the change alters that."""
        row, suite, base = work.row, work.suite, work.base
        if suite is None:
            why = "untestable: it has no suite, so nothing was measured"
            return replace(row, standing=Standing.UNTESTABLE, reason=why)
        if work.before.digest == work.after.digest:
            return replace(row, standing=Standing.PASSED, reason="its text is the same")
        rule, found = self._measure(work, work.target, suite)
        row = replace(row, **{one.name: getattr(found, one.name) for one in fields(found)})
        if rule:
            warning = _finding(row, Weight.WARN, rule, found.reason.removeprefix("untestable: "))
            row = replace(row, findings=(*row.findings, warning))
        if base is None or not row.before_path or base.files == self._new.suite_files(work.target):
            return row
        try:
            beside = self._measure(work, base.target, base.suite)[1]
        except SettingsError as error:
            beside = SuiteMeasurement(Standing.INVALID, str(error), tasks=len(base.suite.tasks(Split.VAL)))
        rollouts, paid = row.rollouts + beside.rollouts, row.paid_rollouts + beside.paid_rollouts
        row = replace(row, base_measurement=beside, rollouts=rollouts, paid_rollouts=paid)
        if (row.standing is Standing.REFUSED) == (beside.standing is Standing.REFUSED):
            return row
        message = f"the base's suite says: {beside.standing.value}; the change's own says: {row.standing.value}"
        reasons = f"base: {beside.reason}; change: {row.reason}"
        disagree = _finding(row, Weight.WARN, "suites disagree", f"{message} ({reasons})")
        return replace(row, findings=(*row.findings, replace(disagree, person=True)))

    def _measure(self, work: _Work, target: Target, suite: Suite) -> tuple[str, SuiteMeasurement]:
        """Compare both texts on a suite; where that could show nothing, the name of the finding comes first."""
        settings, tasks = target.settings, len(suite.tasks(Split.VAL))
        unmeasured = find_unmeasured(settings, work.before, work.after)
        if not unmeasured and (why := why_untestable(tasks, settings, self._options.demand)):
            unmeasured = "small suite", why
        if not unmeasured and (why := missing_access(settings, suite)):
            unmeasured = "no access", why
        if unmeasured:
            rule, why = unmeasured
            return rule, SuiteMeasurement(Standing.UNTESTABLE, f"untestable: {why}", tasks=tasks)
        try:
            given = Given(meter=self.meter)
            drivers = load_drivers(settings, suite, self._project.root, given, optimizer=False)
            repository, path = self._project.repository(), work.row.path
            plan = RunPlan(target, suite, drivers, repository, skill_path=path, proposer="a person")
            change = ChangedTexts(work.before, work.after, self._old.commit)
            found, pairs = measure_change(plan, change, self._options.demand, self._ledger, self._observer)
        except InfrastructureError as error:
            return "", SuiteMeasurement(Standing.INVALID, str(error), tasks=tasks)
        return "", self._with_tasks(target, suite, found, pairs)

    def _with_tasks(self, target: Target, suite: Suite, measured: SuiteMeasurement, pairs: Pairs) -> SuiteMeasurement:
        """Write the page of a measurement, named by its run, and describe the worst tasks."""
        if measured.judged is None or measured.judged.verdict is None:
            return measured
        folder, labels = self._options.pages, (self._old.commit[:SHORT], self._new.commit[:SHORT])
        changed = find_differing_tasks(suite.tasks(Split.VAL), pairs, target.settings.metric)
        page = f"{measured.run}.html" if folder else ""
        if folder is not None:
            count = len({rollout.task_id for rollout in pairs.before})
            text = before_after_page(target.name, labels, measured.reason, count, changed)
            with suppress(OSError):  # writing says what is wrong
                folder.mkdir(parents=True, exist_ok=True)
            write_report(folder / page, text, "--pages")
        followed = [str(one) for one in followed_criteria(pairs.before, pairs.after)]
        told = "\n".join(f"- {cited(one, 200)}" for one in followed[:_MOST_NAMED])
        worst = describe_worst(changed) + (f"\n\nCriteria, the least followed first:\n\n{told}" if told else "")
        return replace(measured, page=page, worst=worst)


def _finding(row: GatedChange, weight: Weight, rule: str, message: str) -> ChangeFinding:
    return ChangeFinding(row.first_path, row.first_line, weight, rule, message)
