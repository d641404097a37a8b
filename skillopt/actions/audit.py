"""The user action `audit`: which skills of a project help, hurt or lie idle on a target, against no skill."""

import math
import sys
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter, ValidationError

from skillopt.audit.findings import AuditedSkill, AuditReport, SiblingFinding
from skillopt.audit.offering import offer_removals
from skillopt.audit.series import AuditSeries
from skillopt.audit.siblings import find_disturbance, installed_skills, with_disturbed
from skillopt.audit.subjects import AuditAsk, AuditSubject, choose_skills, read_subject
from skillopt.errors import ForgeAccessError, InfrastructureError, UsageError
from skillopt.execution.credentials import run_without_credentials
from skillopt.execution.drivers import caps_of, load_drivers
from skillopt.execution.executors import make_executor
from skillopt.execution.metering import Caps, Meter, OutOfBudget
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.forecast.estimate import Payment, Records, payment_of, read_records
from skillopt.gate.harm import whole_repeats
from skillopt.gate.skill_effect import EffectPlan, share_error
from skillopt.nightly.check import ForgeAccess, find_access
from skillopt.nightly.forges import load_forge
from skillopt.project import Project
from skillopt.safety.plurals import write_dollars
from skillopt.settings import Settings
from skillopt.skills.discovery import HOW_TO_BEGIN
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import state_folder

__all__ = ["AuditPlan", "audit", "audit_and_offer", "plan_audit"]

_SCREEN: Final = 4
"""Pairs that every skill gets before one gets more."""

_BATCH: Final = 8
"""Pairs that are run before the next skill is chosen; whatever the workers, so that they change no decision."""

_AUDIT: Final = (sys.executable, "-P", "-m", "skillopt", "audit")
_INTERRUPTED: Final = 130


@dataclass(frozen=True, slots=True)
class AuditPlan:
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
        sizes = [len(one.tasks) for one in self.subjects]
        more = sum(2 * size * whole_repeats(size) for size in sizes) if self.ask.siblings else 0
        beside = f", and {more:,} or more with other skills beside them" if more else ""
        words = f"{count} of {count + len(self.others)} skills have tasks to measure: {rollouts}{beside}"
        if not self.payment.paid:
            return words
        if self.pair_usd is None:
            return f"{words}, at a price that nobody knows"
        besides = more / (2 * count) if count else 0.0
        low, high = ((pairs + besides) * self.pair_usd for pairs in (least, most))
        return f"{words}, likely {write_dollars(low)} to {write_dollars(high)}"


def plan_audit(ask: AuditAsk) -> AuditPlan:
    """Find the skills, read their tasks, and tell whether the audit is paid for; nothing is run."""
    project = Project.find(ask.folder or Path.cwd())
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
    return AuditPlan(project, ask, settings, tuple(subjects), tuple(others), payment, usd)


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


def audit(plan: AuditPlan, observer: RunObserver | None = None) -> AuditReport:
    """Compare every skill with no skill, where an answer is nearest first, until all have one or a cap is reached.

    Doing it again costs nothing; on another target it begins anew.
    """
    observer = observer or RunObserver()
    meter = Meter(caps_of(plan.settings))
    if not plan.subjects:
        return _report(plan, [], "", meter)
    most = plan.settings.max_rollouts if "max_rollouts" in plan.ask.flags else None
    allowance = Meter(Caps(rollouts=most)) if most else None
    stopped, findings = "", list[SiblingFinding]()
    with closing(Ledger.open(plan.project.root)) as ledger:
        series = []
        for one in plan.subjects:
            settings = one.target.settings
            drivers = load_drivers(
                settings, one.suite, plan.project.root, optimizer=False, meter=meter, allowance=allowance
            )
            executor = make_executor(settings, observer.notice, drivers.cluster)
            runner = RecordedRunner(ledger, "", drivers, executor, observer, settings.executor.breaker)
            series.append(AuditSeries(one, plan.ask, runner, len(plan.subjects)))
        try:
            for begun in series:
                begun.run(_SCREEN)
            while waiting := _waiting(series):
                min(waiting, key=lambda one: (one.test.pairs_to_go, len(one.test.gains))).run(_BATCH)
            if plan.ask.siblings:
                installed = installed_skills(plan.project, plan.ask)
                for begun in series:
                    findings.append(find_disturbance(begun, installed, len(series)))
        except OutOfBudget as error:
            stopped = str(error)
            _waiting(series)
    report = _report(plan, series, stopped, meter)
    return replace(report, skills=tuple(with_disturbed(report.skills, findings)), siblings=tuple(findings))


def audit_and_offer(plan: AuditPlan, options: Sequence[str]) -> AuditReport:
    """Audit without forge tokens, then open, update or close the pull request that proposes removals."""
    if plan.ask.names:
        found = ", ".join(map(repr, plan.ask.names))
        raise UsageError(f"expected no skills beside --offer, which is about all of the project, found {found}")
    access = _access(plan)
    facts = access.forge.facts()
    if not facts.may_open:
        raise ForgeAccessError(f"forge {access.name!r}: expected a token that may open pull requests, {facts.reason}")
    here = plan.ask.folder or Path.cwd()
    with tempfile.TemporaryDirectory(prefix="audit-", dir=state_folder(plan.project.root)) as place:
        kept = Path(place, "audit.json")
        code = run_without_credentials([*_AUDIT, "--yes", f"--save={kept}", *options], here)
        if code == _INTERRUPTED:
            raise KeyboardInterrupt
        report = _read_report(kept, code)
    return replace(report, offer=offer_removals(plan.project, report, access.forge, access.remote))


def _access(plan: AuditPlan) -> ForgeAccess:
    """Find forge and remote; without a forge, the text goes to a file and the branch stays here."""
    nightly = plan.settings.nightly
    if nightly.forge != "none":
        return find_access(plan.project, plan.ask.flags)
    return ForgeAccess("none", load_forge(nightly, "", state_folder(plan.project.root) / "pull-requests"), None)


def _read_report(path: Path, code: int) -> AuditReport:
    """Read what the audit's own process found."""
    if not path.is_file():
        raise InfrastructureError(f"the audit ended with {code} and left no result; see above, and run this again")
    try:
        return TypeAdapter(AuditReport).validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise InfrastructureError(
            f"the audit left another result than expected ({first['msg']}); run this again"
        ) from error


def _waiting(series: Sequence[AuditSeries]) -> list[AuditSeries]:
    """Decide which skills help or hurt by now, and give those that may get more pairs."""
    for one, test in zip(series, share_error([one.test for one in series]), strict=True):
        one.test = test
    return [one for one in series if one.test.left]


def _report(plan: AuditPlan, series: Sequence[AuditSeries], stopped: str, meter: Meter) -> AuditReport:
    rows = sorted([*plan.others, *(one.result(stopped) for one in series)], key=lambda row: row.path)
    error = EffectPlan(plan.ask.pairs, plan.ask.loss).error
    if series and stopped and not any(row.pairs for row in rows):
        raise InfrastructureError(f"not one pair could be measured: {stopped}")
    paid = sum(one.runner.paid_rollouts for one in series)
    return AuditReport(tuple(rows), error, plan.ask.loss, stopped, paid, dict(meter.by_role))
