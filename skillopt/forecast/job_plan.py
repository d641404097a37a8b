"""Start a job in a process of its own, after all that can be known before: what it runs, takes, and is refused for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Final, Literal

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.access import missing_access
from skillopt.forecast.estimate import Records, read_records
from skillopt.forecast.foresight import CallCost, Trained, foresee
from skillopt.forecast.typical_costs import is_paid
from skillopt.forecast.world import StartingRates
from skillopt.gate.gate import GATE_ROUNDS
from skillopt.loop.rollout_plan import settle_folds
from skillopt.project import CONFIG, Selection
from skillopt.runs.draft_publication import recover_draft
from skillopt.runs.history import skill_at
from skillopt.runs.plan import RunPlan, Start, incumbent_of, make_plan
from skillopt.runs.proposal import EditsProposal
from skillopt.runs.prospect import expect_prospect
from skillopt.safety.plurals import count_noun, write_dollars
from skillopt.settings import Settings
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

_CAPS: Final = ("max_usd", "max_rollouts", "max_tokens", "max_minutes", "rollout_tokens")
_UNITS: Final = {
    "max_rollouts": "rollouts",
    "max_tokens": "tokens",
    "max_minutes": "minutes",
    "rollout_tokens": "tokens a rollout",
}
_EDITS: Final = "edits.json"
_SHORT: Final = "The cap on dollars is below what is likely: it will end the job early."
_NOBODY: Final = "nobody"
_SECONDS_FROM: Final = 2.0
"""Minutes below which a duration is told in seconds."""

_Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job that nothing refuses."""

    skill: str
    folder: Path
    root: Path
    limits: Mapping[str, float]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Likely:
    """What a job is likely to take, least and most: rollouts, calls of the optimizer model, US dollars, minutes."""

    rollouts: _Range
    calls: _Range = (0.0, 0.0)
    usd: _Range | None = None
    minutes: _Range | None = None


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
    chosen = _Chosen.of(selection, {"max_rollouts": None, **caps}, proposer=_NOBODY)
    suite = chosen.plan.target.suite()
    subject = chosen.draft() if draft else chosen.start(start)
    tasks = suite.tasks_to_evaluate(Split(split))
    if not tasks:
        raise UsageError(
            f"expected {split} tasks in suite {suite.name!r}, found none; add some, or choose another split"
        )
    keys = [chosen.plan.drivers.recorded_key(subject.digest, task, at) for task in tasks for at in range(repeats)]
    recorded = chosen.recorded(keys)
    needed, most = len(keys) - recorded, chosen.settings.max_rollouts
    if most is not None and most < needed:
        raise UsageError(f"expected max_rollouts of at least {needed} for this evaluation, found {most}; raise it")
    known = f", {recorded} of which are recorded already" if recorded else ""
    what = f"the {'draft' if draft else 'incumbent'} on {count_noun(len(tasks), f'{split} task')}"
    runs = f"{count_noun(repeats, 'run')} of each: {count_noun(len(keys), 'rollout')}{known}"
    return chosen.planned(f"It measures {what}, {runs}", subject, _Likely((needed, needed)))


def _plan_training(selection: Selection, caps: Mapping[str, float], *, start: Start) -> JobPlan:
    """Plan to train with the optimizer model of the settings."""
    chosen = _Chosen.of(selection, caps)
    suite, settings = chosen.plan.suite, chosen.settings
    expect_prospect(suite, settings)
    chosen.expect_no_writer()
    skill = chosen.start(start)
    records = chosen.records(skill)
    costs = records.costs(settings, suite, skill)
    rates = StartingRates(records.rates, None)
    trained = Trained(suite, settings, chosen.plan.siblings)
    likely = foresee(trained, rates, records.proposers, costs, lambda done: done < 1)[-1]
    settled = settle_folds(suite, settings)
    what = f"It trains on {count_noun(len(settled.tasks(Split.TRAIN)) or len(settled.splits), 'train task')}"
    gated = count_noun(len(settled.tasks(Split.VAL)), "val task")
    words = f"{what}, gated on {gated}, with optimizer model `{settings.model}`"
    taken = _Likely((likely.rollouts.low, likely.rollouts.high), (likely.calls.low, likely.calls.high))
    return chosen.planned(words, skill, taken)


def _plan_proposal(selection: Selection, caps: Mapping[str, float], offered: EditsProposal, *, start: Start) -> JobPlan:
    """Plan to try edits that were checked before."""
    chosen = _Chosen.of(selection, caps, proposer=offered.proposer)
    chosen.expect_no_writer()
    val = len(chosen.plan.suite.tasks(Split.VAL))
    cited = {task for edit in offered.edits for task in edit.cited}
    together, apart = 2 * len(cited), sum(len(set(edit.cited)) for edit in offered.edits)
    likely = _Likely((len(cited), together + apart + 2 * GATE_ROUNDS * val))
    edits = count_noun(len(offered.edits), "edit")
    words = (
        f"It tries {edits} together on the {count_noun(len(cited), 'task')} they cite, then each left out, and gates "
        f"what is needed on {count_noun(val, 'val task')}"
    )
    return chosen.planned(words, chosen.start(start), likely)


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
    return _start(selection, _plan_training(selection, given.caps, start=start), ["optimize", "--start", start], given)


def start_proposal(
    selection: Selection, offered: EditsProposal, *, start: Start = "auto", limits: JobLimits | None = None
) -> Job:
    """Start a job that tries edits, which were checked before."""
    given, files = limits or JobLimits(), [(_EDITS, offered.model_dump_json())]
    plan = _plan_proposal(selection, given.caps, offered, start=start)
    return _start(selection, plan, ["propose", f"{{job}}/{_EDITS}", "--start", start], given, files)


def _start(
    selection: Selection,
    plan: JobPlan,
    command: Sequence[str],
    limits: JobLimits,
    files: Sequence[tuple[str, str]] = (),
) -> Job:
    flags: Mapping[str, object] = selection.flags
    settings = [word for key, value in flags.items() for word in ("--set", f"{key}={value}")]
    suite = ["--suite", str(selection.suite)] if selection.suite else []
    words = [*command, *_flags(limits, plan), *settings, *suite, "--", str(plan.folder)]
    return start_job(plan.root, plan.skill, words, files, JobTerms(plan.limits, plan.words))


def _flags(limits: JobLimits, plan: JobPlan) -> Iterator[str]:
    """Return the options of the command line for the limits that a job was given, no higher than they are in force."""
    for name in limits.caps:
        yield from (f"--{name.replace('_', '-')}", f"{plan.limits[name]:.15g}")


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The skill of a job, with all that a command would load for it, and its settings after the job's caps."""

    selection: Selection
    plan: RunPlan
    root: Path
    trains: bool

    @classmethod
    def of(cls, selection: Selection, caps: Mapping[str, float | None], *, proposer: str = "") -> "_Chosen":
        """Load it as the command would, and refuse what that refuses."""
        project = selection.project()
        root, own = project.root, project.target(selection).settings
        capped = replace(selection, flags={**selection.flags, **_lower(caps, own)})
        plan = make_plan(capped, proposer=proposer)
        check_idle(root, plan.target.name)
        missing = missing_access(plan.target.settings, plan.suite, trains=not proposer)
        if missing:
            raise UsageError(missing)
        minutes, longest = plan.target.settings.max_minutes, max(task.timeout for _, task in plan.suite.splits)
        if minutes is not None and minutes < longest / 60:
            raise UsageError(
                f"expected max_minutes above the {longest:g} s that a task may take, found {minutes:g}; raise it, or "
                "let the user lower the tasks' timeout"
            )
        return cls(capped, plan, root, not proposer)

    @property
    def settings(self) -> Settings:
        """The settings after all layers."""
        return self.plan.target.settings

    def start(self, start: Start) -> Skill:
        """Return the text that is meant."""
        return incumbent_of(self.plan.target, self.plan.repository, start)

    def draft(self) -> Skill:
        """Return the draft that waits."""
        recover_draft(self.root, self.plan.repository, self.plan.target.name)
        return skill_at(self.plan.repository, self.plan.target, DRAFT)

    def expect_no_writer(self) -> None:
        """Refuse where another process trains the skill, with its words."""
        with writer_lock(self.root, self.plan.target.name):
            pass

    def records(self, skill: Skill) -> Records:
        """Read what was recorded of its costs."""
        return read_records(self.root, self.plan.target, skill, self.plan.suite)

    def recorded(self, keys: list[str]) -> int:
        """Count the rollouts that are recorded already."""
        with suppress(SkilloptError), closing(Ledger.open(self.root, read_only=True)) as ledger:
            return len(ledger.rollouts(keys))
        return 0

    def planned(self, what: str, skill: Skill, likely: _Likely) -> JobPlan:
        """Write the plan, unless it is paid for and lacks a cap."""
        settings = self.settings
        costs = self.records(skill).costs(settings, self.plan.suite, skill)
        likely = _priced(likely, costs, settings.workers)
        self._expect_cap(likely)
        limits = {name: float(cap) for name in _CAPS if (cap := getattr(settings, name)) is not None}
        short = f" {_SHORT}" if likely.usd is not None and likely.usd[0] > limits.get("max_usd", inf) else ""
        words = (f"{what}, with harness `{settings.harness}`.", _likely_words(likely), _limit_words(limits) + short)
        return JobPlan(self.plan.target.name, self.plan.target.folder, self.root, limits, words)

    def _expect_cap(self, likely: _Likely) -> None:
        """Refuse a job that is paid for and has no cap on dollars, or where no price is known no cap at all."""
        settings = self.settings
        judged = any(task.verifier.judged for _, task in self.plan.suite.splits)
        names = [settings.harness, *([settings.model] if self.trains else [])]
        names += [settings.judge or settings.model] if judged else []
        billed = sorted({name for name in names if is_paid(name, settings)})
        if not billed or settings.max_usd or (likely.usd is None and settings.capped):
            return
        if likely.usd is None:
            wanted, step = "a cap", "no price is known for it, so set max_rollouts, max_tokens or max_minutes"
        else:
            wanted, step = (
                "a cap on dollars",
                f"set max_usd; it is likely to cost about {_span(likely.usd, write_dollars)}",
            )
        raise UsageError(
            f"expected {wanted} for a job that is paid for ({', '.join(billed)}), found none; agree on one with the "
            f"user: {step} (for the job, or in {CONFIG})"
        )


def _lower(caps: Mapping[str, float | None], own: Settings) -> dict[str, float | None]:
    """Take the lower of a job's cap and the project's: what the user set is not for an agent to raise.

    None takes the project's cap away: evaluations do so with the cap on training's rollouts.
    """
    return {name: cap and min(cap, getattr(own, name) or cap) for name, cap in caps.items()}


def _priced(likely: _Likely, costs: tuple[CallCost, CallCost], workers: int) -> _Likely:
    """Add dollars and minutes, which are right to a factor of two where nothing was measured yet."""
    pairs = list(zip(likely.rollouts, likely.calls, strict=True))
    rollout, call = costs
    calls = any(likely.calls)
    usd = minutes = None
    if rollout.usd is not None and (call.usd is not None or not calls):
        low, high = (many * rollout.usd + few * (call.usd or 0.0) for many, few in pairs)
        usd = (low, high)
    if rollout.seconds is not None and (call.seconds is not None or not calls):
        each, one = rollout.seconds / workers / 60, (call.seconds or 0.0) / 60
        low, high = (many * each + few * one for many, few in pairs)
        minutes = (low, high)
    return _Likely(likely.rollouts, likely.calls, usd, minutes)


def _likely_words(likely: _Likely) -> str:
    cost = "price unknown" if likely.usd is None else f"about {_span(likely.usd, write_dollars)}"
    return f"Likely: {_span(likely.rollouts)} rollouts, {cost}, {_time_words(likely.minutes)}."


def _time_words(minutes: _Range | None) -> str:
    if minutes is None:
        return "time unknown"
    if minutes[1] < _SECONDS_FROM:
        return f"about {max(1, round(minutes[1] * 60))} s"
    return f"about {_span(minutes)} min"


def _limit_words(limits: Mapping[str, float]) -> str:
    """Say the limits in force, and which there are none of.

    >>> _limit_words({"max_rollouts": 1_234_567, "max_minutes": 5})
    'Limits in force: 1,234,567 rollouts, 5 minutes; no cap on dollars is set.'
    >>> _limit_words({"max_usd": 12, "rollout_tokens": 900})
    'Limits in force: $12.00, 900 tokens a rollout.'
    """

    def said() -> Iterator[str]:
        if usd := limits.get("max_usd"):
            yield write_dollars(usd)
        for name, unit in _UNITS.items():
            if name in limits:
                yield f"{limits[name]:,.15g} {unit}"

    none = "" if "max_usd" in limits else "; no cap on dollars is set"
    return f"Limits in force: {', '.join(said()) or 'none'}{none}."


def _span(values: _Range, write: Callable[[float], str] = "{:,.0f}".format) -> str:
    """Write a range, of one number where both ends look the same.

    >>> _span((3, 8)), _span((0.1, 0.1), write_dollars)
    ('3 to 8', '$0.10')
    """
    low, high = map(write, values)
    return low if low == high else f"{low} to {high}"
