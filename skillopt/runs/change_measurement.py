"""Measure a changed skill against its old text: one recorded run, which the same question finds again for free."""

import json
from dataclasses import dataclass, replace

from skillopt.execution.recording import record_of
from skillopt.execution.runner import RunObserver
from skillopt.gate.comparison import Pairs
from skillopt.review.gate import ChangeGate, Demand
from skillopt.review.result import Judged, ReviewAnswer, Standing
from skillopt.runs.plan import RunPlan
from skillopt.runs.recorded import earlier_gates, runs_on
from skillopt.runs.run import RecordedRun
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import digest_of

__all__ = ["ChangeMeasurement", "ChangedTexts", "measure_change"]

_WORK = "gate"


@dataclass(frozen=True, slots=True)
class ChangedTexts:
    """Two texts of a skill."""

    before: Skill
    after: Skill
    base: str


@dataclass(frozen=True, slots=True)
class ChangeMeasurement:
    """What measuring a change came to."""

    standing: Standing
    reason: str
    judged: Judged | None
    run: str
    looks: int
    rollouts: int
    paid_rollouts: int
    pairs: Pairs


def measure_change(
    plan: RunPlan, change: ChangedTexts, demand: Demand, ledger: Ledger, observer: RunObserver
) -> ChangeMeasurement:
    """Compare two texts of a skill on the suite of a plan."""
    record = _record(ledger, plan, change, demand)
    run = RecordedRun(plan, ledger, record, observer)
    gate = ChangeGate(change.before, change.after, plan.suite, plan.target.settings, run.runner, demand)
    spent = [sum(verdict.error_spent for verdict in gates) for gates in earlier_gates(ledger, record)]
    _, ended = run.drive(gate.events(spent))
    judged = gate.judged
    standing = Standing.INVALID if judged is None else Standing(judged.answer.value)
    reason = ended.reason if judged is None else judged.reason
    if judged is not None and judged.answer is not ReviewAnswer.REFUSED and judged.test is None and demand.release:
        standing, reason = Standing.INVALID, f"not compared on test: {ended.reason}"
    paid = run.runner.paid_rollouts
    return ChangeMeasurement(standing, reason, judged, record.id, record.seed + 1, ended.rollouts, paid, gate.pairs)


def _record(ledger: Ledger, plan: RunPlan, change: ChangedTexts, demand: Demand) -> RunRecord:
    """Record the measurement; the same texts, asked the same, are the same run, and come to the same."""
    before, after = change.before, change.after
    settings, suite = plan.target.settings, plan.suite
    config = json.dumps([settings.identity, *plan.identities, f"{_WORK} {demand} {after.digest}"])
    name = digest_of(_WORK, after.name, before.digest, config, suite.digest)[:12]
    looks = [run for run in runs_on(ledger, _WORK, after.name, suite.digest) if run.id != name]
    record = record_of(
        replace(before, name=after.name), suite, config, len(looks), path=plan.skill_path, base=change.base
    )
    return ledger.begin_run(replace(record, id=name))
