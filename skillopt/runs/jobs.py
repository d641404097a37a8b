"""Jobs of a project: start one after all that can be known before, and report how one is and what is next."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, Literal

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.access import missing_access
from skillopt.execution.records import recorded_events
from skillopt.gate.gate import GATE_ROUNDS, HERE_ROUNDS
from skillopt.project import CONFIG, Selection
from skillopt.reports.lines import lines_of
from skillopt.rollouts import Usage
from skillopt.runs.forecast import Range, costs_of, expect_prospect, forecast, is_paid, likely_calls, write_duration
from skillopt.runs.history import skill_at
from skillopt.runs.plan import RunPlan, Start, incumbent_of, make_plan
from skillopt.runs.proposal import EditsProposal
from skillopt.runs.recorded import RunStatus, run_status
from skillopt.runs.run import open_draft
from skillopt.safety.escaping import count_noun
from skillopt.storage.jobs import Job, JobProgress, JobState, check_idle, start_job
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.targets.prices import write_dollars
from skillopt.tasks import Split
from skillopt.versions.branches import DRAFT

_UNITS: Final = {
    "max_rollouts": "rollouts",
    "max_tokens": "tokens",
    "max_minutes": "minutes",
    "rollout_tokens": "tokens a rollout",
}
_EDITS: Final = "edits.json"
_NOBODY: Final = "nobody"
_NO_CALLS: Final = Range(0, 0, 0)


def start_evaluation(
    selection: Selection,
    *,
    split: Literal["train", "val"] = "train",
    repeats: int = 1,
    start: Start = "auto",
    draft: bool = False,
    limits: Mapping[str, float | None] = {},  # by names of settings; None leaves it to the project
) -> Job:
    """Start a job that measures the incumbent, or the draft; on `train` it gathers evidence."""
    # A cap on rollouts in skillopt.toml is on training.
    planned = _Planned.of(selection, {"max_rollouts": None}, limits, proposer=_NOBODY)
    plan, suite = planned.plan, planned.plan.target.suite()
    if draft:
        of, subject = DRAFT, skill_at(open_draft(planned.root, plan.repository, plan.target), DRAFT)
    else:
        of = {"auto": "incumbent", "worktree": "worktree", "branch": f"skillopt/{plan.target.name}"}[start]
        subject = incumbent_of(plan.target, plan.repository, start)
    tasks = suite.tasks_to_evaluate(Split(split))
    if not tasks:
        raise UsageError(
            f"expected {split} tasks in suite {suite.name!r}, found none; add some, or choose another split"
        )
    keys = [plan.drivers.recorded_key(subject.digest, task, at) for task in tasks for at in range(repeats)]
    recorded = 0
    with suppress(SkilloptError), closing(Ledger.open(planned.root, read_only=True)) as ledger:
        recorded = len(ledger.rollouts(keys))
    needed, most = len(keys) - recorded, plan.target.settings.max_rollouts
    if most is not None and most < needed:
        raise UsageError(f"expected max_rollouts of at least {needed} for this evaluation, found {most}; raise it")
    known = f", {recorded} of which are recorded already" if recorded else ""
    what = f"the {'draft' if draft else 'incumbent'} on {count_noun(len(tasks), f'{split} task')}"
    runs = f"{count_noun(repeats, 'run')} of each: {count_noun(len(keys), 'rollout')}{known}"
    words = ["evaluate", "--of", of, "--split", split, "--repeats", str(repeats)]
    return planned.start(f"It measures {what}, {runs}", (Range(needed, needed, needed), _NO_CALLS), words)


def start_training(selection: Selection, *, start: Start = "auto", limits: Mapping[str, float | None] = {}) -> Job:
    """Start a job that trains the skill with the optimizer model of the project's settings."""
    planned = _Planned.of(selection, {}, limits)
    suite, settings = planned.plan.suite, planned.plan.target.settings
    prospect = expect_prospect(suite, settings)
    planned.expect_no_writer(start)
    words = f"It trains: {prospect.words}. Optimizer model `{settings.model}`"
    return planned.start(words, likely_calls(suite, settings), ["optimize", "--start", start])


def start_proposal(
    selection: Selection, offered: EditsProposal, *, start: Start = "auto", limits: Mapping[str, float | None] = {}
) -> Job:
    """Start a job that tries edits, which were checked before."""
    planned = _Planned.of(selection, {}, limits, proposer=offered.proposer)
    planned.expect_no_writer(start)
    suite = planned.plan.suite
    judging = len(suite.tasks(Split.VAL))
    cited = {task for edit in offered.edits for task in edit.cited}
    words = (
        f"It tries {count_noun(len(offered.edits), 'edit')} together on the {count_noun(len(cited), 'task')} they "
        f"cite, then each left out, and judges what is needed "
        + (f"by new runs of all {judging} tasks" if suite.folds else f"on {count_noun(judging, 'val task')}")
    )
    rounds = HERE_ROUNDS if suite.folds else GATE_ROUNDS
    most = 2 * len(cited) + sum(len(set(edit.cited)) for edit in offered.edits) + 2 * rounds * judging
    rollouts = Range(len(cited), (len(cited) + most) / 2, most)
    files = [(_EDITS, offered.model_dump_json())]
    return planned.start(words, (rollouts, _NO_CALLS), ["propose", f"{{job}}/{_EDITS}", "--start", start], files)


@dataclass(frozen=True, slots=True)
class _Planned:
    selection: Selection
    given: Mapping[str, float]
    plan: RunPlan
    root: Path
    trains: bool

    @staticmethod
    def of(
        selection: Selection, lifted: Mapping[str, None], limits: Mapping[str, float | None], *, proposer: str = ""
    ) -> "_Planned":
        """Load a skill as the command would, under the job's caps, and refuse what that refuses.

        The lower of a job's cap and the project's holds: what the user set is not for an agent to raise. A lifted cap
        of the project does not count.
        """
        project, given = selection.project(), {name: cap for name, cap in limits.items() if cap is not None}
        root, own = project.root, project.target(selection).settings
        lower = {name: cap and min(cap, getattr(own, name) or cap) for name, cap in {**lifted, **given}.items()}
        plan = make_plan(replace(selection, flags={**selection.flags, **lower}), proposer=proposer)
        check_idle(root, plan.target.name)
        settings = plan.target.settings
        if missing := missing_access(settings, plan.suite, trains=not proposer):
            raise UsageError(missing)
        return _Planned(selection, given, plan, root, not proposer)

    def expect_no_writer(self, start: Start) -> None:
        """Refuse where another process trains the skill, and where it is not clear which text is meant."""
        with writer_lock(self.root, self.plan.target.name):
            incumbent_of(self.plan.target, self.plan.repository, start)

    def start(
        self, what: str, numbers: tuple[Range, Range], command: Sequence[str], files: Sequence[tuple[str, str]] = ()
    ) -> Job:
        """Start a command that takes some rollouts and calls, unless it is paid for and lacks a cap."""
        plan, target = self.plan, self.plan.target
        settings = target.settings
        likely = forecast(*numbers, costs_of(self.root, settings, plan.suite, target.skill()), settings)
        self._expect_cap(likely.price if likely.usd else "")
        limits = {name: float(cap) for name in ("max_usd", *_UNITS) if (cap := getattr(settings, name)) is not None}
        usd = limits.get("max_usd")
        caps = [write_dollars(usd)] if usd else []
        caps += [f"{limits[name]:,.15g} {unit}" for name, unit in _UNITS.items() if name in limits]
        none = "" if "max_usd" in limits else "; no cap on dollars is set"
        in_force = f"Limits in force: {', '.join(caps) or 'none'}{none}."
        words = (f"{what}, with harness `{settings.harness}`.", f"Likely: {likely.words}.", in_force)
        flags = {**self.selection.flags, **{name: f"{limits[name]:.15g}" for name in self.given}}
        options = [word for key, value in flags.items() for word in ("--set", f"{key}={value}")]
        options += ["--suite", str(self.selection.suite)] if self.selection.suite else []
        words_of_command = [*command, *options, "--", str(target.folder)]
        return start_job(self.root, target.name, words_of_command, files, limits=limits, words=words)

    def _expect_cap(self, price: str) -> None:
        """Refuse a job that is paid for and has no cap on dollars, or where no price is known no cap at all."""
        settings = self.plan.target.settings
        judged = any(task.verifier.judged for _, task in self.plan.suite.splits)
        names = [settings.harness, settings.reviewer, settings.model if self.trains else ""]
        names += [settings.judge or settings.model] if judged else []
        billed = sorted({name for name in names if is_paid(name, settings)})
        if not billed or settings.max_usd or (not price and settings.capped):
            return
        wanted, step = "a cap", "no price is known for it, so set max_rollouts, max_tokens or max_minutes"
        if price:
            wanted, step = "a cap on dollars", f"set max_usd; it is likely to cost about {price}"
        raise UsageError(
            f"expected {wanted} for a job that is paid for ({', '.join(billed)}), found none; agree on one with the "
            f"user: {step} (for the job, or in {CONFIG})"
        )


_NEXT = {
    JobState.RUNNING: "It goes on by itself. Wait for news with job_status and wait_seconds=50, or with "
    "`skillopt jobs JOB --wait 600`.",
    JobState.CANCELLED: "What was answered is kept; start the same again to continue.",
    JobState.LOST: "Its process ended without a result: it was killed, or the machine was. What was answered is kept; "
    "start the same again to continue.",
}
_AFTER = {
    "evaluate": "The evidence of the train tasks is recorded: read it, and propose edits.",
    "optimize": "Show the difference between the first and the newest version, and the numbers above. Where a draft is "
    "named, show what it changes and its grade; only a person makes it a version, with `skillopt take`.",
    "propose": "Evaluate the new version on train for new evidence, or stop here and show the difference.",
}
_WAITS = (
    "Show the draft and its grade: only a person makes it a version, with `skillopt take`. While tasks fail, further "
    "edits go on from it: get_evidence shows it."
)
_NOT_TAKEN = "Read above what each edit came to. Try another idea, not other words for the same; or stop here."


@dataclass(frozen=True, slots=True)
class JobReport:
    """How a job is."""

    job: Job
    run: RunStatus | None
    events: tuple[str, ...]
    next_step: str
    spent: Mapping[str, Usage]


def report_job(root: Path, found: Job) -> JobReport:
    """Return how a job is; reads only what is recorded."""
    run, lines = None, list[str]()
    if found.command[0] != "evaluate" and (root / ".skillopt" / "ledger.db").exists():
        with closing(Ledger.open(root, read_only=True)) as ledger:
            # The run under way while it runs, else the last that ended since it began.
            runs = ledger.runs(found.skill)
            record = next((run for run in runs if run.state == "running" or run.ended_at >= found.created_at), None)
            if record is not None:
                run = run_status(root, ledger, record)
                lines = lines_of(recorded_events(ledger, record.id))
    spent = run.spent if run is not None and run.spent else found.noted.roles
    return JobReport(
        job=found,
        run=run,
        events=tuple(lines[-30:]),
        next_step=_next_step(found, waits=run is not None and bool(run.draft)),
        spent=spent,
    )


def progress_line(found: Job) -> str:
    """Return how far a job is in one line; empty before its first note."""
    noted, limits = found.noted, found.limits
    if noted == JobProgress():
        return ""
    parts = [f"{noted.done:,} of {noted.total:,} {noted.kind}"] if noted.kind else []
    if noted.asked != noted.total or noted.kind != "rollouts":
        parts.append(f"{noted.asked:,}{_of(limits, 'max_rollouts')} rollouts in all")
    if noted.spent.usd is not None or noted.spent.at_least:
        least, known = ("at least ", noted.spent.at_least) if noted.spent.usd is None else ("", noted.spent.usd)
        most = limits.get("max_usd")
        parts.append(f"{least}{write_dollars(known)}{f' of {write_dollars(most)}' if most else ''}")
    if noted.spent.usd is None or limits.get("max_tokens"):
        parts.append(f"{noted.spent.tokens:,}{_of(limits, 'max_tokens')} tokens")
    ended = datetime.fromisoformat(found.ended_at) if found.ended_at else datetime.now(UTC)
    took = write_duration((ended - datetime.fromisoformat(found.created_at)).total_seconds() / 60)
    parts.append(f"{took}{_of(limits, 'max_minutes')}{' min' if limits.get('max_minutes') else ''}")
    return ", ".join(filter(None, (*parts, noted.place)))


def _of(limits: Mapping[str, float], name: str) -> str:
    most = limits.get(name)
    return f" of {most:,.15g}" if most else ""


def _next_step(found: Job, *, waits: bool) -> str:
    if found.state in _NEXT:
        return _NEXT[found.state]
    if waits and found.command[0] == "propose" and found.exit_code in (0, 1):
        return _WAITS
    if found.exit_code == 0:
        return _AFTER[found.command[0]]
    if found.exit_code == 1:
        return _NOT_TAKEN
    if found.exit_code == 2:  # noqa: PLR2004 - the documented code
        return "Mend what is named above, then start it anew; nothing was spent."
    return "Mend what is named above and start the same again; what was answered is kept and not paid twice."
