"""Begin or continue a training with accepted versions in git and one writer per skill."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from skillopt.errors import NothingMeasuredError
from skillopt.execution.calls import run_training
from skillopt.execution.metering import Meter
from skillopt.execution.runner import RunObserver
from skillopt.figures import Headline
from skillopt.loop.events import HeldOutTestMeasured, RunEnded, RunStarted, gained_by_draft
from skillopt.project import Selection
from skillopt.reports.lines import why_nothing
from skillopt.rollouts import Usage
from skillopt.runs.forecast import expect_prospect
from skillopt.runs.history import bring_refusals, released_of, told_refusals
from skillopt.runs.plan import Start, begin_run, make_plan, uncommitted_start
from skillopt.runs.recorded import spent_by_earlier
from skillopt.runs.run import DraftState, RecordedRun
from skillopt.skills.validation import Severity, validate
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.targets.handoff import forget_unanswered


@dataclass(frozen=True, slots=True)
class Optimized:
    """Result of a training."""

    run: str
    skill: str
    branch: str
    versions: tuple[str, ...]
    reason: str
    test: HeldOutTestMeasured | None
    withheld: str
    rollouts: int
    calls: int
    paid_rollouts: int
    paid_calls: int
    resumed: bool
    spent: Mapping[str, Usage]
    draft: DraftState | None = None
    headline: Headline | None = None
    draft_headline: Headline | None = None
    why_nothing: str = ""
    capped: bool = False


def optimize(
    selection: Selection, *, start: Start = "auto", observer: RunObserver | None = None, allowance: Meter | None = None
) -> Optimized:
    """Train a skill, or continue the training that was interrupted."""
    plan, observer = make_plan(selection, allowance=allowance), observer or RunObserver()
    prospect = expect_prospect(plan.suite, plan.target.settings)  # refuses before anything is written
    root, name = selection.project().root, plan.target.name
    if allowance is None:  # a night has asked the remote before
        bring_refusals(selection, observer)
    with writer_lock(root, name), closing(Ledger.open(root)) as ledger:
        record, resumed = begin_run(plan, ledger, start)
        observer.notice(f"continuing run {record.id}" if resumed else prospect.words)
        for finding in validate(plan.target.skill()):
            if finding.severity is Severity.ERROR:
                observer.notice(str(finding))
        if not resumed and uncommitted_start(plan.repository, record, record.started_at) is not None:
            observer.notice(
                f"training the uncommitted text of {name}; the branch of versions starts with a commit of it"
            )
        run = RecordedRun(plan, ledger, record, observer)
        versions = plan.repository.versions(name, record.base) if record.base else ()
        until = next((row.at for row in ledger.events(record.id)), record.started_at)  # which a repeated run sets anew
        spent = spent_by_earlier(ledger, versions, plan.suite, name, until)
        released = released_of(plan, ledger, record)
        refused = told_refusals(plan.repository, record.refusals, plan.suite)
        settings = plan.target.settings
        if {"handoff", "chat/handoff"} & {*settings.targets, settings.model, settings.judge, settings.reviewer}:
            forget_unanswered(root / ".skillopt" / "handoff")
        done = run_training(run, plan.suite, released, spent=spent, refused=refused)
        used = ledger.spending(record.id)
    if all(isinstance(event, RunStarted | RunEnded) for event in done.events):
        raise NothingMeasuredError(done.run, done.reason)
    return Optimized(
        run=done.run,
        skill=name,
        branch=f"skillopt/{name}",
        versions=tuple(run.commits),
        reason=done.reason,
        test=done.test,
        withheld=done.withheld,
        rollouts=done.rollouts,
        calls=done.calls,
        paid_rollouts=done.paid_rollouts,
        paid_calls=done.paid_calls,
        resumed=resumed,
        spent=used,
        draft=run.draft,
        headline=done.headline,
        draft_headline=gained_by_draft(done.events),
        why_nothing=why_nothing(done.events),
        capped=any(isinstance(event, RunEnded) and event.capped for event in done.events[-1:]),
    )
