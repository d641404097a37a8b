"""The command `audit`: which skills of a project help, hurt or lie idle on a target, against no skill."""

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from skillopt.audit.findings import (
    AuditAsk,
    AuditedSkill,
    AuditReport,
    AuditSubject,
    audit_table,
    choose_skills,
    read_subject,
    render_audit_page,
)
from skillopt.audit.series import AuditSeries
from skillopt.commands.options import (
    HarnessOption,
    JsonOption,
    QuietOption,
    RolloutsOption,
    SetOption,
    UsdOption,
    VerboseOption,
    YesOption,
    flags_of,
)
from skillopt.commands.output import CACHED, as_json_text, format_usage, interruptible, show, write_report
from skillopt.commands.progress import ProgressObserver
from skillopt.commands.spending import ask_to_pay
from skillopt.errors import InfrastructureError, UsageError
from skillopt.execution.drivers import Given, caps_of, load_drivers
from skillopt.execution.metering import Caps, Meter, OutOfBudget
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.forecast.estimate import Payment, Records, payment_of, read_records
from skillopt.gate.skill_effect import EFFECT_ERROR, share_error
from skillopt.project import Project
from skillopt.reports.terminal import print_terminal
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun, write_dollars
from skillopt.settings import Settings
from skillopt.skills.discovery import HOW_TO_BEGIN
from skillopt.storage.ledger import Ledger

_SCREEN: Final = 4
"""Pairs that every skill gets before one gets more."""

_BATCH: Final = 8
"""Pairs that are run before the next skill is chosen; whatever the workers, so that they change no decision."""


@dataclass(frozen=True, slots=True)
class _AuditPlan:
    """An audit that can begin."""

    project: Project
    ask: AuditAsk
    settings: Settings
    subjects: tuple[AuditSubject, ...]
    others: tuple[AuditedSkill, ...]
    payment: Payment
    pair_usd: float | None

    @property
    def words(self) -> str:
        """What will be run at least and at most, and what that is likely to cost."""
        count, most = len(self.subjects), self.ask.pairs
        least = min(_SCREEN, most)
        at_least = f"{2 * least * count:,} to " if least < most else ""
        rollouts = f"{at_least}{2 * most * count:,} rollouts, recorded ones included"
        words = f"{count} of {count + len(self.others)} skills have tasks to measure: {rollouts}"
        if not self.payment.paid:
            return words
        if self.pair_usd is None:
            return f"{words}, at a price that nobody knows"
        low, high = (pairs * self.pair_usd for pairs in (least, most))
        return f"{words}, likely {write_dollars(low)} to {write_dollars(high)}"


def audit(
    skills: Annotated[list[str] | None, typer.Argument(help="Skills, by name or folder; all when left out.")] = None,
    *,
    pairs: Annotated[
        int,
        typer.Option("--pairs", min=1, max=10_000, help="Most pairs of rollouts (with and without) for each skill."),
    ] = 100,
    loss: Annotated[
        float, typer.Option("--margin", min=0.01, max=0.5, help="Loss of score up to which a skill counts as idle.")
    ] = 0.1,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write an HTML page.")] = None,
    save: Annotated[Path | None, typer.Option("--save", metavar="FILE", help="Write the result as JSON.")] = None,
    settings: SetOption = None,
    harness: HarnessOption = None,
    max_rollouts: RolloutsOption = None,
    max_usd: UsdOption = None,
    yes: YesOption = False,
    verbose: VerboseOption = False,
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find which skills help, hurt or do nothing.

    Each skill is compared with no skill on its own tasks, pair by pair, until the test decides. An idle
    skill is proposed for removal, with the most that this can lose. The first run that costs money asks on a terminal;
    without a terminal a paid target needs a cap or --yes.
    """
    flags = flags_of(settings, harness=harness, max_rollouts=max_rollouts, max_usd=max_usd)
    plan = _plan(AuditAsk(tuple(skills or ()), pairs, loss, flags))
    if not quiet:
        typer.echo(plan.words, err=True)
    ask_to_pay(plan.payment, plan.words, yes=yes)
    with interruptible(), ProgressObserver(quiet=quiet) as observer:
        report = _audit(plan, observer)
    if save is not None:
        write_report(save, as_json_text(report), "--save")
    show(report, partial(_text, verbose=verbose), as_json=as_json)
    if output is not None:
        write_report(output, render_audit_page(report))
    if report.exit_code:
        raise typer.Exit(report.exit_code)


def _text(report: AuditReport, *, verbose: bool) -> str:
    counts = Counter(one.effect.value for one in report.skills)
    listed = ", ".join(f"{counts[name]} {name}" for name in ("helps", "idle", "hurts", "cannot tell") if counts[name])
    removable = [escape_terminal(one.skill) for one in report.skills if one.removable]
    lines = [
        f"{count_noun(len(report.skills), 'skill')}: {listed}",
        "",
        print_terminal([audit_table(report.skills)]),
        "",
    ]
    lines += [f"{escape_terminal(one.skill)}: {escape_terminal(one.reason)}" for one in report.skills]
    named = [one for one in report.skills if one.capabilities]
    lines += ["capabilities in the texts:"] if named else []
    lines += [f"  {escape_terminal(one.skill)}: {escape_terminal(one.capabilities)}" for one in named]
    lines += [f"ended early: {escape_terminal(report.stopped)}"] if report.stopped else []
    if removable:
        lines.append(f"proposed for removal: {', '.join(removable)}; nothing was removed")
    if counts["helps"] + counts["hurts"]:
        lines.append(f"false discovery rate: at most {report.error:.0%} of the skills said to help or hurt, on average")
    lines.append(f"used: {count_noun(report.paid_rollouts, 'new rollout')}; {CACHED}")
    if verbose:
        lines += [f"spent by the {role}: {format_usage(usage)}" for role, usage in report.spent.items()]
    return "\n".join(lines)


def _plan(ask: AuditAsk) -> _AuditPlan:
    """Find the skills, read their tasks, and tell whether the audit is paid for; nothing is run."""
    project = Project.find(Path.cwd())
    discovered = project.discover().skills
    if not discovered:
        raise UsageError(f"expected skills to audit, found {HOW_TO_BEGIN}")
    chosen = choose_skills(project, ask, discovered)
    subjects: list[AuditSubject] = []
    others: list[AuditedSkill] = []
    for found in chosen:
        one = read_subject(project, ask, found)
        if isinstance(one, AuditSubject):
            subjects.append(one)
        else:
            others.append(one)
    settings = project.settings(ask.flags)
    judged = [one for one in subjects if any(task.verifier.judged for task in one.tasks)]
    names = [one.target.settings.harness for one in subjects]
    names += [one.target.settings.judge or one.target.settings.model for one in judged]
    payment = payment_of(project.root, settings, tuple(names))
    usd = _pair_usd(project, subjects) if payment.paid else 0.0
    return _AuditPlan(project, ask, settings, tuple(subjects), tuple(others), payment, usd)


def _pair_usd(project: Project, subjects: Sequence[AuditSubject]) -> float | None:
    """Return what one pair of each skill is likely to cost: as recorded on this target, else as is typical."""
    records: dict[tuple[str, str], Records] = {}
    prices: list[float | None] = []
    for one in subjects:
        settings = one.target.settings
        part = (settings.harness, settings.judge)
        if part not in records:
            records[part] = read_records(project.root, one.target, one.skill, one.suite)
        prices.append(records[part].costs(settings, one.suite, one.skill)[0].usd)
    known = [usd for usd in prices if usd is not None]
    return 2 * math.fsum(known) if len(known) == len(prices) else None


def _audit(plan: _AuditPlan, observer: RunObserver) -> AuditReport:
    """Compare every skill with no skill, where an answer is nearest first, until all have one or a cap is reached."""
    meter = Meter(caps_of(plan.settings))
    if not plan.subjects:
        return _report(plan, [], "", meter)
    most = plan.settings.max_rollouts if "max_rollouts" in plan.ask.flags else None
    allowance = Meter(Caps(rollouts=most)) if most else None
    stopped = ""
    with closing(Ledger.open(plan.project.root)) as ledger:
        series = []
        for one in plan.subjects:
            settings = one.target.settings
            drivers = load_drivers(
                settings, one.suite, plan.project.root, Given(meter=meter, allowance=allowance), optimizer=False
            )
            runner = RecordedRunner(ledger, "", drivers, observer)
            series.append(AuditSeries(one, plan.ask, runner, len(plan.subjects)))
        try:
            for begun in series:
                begun.run(_SCREEN)
            while waiting := _waiting(series):
                max(waiting, key=lambda one: (one.test.progress, -len(one.test.gains))).run(_BATCH)
        except OutOfBudget as error:
            stopped = str(error)
            _waiting(series)
    return _report(plan, series, stopped, meter)


def _waiting(series: Sequence[AuditSeries]) -> list[AuditSeries]:
    """Decide which skills help or hurt by now, and give those that may get more pairs."""
    share_error([one.test for one in series])
    return [one for one in series if one.test.left]


def _report(plan: _AuditPlan, series: Sequence[AuditSeries], stopped: str, meter: Meter) -> AuditReport:
    rows = sorted([*plan.others, *(one.result(stopped) for one in series)], key=lambda row: row.path)
    if series and stopped and not any(row.pairs for row in rows):
        raise InfrastructureError(f"not one pair could be measured: {stopped}")
    paid = sum(one.runner.paid_rollouts for one in series)
    return AuditReport(tuple(rows), EFFECT_ERROR, plan.ask.loss, stopped, paid, dict(meter.by_role))
