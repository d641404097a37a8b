"""Start a job in a process of its own, after all that can be known before: what it runs, takes, and is refused for."""

from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

from skillopt.errors import SkilloptError, UsageError
from skillopt.execution.access import missing_access
from skillopt.forecast.consumption import Consumption, consume, foresee
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
from skillopt.versions.branches import DRAFT

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
class JobLimits:
    """What a job may consume; None leaves it to the project's settings."""

    max_usd: float | None = None
    max_rollouts: int | None = None
    max_minutes: float | None = None

    @property
    def caps(self) -> dict[str, float]:
        """Those that are set by the names of settings."""
        return {name: value for name in self.__dataclass_fields__ if (value := getattr(self, name)) is not None}


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
    # A cap on rollouts in skillopt.toml is on training.
    planned = _Planned.of(selection, limits, {"max_rollouts": None}, proposer=_NOBODY)
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
    likely = planned.likely([needed] * 3, subject)
    words = ["evaluate", "--of", of, "--split", split, "--repeats", str(repeats)]
    return planned.start(f"It measures {what}, {runs}", likely, words)


def start_training(selection: Selection, *, start: Start = "auto", limits: JobLimits | None = None) -> Job:
    """Start a job that trains the skill with the optimizer model of the project's settings."""
    planned = _Planned.of(selection, limits)
    plan, suite, settings = planned.plan, planned.plan.suite, planned.plan.target.settings
    expect_prospect(suite, settings)
    planned.expect_no_writer()
    skill = incumbent_of(plan.target, plan.repository, start)
    records = read_records(planned.root, plan.target, skill, suite)
    likely, _ = foresee(suite, settings, records.share, records.costs(settings, suite, skill))
    settled = settle_folds(suite, settings)
    train, _, val = (len(settled.tasks(split)) for split in (Split.TRAIN, Split.TEST, Split.VAL))
    what = f"It trains on {count_noun(train or val, 'train task')}"
    words = f"{what}, gated on {count_noun(val, 'val task')}, with optimizer model `{settings.model}`"
    return planned.start(words, likely, ["optimize", "--start", start])


def start_proposal(
    selection: Selection, offered: EditsProposal, *, start: Start = "auto", limits: JobLimits | None = None
) -> Job:
    """Start a job that tries edits, which were checked before."""
    planned = _Planned.of(selection, limits, proposer=offered.proposer)
    plan = planned.plan
    planned.expect_no_writer()
    val = len(plan.suite.tasks(Split.VAL))
    cited = {task for edit in offered.edits for task in edit.cited}
    together, apart = 2 * len(cited), sum(len(set(edit.cited)) for edit in offered.edits)
    words = (
        f"It tries {count_noun(len(offered.edits), 'edit')} together on the {count_noun(len(cited), 'task')} they "
        f"cite, then each left out, and gates what is needed on {count_noun(val, 'val task')}"
    )
    most = together + apart + 2 * GATE_ROUNDS * val
    rollouts = (len(cited), (len(cited) + most) / 2, most)
    likely = planned.likely(rollouts, incumbent_of(plan.target, plan.repository, start))
    files = [(_EDITS, offered.model_dump_json())]
    return planned.start(words, likely, ["propose", f"{{job}}/{_EDITS}", "--start", start], files)


@dataclass(frozen=True, slots=True)
class _Planned:
    selection: Selection
    given: Mapping[str, float]
    plan: RunPlan
    root: Path
    trains: bool

    @staticmethod
    def of(
        selection: Selection, limits: JobLimits | None, lifted: Mapping[str, None] = {}, *, proposer: str = ""
    ) -> "_Planned":
        """Load a skill as the command would, under the job's caps, and refuse what that refuses.

        The lower of a job's cap and the project's holds: what the user set is not for an agent to raise. A lifted cap
        of the project does not count.
        """
        project, given = selection.project(), (limits or JobLimits()).caps
        root, own = project.root, project.target(selection).settings
        lower = {name: cap and min(cap, getattr(own, name) or cap) for name, cap in {**lifted, **given}.items()}
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
        return _Planned(selection, given, plan, root, not proposer)

    def expect_no_writer(self) -> None:
        """Refuse where another process trains the skill, with its words."""
        with writer_lock(self.root, self.plan.target.name):
            pass

    def likely(self, rollouts: Sequence[float], skill: Skill) -> Consumption:
        """Return what low, median and high numbers of rollouts take, without an optimizer model."""
        plan, settings = self.plan, self.plan.target.settings
        costs = read_records(self.root, plan.target, skill, plan.suite).costs(settings, plan.suite, skill)
        return consume(rollouts, [0] * 3, costs, settings)

    def start(
        self, what: str, likely: Consumption, command: Sequence[str], files: Sequence[tuple[str, str]] = ()
    ) -> Job:
        """Start a command with the limits that the job was given, unless it is paid for and lacks a cap."""
        self._expect_cap(likely)
        target = self.plan.target
        limits = {
            name: float(cap) for name in ("max_usd", *_UNITS) if (cap := getattr(target.settings, name)) is not None
        }
        short = f" {_SHORT}" if likely.capped == len(likely.rollouts.figures) else ""
        said = f"{what}, with harness `{target.settings.harness}`.", f"Likely: {likely.words}."
        flags = {**self.selection.flags, **{name: f"{limits[name]:.15g}" for name in self.given}}
        settings = [word for key, value in flags.items() for word in ("--set", f"{key}={value}")]
        suite = ["--suite", str(self.selection.suite)] if self.selection.suite else []
        words = [*command, *settings, *suite, "--", str(target.folder)]
        return start_job(self.root, target.name, words, files, JobTerms(limits, (*said, _limit_words(limits) + short)))

    def _expect_cap(self, likely: Consumption) -> None:
        """Refuse a job that is paid for and has no cap on dollars, or where no price is known no cap at all."""
        settings = self.plan.target.settings
        judged = any(task.verifier.judged for _, task in self.plan.suite.splits)
        names = [settings.harness, *([settings.model] if self.trains else [])]
        names += [settings.judge or settings.model] if judged else []
        names += [settings.reviewer] if settings.reviewer else []
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
