"""Make the record of an accepted text, and find it for the change gate."""

from contextlib import closing
from datetime import UTC, datetime, timedelta
from typing import Final

from skillopt.execution.drivers import Given, load_drivers
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.gate.comparison import check_coverage
from skillopt.project import Selection
from skillopt.protocols import RolloutRequest
from skillopt.review.gate import OldRecord
from skillopt.review.one_sided import TaskRecord, tasks_to_record
from skillopt.rollouts import Rollout, Stream
from skillopt.runs.history import tasks_behind
from skillopt.runs.plan import RunPlan
from skillopt.skills.document import Skill
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, digest_of
from skillopt.versions.records import add_records, measured, records_of

RECORD_RUNS: Final = 2
"""Runs of a task that passes. A record of 24 tasks of which half pass takes 36 rollouts. With eight runs a task it
would take 144 and save 6 rollouts in each gate."""

RECORD_DAYS: Final = 30
"""Days after which a record is made anew, as a target may change under its name."""


def find_record(plan: RunPlan, before: Skill, after: Skill) -> OldRecord | None:
    """Find the record of an old text with a plan's target; None where it covers too few of the tasks."""
    found = records_of(plan.repository, plan.target.name, before.digest, plan.drivers.target_identity)
    tasks = plan.suite.tasks(Split.VAL)
    rows = {name: TaskRecord(*counts) for name, counts in found[0].of(tasks).items()} if found else {}
    if not found or len(rows) < plan.target.settings.coverage * len(tasks):
        return None
    source = f"record of {found[0].rollouts} rollouts, {found[0].at:%Y-%m-%d}, by {found[0].writer}"
    old, new = ({line.strip() for line in skill.document.text.splitlines()} for skill in (before, after))
    named = tasks_behind(plan.repository, plan.target.name, old ^ new)
    return OldRecord(rows, source, digest_of(found[0].model_dump_json()), named)


def make_record(selection: Selection, allowance: Meter, observer: RunObserver, writer: str) -> str:
    """Measure the text in the work tree where it has no record that is young enough; return what was noted."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    skill, suite, now = target.skill(), target.suite(), datetime.now(UTC)
    drivers = load_drivers(target.settings, suite, project.root, Given(allowance=allowance), optimizer=False)
    known = records_of(repository, target.name, skill.digest, drivers.target_identity)
    if known and now - known[0].at < timedelta(days=RECORD_DAYS):
        return ""
    tasks = {task.id: task for task in suite.tasks(Split.VAL)}
    rows, rollouts = dict[str, TaskRecord](), list[Rollout]()
    with closing(Ledger.open(project.root)) as ledger:
        runner = RecordedRunner(ledger, "", drivers, observer)
        for number in range(RECORD_RUNS):
            # One that is made anew rests on runs of its own.
            repeat = Stream.RECORD.repeat(len(known) * RECORD_RUNS + number)
            wanted = [tasks[name] for name in tasks_to_record(rows, [*tasks], RECORD_RUNS)]
            found = runner.rollouts([RolloutRequest(skill, task, repeat) for task in wanted])
            rollouts += found
            for one in found:
                if one.score is not None:
                    old = rows.get(one.task_id, TaskRecord(0, 0))
                    rows[one.task_id] = TaskRecord(old.passed + one.score.passed, old.runs + 1)
    check_coverage("record", rollouts, target.settings.coverage)
    counts = [(tasks[name], (row.passed, row.runs)) for name, row in rows.items()]
    line = measured(now, writer, (skill.digest, drivers.target_identity), counts)
    add_records(repository, target.name, [line.model_dump_json()])
    return f"record: {line.rollouts} rollouts, {sum(row.sure for row in rows.values())} of {len(tasks)} tasks pass"
