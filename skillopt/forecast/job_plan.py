"""Start a job in a process of its own, after all that can be known before: what it runs, takes, and is refused for."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.access import missing_access
from skillopt.forecast.consumption import CallCost, Consumption, consume, foresee
from skillopt.forecast.estimate import read_records
from skillopt.forecast.typical_costs import is_paid
from skillopt.gate.gate import GATE_ROUNDS
from skillopt.loop.rollout_plan import settle_folds
from skillopt.project import CONFIG, Selection
from skillopt.runs.history import skill_at
from skillopt.runs.plan import RunPlan, Start, incumbent_of, make_plan
from skillopt.runs.proposal import EditsProposal
from skillopt.runs.prospect import expect_prospect
from skillopt.runs.run import open_draft
from skillopt.safety.plurals import count_noun, write_dollars
from skillopt.skills.document import Skill
from skillopt.storage.jobs import Job, JobTerms, check_idle, start_job
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import writer_lock
from skillopt.tasks import Split
from skillopt.versions.draft_branch import DRAFT

__all__ = [
    "JobLimits",
    "JobPlan",
    "plan_evaluation",
    "start_evaluation",
    "start_proposal",
    "start_training",
]

_UNITS: Final = {
    "max_rollouts": "rollouts",
    "max_tokens": "tokens",
    "max_minutes": "minutes",
    "rollout_tokens": "tokens a rollout",
}
_EDITS: Final = "edits.json"
_SHORT: Final = "A cap is below what is likely: it will end the job early."
_NOBODY: Final = "nobody"


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job that nothing refuses: its caps in force, and what is said when it starts."""

    skill: str
    folder: Path
    root: Path
    limits: Mapping[str, float]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobLimits:
    """What a job may consume; None leaves it to the project's settings."""

    max_usd: float | None = None
    max_tokens: int | None = None
    max_rollouts: int | None = None
    max_minutes: float | None = None

    @property
    def caps(self) -> dict[str, float]:
        """Those that are set by the names of settings."""
        return {name: value for name in self.__dataclass_fields__ if (value := getattr(self, name)) is not None}


def plan_evaluation(
    selection: Selection,
    caps: Mapping[str, float],
    *,
    split: Literal["train", "val"],
    repeats: int,
    start: Start,
    draft: bool,
) -> JobPlan:
    """Plan to measure the incumbent, or the draft."""
    # A cap on rollouts in skillopt.toml is on training.
    plan, root = _load(selection, {"max_rollouts": None, **caps}, proposer=_NOBODY)
    suite = plan.target.suite()
    if draft:
        subject = skill_at(open_draft(root, plan.repository, plan.target), DRAFT)
    else:
        subject = incumbent_of(plan.target, plan.repository, start)
    tasks = suite.tasks_to_evaluate(Split(split))
    if not tasks:
        raise UsageError(
            f"expected {split} tasks in suite {suite.name!r}, found none; add some, or choose another split"
        )
    keys = [plan.drivers.recorded_key(subject.digest, task, at) for task in tasks for at in range(repeats)]
    recorded = 0
    with suppress(SkilloptError), closing(Ledger.open(root, read_only=True)) as ledger:
        recorded = len(ledger.rollouts(keys))
    needed, most = len(keys) - recorded, plan.target.settings.max_rollouts
    if most is not None and most < needed:
        raise UsageError(f"expected max_rollouts of at least {needed} for this evaluation, found {most}; raise it")
    known = f", {recorded} of which are recorded already" if recorded else ""
    what = f"the {'draft' if draft else 'incumbent'} on {count_noun(len(tasks), f'{split} task')}"
    runs = f"{count_noun(repeats, 'run')} of each: {count_noun(len(keys), 'rollout')}{known}"
    likely = consume([needed] * 3, [0] * 3, _costs(plan, root, subject), plan.target.settings)
    return _planned(plan, root, f"It measures {what}, {runs}", likely)


def _plan_training(selection: Selection, caps: Mapping[str, float], start: Start) -> JobPlan:
    """Plan to train with the optimizer model of the settings."""
    plan, root = _load(selection, caps)
    suite, settings = plan.suite, plan.target.settings
    expect_prospect(suite, settings)
    _expect_no_writer(plan, root)
    skill = incumbent_of(plan.target, plan.repository, start)
    records = read_records(root, plan.target, skill, suite)
    training = foresee(suite, settings, records.share, records.costs(settings, suite, skill), plan.siblings)
    settled = settle_folds(suite, settings)
    what = f"It trains on {count_noun(len(settled.tasks(Split.TRAIN)) or len(settled.splits), 'train task')}"
    gated = count_noun(len(settled.tasks(Split.VAL)), "val task")
    words = f"{what}, gated on {gated}, with optimizer model `{settings.model}`"
    return _planned(plan, root, words, training.likely, trains=True)


def _plan_proposal(selection: Selection, caps: Mapping[str, float], offered: EditsProposal, start: Start) -> JobPlan:
    """Plan to try edits that were checked before."""
    plan, root = _load(selection, caps, proposer=offered.proposer)
    _expect_no_writer(plan, root)
    val = len(plan.suite.tasks(Split.VAL))
    cited = {task for edit in offered.edits for task in edit.cited}
    together, apart = 2 * len(cited), sum(len(set(edit.cited)) for edit in offered.edits)
    words = (
        f"It tries {count_noun(len(offered.edits), 'edit')} together on the {count_noun(len(cited), 'task')} they "
        f"cite, then each left out, and gates what is needed on {count_noun(val, 'val task')}"
    )
    skill = incumbent_of(plan.target, plan.repository, start)
    most = together + apart + 2 * GATE_ROUNDS * val
    rollouts = (len(cited), (len(cited) + most) / 2, most)
    return _planned(plan, root, words, consume(rollouts, [0] * 3, _costs(plan, root, skill), plan.target.settings))


def start_evaluation(
    selection: Selection,
    *,
    split: Literal["train", "val"] = "train",
    repeats: int = 1,
    start: Start = "auto",
    draft: bool = False,
    limits: JobLimits | None = None,
) -> Job:
    """Start a job that measures the incumbent, or the draft; on `train` it gathers evidence."""
    given = limits or JobLimits()
    plan = plan_evaluation(selection, given.caps, split=split, repeats=repeats, start=start, draft=draft)
    incumbent = {"auto": "incumbent", "worktree": "worktree", "branch": f"skillopt/{plan.skill}"}[start]
    words = ["evaluate", "--of", DRAFT if draft else incumbent, "--split", split, "--repeats", str(repeats)]
    return _start(selection, plan, words, given)


def start_training(selection: Selection, *, start: Start = "auto", limits: JobLimits | None = None) -> Job:
    """Start a job that trains the skill with the optimizer model of the project's settings."""
    given = limits or JobLimits()
    return _start(selection, _plan_training(selection, given.caps, start), ["optimize", "--start", start], given)


def start_proposal(
    selection: Selection, offered: EditsProposal, *, start: Start = "auto", limits: JobLimits | None = None
) -> Job:
    """Start a job that tries edits, which were checked before."""
    given, files = limits or JobLimits(), [(_EDITS, offered.model_dump_json())]
    plan = _plan_proposal(selection, given.caps, offered, start)
    return _start(selection, plan, ["propose", f"{{job}}/{_EDITS}", "--start", start], given, files)


def _start(
    selection: Selection,
    plan: JobPlan,
    command: Sequence[str],
    limits: JobLimits,
    files: Sequence[tuple[str, str]] = (),
) -> Job:
    """Start a command with the limits that the job was given, no higher than they are in force."""
    flags = {**selection.flags, **{name: f"{plan.limits[name]:.15g}" for name in limits.caps}}
    settings = [word for key, value in flags.items() for word in ("--set", f"{key}={value}")]
    suite = ["--suite", str(selection.suite)] if selection.suite else []
    words = [*command, *settings, *suite, "--", str(plan.folder)]
    return start_job(plan.root, plan.skill, words, files, JobTerms(plan.limits, plan.words))


def _load(selection: Selection, caps: Mapping[str, float | None], *, proposer: str = "") -> tuple[RunPlan, Path]:
    """Load a skill as the command would, under the job's caps, and refuse what that refuses; give the root, too.

    The lower of a job's cap and the project's holds: what the user set is not for an agent to raise. None takes the
    project's cap away, as evaluations do with the cap on training's rollouts.
    """
    project = selection.project()
    root, own = project.root, project.target(selection).settings
    lower = {name: cap and min(cap, getattr(own, name) or cap) for name, cap in caps.items()}
    plan = make_plan(replace(selection, flags={**selection.flags, **lower}), proposer=proposer)
    check_idle(root, plan.target.name)
    settings = plan.target.settings
    if missing := missing_access(settings, plan.suite, trains=not proposer):
        raise UsageError(missing)
    minutes, longest = settings.max_minutes, max(task.timeout for _, task in plan.suite.splits)
    if minutes is not None and minutes < longest / 60:
        raise UsageError(
            f"expected max_minutes above the {longest:g} s that a task may take, found {minutes:g}; raise it, or "
            "let the user lower the tasks' timeout"
        )
    return plan, root


def _expect_no_writer(plan: RunPlan, root: Path) -> None:
    """Refuse where another process trains the skill, with its words."""
    with writer_lock(root, plan.target.name):
        pass


def _costs(plan: RunPlan, root: Path, skill: Skill) -> tuple[CallCost, CallCost]:
    """Return the cost of a rollout of the target and of a call of the optimizer model."""
    return read_records(root, plan.target, skill, plan.suite).costs(plan.target.settings, plan.suite, skill)


def _planned(plan: RunPlan, root: Path, what: str, likely: Consumption, *, trains: bool = False) -> JobPlan:
    """Write the plan, unless it is paid for and lacks a cap."""
    settings = plan.target.settings
    _expect_cap(plan, likely, trains=trains)
    limits = {name: float(cap) for name in ("max_usd", *_UNITS) if (cap := getattr(settings, name)) is not None}
    short = f" {_SHORT}" if likely.capped == len(likely.rollouts.figures) else ""
    said = (f"{what}, with harness `{settings.harness}`.", f"Likely: {likely.words}.", _limit_words(limits) + short)
    return JobPlan(plan.target.name, plan.target.folder, root, limits, said)


def _expect_cap(plan: RunPlan, likely: Consumption, *, trains: bool) -> None:
    """Refuse a job that is paid for and has no cap on dollars, or where no price is known no cap at all."""
    settings = plan.target.settings
    judged = any(task.verifier.judged for _, task in plan.suite.splits)
    names = [settings.harness, *([settings.model] if trains else [])]
    names += [settings.judge or settings.model] if judged else []
    billed = sorted({name for name in names if is_paid(name, settings)})
    if not billed or settings.max_usd or (not likely.usd and settings.capped):
        return
    wanted, step = "a cap", "no price is known for it, so set max_rollouts, max_tokens or max_minutes"
    if likely.usd:
        wanted = "a cap on dollars"
        step = f"set max_usd; it is likely to cost about {likely.price}"
    raise UsageError(
        f"expected {wanted} for a job that is paid for ({', '.join(billed)}), found none; agree on one with the "
        f"user: {step} (for the job, or in {CONFIG})"
    )


def _limit_words(limits: Mapping[str, float]) -> str:
    """Return the limits in force in words, and which there are none of.

    >>> _limit_words({"max_rollouts": 1_234_567, "max_minutes": 5})
    'Limits in force: 1,234,567 rollouts, 5 minutes; no cap on dollars is set.'
    >>> _limit_words({"max_usd": 12, "rollout_tokens": 900})
    'Limits in force: $12.00, 900 tokens a rollout.'
    """
    usd = limits.get("max_usd")
    words = [write_dollars(usd)] if usd else []
    words += [f"{limits[name]:,.15g} {unit}" for name, unit in _UNITS.items() if name in limits]
    none = "" if "max_usd" in limits else "; no cap on dollars is set"
    return f"Limits in force: {', '.join(words) or 'none'}{none}."
