"""The user action `audit`: which skills of a project help, hurt or lie idle on a target, against no skill."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final

from skillopt.commands.spending import Payment, payment_of
from skillopt.errors import InfrastructureError, UsageError
from skillopt.execution.budget import Caps
from skillopt.execution.drivers import caps_of, load_drivers
from skillopt.execution.executors import make_executor
from skillopt.execution.metering import Meter, OutOfBudget
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.gate.skill_effect import EffectPlan, EffectTest, SkillEffect, draw_tasks
from skillopt.project import FoundSkill, Project, Selection, Target
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream, Usage
from skillopt.settings import Metric, Settings
from skillopt.skills.discovery import HOW_TO_BEGIN
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split, Suite, Task

__all__ = ["AuditAsk", "AuditPlan", "AuditReport", "AuditedSkill", "SkillCosts", "audit", "plan_audit"]

_SCREEN: Final = 4
"""Pairs that every skill gets before one gets more."""

_BATCH: Final = 8
"""Pairs that are run before the next skill is chosen; whatever the workers, so that they change no decision."""


@dataclass(frozen=True, slots=True)
class AuditAsk:
    """What is asked for.

    Args:
        names: Skills, by name or folder; all of the project when empty.
        pairs: Most pairs of rollouts of a skill, > 0.
        loss: Mean score that the removal of an idle skill may lose at most, in (0, 1).
        flags: Settings that override file and environment.
        folder: Where the command is given; the current folder when None.
    """

    names: tuple[str, ...] = ()
    pairs: int = 100
    loss: float = 0.1
    flags: Mapping[str, object] = field(default_factory=dict)
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class SkillCosts:
    """What a skill costs in each rollout, with it minus without it; None where nothing was measured.

    Args:
        tokens: Tokens read and written.
        turns: Calls of the target's model.
        usd: US dollars; None where a price is unknown, too.
    """

    tokens: float | None = None
    turns: float | None = None
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class AuditedSkill:
    """What the audit found of one skill.

    Args:
        skill: Its name.
        path: Its folder in the project.
        effect: `helps`, `idle`, `hurts` or `unknown`.
        grade: What the effect was shown for: `proven here` for these tasks; empty where it is unknown.
        reason: Why, and what to do next, in a sentence.
        suite: Where its tasks are; empty for none.
        tasks: Tasks that it was compared on.
        pairs: Pairs of rollouts that were measured.
        missing: Pairs that could not be measured.
        passed_with: Share of its rollouts that passed; None where nothing was measured.
        passed_without: The same without it.
        gain: Mean score with it minus without it.
        low: Lower limit of the gain on these tasks, with `error / 2` of being wrong.
        high: Upper limit, likewise: what removal loses at most.
        listing_tokens: Estimated tokens of its name and description, which every session reads.
        costs: What it costs in each rollout.
        removable: Whether its removal is proposed: it is idle, on tasks of which some pass.
    """

    skill: str
    path: str
    effect: SkillEffect
    grade: str
    reason: str
    suite: str = ""
    tasks: int = 0
    pairs: int = 0
    missing: int = 0
    passed_with: float | None = None
    passed_without: float | None = None
    gain: float | None = None
    low: float | None = None
    high: float | None = None
    listing_tokens: int = 0
    costs: SkillCosts = SkillCosts()
    removable: bool = False


@dataclass(frozen=True, slots=True)
class AuditReport:
    """What the audit found.

    Args:
        skills: Every skill, sorted by path.
        error: Chance for each skill without an effect to be said to have one.
        false_effects: How many of the skills said to help or hurt may be so by chance, at most, in expectation.
        loss: What the removal of an idle skill may lose at most.
        stopped: Why it ended before every skill had its answer or all its pairs; empty when it did not.
        paid_rollouts: Rollouts that were not recorded before.
        spent: What each role consumed in this command.
    """

    skills: tuple[AuditedSkill, ...]
    error: float
    false_effects: float
    loss: float
    stopped: str
    paid_rollouts: int
    spent: Mapping[str, Usage]

    @property
    def exit_code(self) -> int:
        """Give 3 where nothing could be measured of skills that have tasks, else 0."""
        measurable = [one for one in self.skills if one.tasks]
        return 3 if measurable and not any(one.pairs for one in measurable) else 0


@dataclass(frozen=True, slots=True)
class _Subject:
    """A skill that can be measured."""

    found: FoundSkill
    target: Target
    skill: Skill
    suite: Suite
    tasks: tuple[Task, ...]


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """An audit that can begin.

    Args:
        project: Where the skills are.
        ask: What is asked for.
        settings: Those that hold for all skills: caps and how calls are made.
        subjects: Skills with tasks.
        others: Skills of which nothing can be measured, with the reason.
        payment: Whether it is paid for.
    """

    project: Project
    ask: AuditAsk
    settings: Settings
    subjects: tuple[_Subject, ...]
    others: tuple[AuditedSkill, ...]
    payment: Payment

    @property
    def words(self) -> str:
        """Say what will be run at least and at most."""
        count, most = len(self.subjects), self.ask.pairs
        least = min(_SCREEN, most)
        rollouts = f"{2 * least * count:,} to {2 * most * count:,} rollouts, recorded ones included"
        return f"{count} of {count + len(self.others)} skills have tasks to measure: {rollouts}"


def plan_audit(ask: AuditAsk) -> AuditPlan:
    """Find the skills, read their tasks, and tell whether the audit is paid for; nothing is run.

    Raises:
        UsageError: There is no skill, a name is unknown, or a setting is wrong.
    """
    project = Project.find(ask.folder or Path.cwd())
    discovered = project.discover().skills
    if not discovered:
        raise UsageError(f"expected skills to audit, found {HOW_TO_BEGIN}")
    chosen = _chosen(project, ask, discovered)
    subjects: list[_Subject] = []
    others: list[AuditedSkill] = []
    for found in chosen:
        one = _subject(project, ask, found)
        if isinstance(one, _Subject):
            subjects.append(one)
        else:
            others.append(one)
    settings = project.settings(ask.flags)
    judged = [one for one in subjects if any(task.verifier.judged for task in one.tasks)]
    names = [one.target.settings.harness for one in subjects]
    names += [one.target.settings.judge or one.target.settings.model for one in judged]
    return AuditPlan(
        project, ask, settings, tuple(subjects), tuple(others), payment_of(project.root, settings, tuple(names))
    )


def audit(plan: AuditPlan, observer: RunObserver | None = None) -> AuditReport:
    """Compare every skill with no skill, where an answer is nearest first, until all have one or a cap is reached.

    Doing it again costs nothing; on another target it begins anew.

    Args:
        plan: What is measured.
        observer: Follows the rollouts.

    Raises:
        UsageError: A driver is missing or wrong; nothing was spent.
        InfrastructureError: A provider failed; what was measured is kept.
    """
    observer = observer or RunObserver()
    meter = Meter(caps_of(plan.settings))
    if not plan.subjects:
        return _report(plan, [], "", meter)
    most = plan.settings.max_rollouts if "max_rollouts" in plan.ask.flags else 0
    allowance = Meter(Caps(rollouts=most)) if most else None
    stopped = ""
    with closing(Ledger.open(plan.project.root)) as ledger:
        series = []
        for one in plan.subjects:
            settings = one.target.settings
            drivers = load_drivers(
                settings, one.suite, plan.project.root, optimizer=False, meter=meter, allowance=allowance
            )
            executor = make_executor(settings, observer.notice, drivers.cluster)
            runner = RecordedRunner(ledger, "", drivers, executor, observer, settings.executor.breaker)
            series.append(_Series(one, plan.ask, runner))
        try:
            for begun in series:
                begun.run(_SCREEN)
            while waiting := [one for one in series if one.test.left]:
                min(waiting, key=lambda one: (one.test.pairs_to_go, len(one.test.gains))).run(_BATCH)
        except OutOfBudget as error:
            stopped = str(error)
    return _report(plan, series, stopped, meter)


class _Series:
    """The pairs of one skill.

    Args:
        subject: The skill and its tasks.
        ask: How many pairs, and what removal may lose.
        runner: Runs rollouts.
    """

    def __init__(self, subject: _Subject, ask: AuditAsk, runner: RecordedRunner) -> None:
        self.subject = subject
        self.runner = runner
        self.test = EffectTest(EffectPlan(ask.pairs, ask.loss))
        self.pairs: list[tuple[Rollout, Rollout]] = []
        seed = f"{subject.skill.name} {subject.target.settings.seed}"
        self._order = draw_tasks(len(subject.tasks), ask.pairs, Random(seed))

    def run(self, pairs: int) -> None:
        """Run the next pairs, if an answer is still missing."""
        begun = len(self.test.gains)
        drawn = self._order[begun : begun + min(pairs, self.test.left)]
        requests = [
            RolloutRequest(skill, self.subject.tasks[index], Stream.AUDIT.repeat(repeat))
            for index, repeat in drawn
            for skill in (None, self.subject.skill)
        ]
        if not requests:
            return
        rollouts = self.runner.rollouts(requests)
        found = list(zip(rollouts[::2], rollouts[1::2], strict=True))
        self.pairs += found
        self.test = self.test.observe([_gain(pair, self.subject.target.settings.metric) for pair in found])

    def result(self, stopped: str) -> AuditedSkill:
        """Say what the pairs show."""
        test, subject = self.test, self.subject
        whole = [(before, after) for before, after in self.pairs if before.score and after.score]
        low, high = test.limits if whole else (None, None)
        return AuditedSkill(
            subject.skill.name,
            subject.found.path,
            test.effect,
            "" if test.effect is SkillEffect.UNKNOWN else "proven here",
            _reason(self, high, stopped),
            subject.found.suite,
            len(subject.tasks),
            len(whole),
            len(self.pairs) - len(whole),
            _share([bool(after.score and after.score.passed) for _, after in whole]),
            _share([bool(before.score and before.score.passed) for before, _ in whole]),
            test.gain,
            low,
            high,
            estimate_tokens(f"{subject.skill.name}: {listed_description(subject.skill.document)}"),
            _costs(whole),
            test.effect is SkillEffect.IDLE and _some_passed(whole),
        )


def _chosen(project: Project, ask: AuditAsk, discovered: Sequence[FoundSkill]) -> list[FoundSkill]:
    """Give the skills that are named, each once, or all."""
    if not ask.names:
        return list(discovered)
    folders = {project.target(Selection(name, ask.flags, folder=ask.folder)).folder for name in ask.names}
    return [one for one in discovered if (project.root / one.path).resolve() in folders]


def _subject(project: Project, ask: AuditAsk, found: FoundSkill) -> "_Subject | AuditedSkill":
    """Read a skill and its tasks; what is wrong with one of them is its own row, not the end of the audit."""

    def unknown(reason: str) -> AuditedSkill:
        return AuditedSkill(found.name, found.path, SkillEffect.UNKNOWN, "", reason, found.suite)

    if not found.suite:
        return unknown(f"it has no tasks; next: skillopt write-tasks {found.name}")
    target = project.target(Selection(found.name, ask.flags, folder=project.root))
    try:
        skill, suite = target.skill(), target.suite()
    except UsageError as error:
        return unknown(str(error))
    tasks = suite.tasks(Split.VAL)
    if not tasks:
        return unknown(f"its suite has no tasks in val; next: skillopt suite check {found.name}")
    return _Subject(found, target, skill, suite, tasks)


def _gain(pair: tuple[Rollout, Rollout], metric: Metric) -> float | None:
    before, after = (one.score for one in pair)
    return None if before is None or after is None else metric.of(after) - metric.of(before)


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _some_passed(pairs: Sequence[tuple[Rollout, Rollout]]) -> bool:
    """Tell whether a rollout passed on either side; where none did, the tasks say nothing of what removal loses."""
    return any(one.score and one.score.passed for pair in pairs for one in pair)


def _costs(pairs: Sequence[tuple[Rollout, Rollout]]) -> SkillCosts:
    """Give what rollouts consume with the skill minus without it, on average over pairs."""

    def mean(measure: Callable[[Usage], float]) -> float:
        return math.fsum(measure(after.usage) - measure(before.usage) for before, after in pairs) / len(pairs)

    if not pairs:
        return SkillCosts()
    priced = all(one.usage.usd is not None for pair in pairs for one in pair)
    return SkillCosts(
        mean(lambda used: used.input_tokens + used.output_tokens),
        mean(lambda used: used.calls),
        mean(lambda used: used.usd or 0.0) if priced else None,
    )


def _reason(series: _Series, high: float | None, stopped: str) -> str:
    test, count = series.test, len(series.subject.tasks)
    match test.effect:
        case SkillEffect.HELPS:
            return f"better than no skill on these {count} tasks"
        case SkillEffect.HURTS:
            return f"worse than no skill on these {count} tasks; next: skillopt optimize {series.subject.skill.name}"
        case SkillEffect.IDLE:
            if not _some_passed(series.pairs):
                return f"no rollout passed with it or without it: these {count} tasks are too hard to tell by"
            return f"its removal loses at most {max(high or 0.0, 0.0):.2f} of the score on these {count} tasks"
        case SkillEffect.UNKNOWN:
            return _why_unknown(series, stopped)


def _why_unknown(series: _Series, stopped: str) -> str:
    test = series.test
    if not test.measured:
        failed = next((one.reason for pair in series.pairs for one in pair if one.score is None), "")
        return f"nothing could be measured: {failed or stopped}"
    if test.left:
        return "a cap ended the audit before there was an answer; raise it to go on"
    return f"{len(test.gains)} pairs were too few for an answer; raise --pairs"


def _report(plan: AuditPlan, series: Sequence[_Series], stopped: str, meter: Meter) -> AuditReport:
    rows = sorted([*plan.others, *(one.result(stopped) for one in series)], key=lambda row: row.path)
    error = EffectPlan(plan.ask.pairs, plan.ask.loss).error
    if series and stopped and not any(row.pairs for row in rows):
        raise InfrastructureError(f"not one pair could be measured: {stopped}")
    paid = sum(one.runner.paid_rollouts for one in series)
    return AuditReport(tuple(rows), error, error * len(series), plan.ask.loss, stopped, paid, dict(meter.by_role))
