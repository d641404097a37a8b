"""The pairs of rollouts of one skill, with it and without, and what they show; also with other skills beside it.

First all other skills of the project lie beside a skill, as its users have them. Only where it falls with them, each of
them is put beside it alone, so that a project whose skills do not disturb each other is measured with few rollouts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from skillopt.audit.findings import AuditAsk, AuditedSkill, AuditSubject, SiblingFinding, SkillCosts, capabilities_of
from skillopt.errors import InvalidMeasurementError, UsageError
from skillopt.execution.runner import RecordedRunner
from skillopt.gate.comparison import Outcome, Pairs, Verdict
from skillopt.gate.headline import compared_words
from skillopt.gate.here import measure_harm
from skillopt.gate.skill_effect import EffectTest, SkillEffect, draw_tasks
from skillopt.project import Project, Selection
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream, Usage
from skillopt.settings import Metric
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.skills.frontmatter import listed_description
from skillopt.tasks import Task

_ERROR = 0.1
"""Chance of saying that some skill falls where none does, and, where one does, of naming a wrong one: all together."""


class AuditSeries:
    """The pairs of one skill."""

    def __init__(self, subject: AuditSubject, ask: AuditAsk, runner: RecordedRunner, skills: int) -> None:
        self.subject = subject
        self.runner = runner
        self.test = EffectTest(ask.pairs, ask.loss, skills)
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
        self.test.observe([_gain(pair, self.subject.target.settings.metric) for pair in found])

    @property
    def effect(self) -> SkillEffect:
        """What the pairs show; where no rollout passed on either side, the tasks cannot tell that a skill is idle."""
        found = self.test.effect
        passed = any(one.score and one.score.passed for pair in self.pairs for one in pair)
        return SkillEffect.CANNOT_TELL if found is SkillEffect.IDLE and not passed else found

    def result(self, stopped: str) -> AuditedSkill:
        """Return what the pairs show."""
        test, subject = self.test, self.subject
        whole = [(before, after) for before, after in self.pairs if before.score and after.score]
        low, high = test.limits if whole else (None, None)
        return AuditedSkill(
            subject.skill.name,
            subject.found.path,
            self.effect,
            "" if self.effect is SkillEffect.CANNOT_TELL else "proven here",
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
            self.effect is SkillEffect.IDLE,
            subject.target.settings.by_target[0].harness,
            subject.skill.digest,
            capabilities=capabilities_of(subject.skill),
        )


def _gain(pair: tuple[Rollout, Rollout], metric: Metric) -> float | None:
    before, after = (one.score for one in pair)
    return None if before is None or after is None else metric.of(after) - metric.of(before)


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _costs(pairs: Sequence[tuple[Rollout, Rollout]]) -> SkillCosts:
    """Return what rollouts consume with the skill minus without it, on average over pairs."""

    def mean(measure: Callable[[Usage], float]) -> float:
        return math.fsum(measure(after.usage) - measure(before.usage) for before, after in pairs) / len(pairs)

    if not pairs:
        return SkillCosts()
    priced = all(one.usage.usd is not None for pair in pairs for one in pair)
    return SkillCosts(
        mean(lambda used: used.tokens),
        mean(lambda used: used.calls),
        mean(lambda used: used.usd or 0.0) if priced else None,
    )


def _reason(series: AuditSeries, high: float | None, stopped: str) -> str:
    count = len(series.subject.tasks)
    match series.effect:
        case SkillEffect.HELPS:
            size = f"{estimate_tokens(series.subject.skill.text):,} tokens"
            more = f"which of its {size} they need: skillopt shrink {series.subject.skill.name} --dry-run"
            return f"better than no skill on these {count} tasks; {more}"
        case SkillEffect.HURTS:
            return f"worse than no skill on these {count} tasks; next: skillopt optimize {series.subject.skill.name}"
        case SkillEffect.IDLE:
            return f"its removal loses at most {max(high or 0.0, 0.0):.2f} of the score on these {count} tasks"
        case SkillEffect.CANNOT_TELL:
            return _why_untold(series, stopped)


def _why_untold(series: AuditSeries, stopped: str) -> str:
    test = series.test
    if test.gain is None:
        failed = next((one.reason for pair in series.pairs for one in pair if one.score is None), "")
        return f"nothing could be measured: {failed or stopped}"
    if test.effect is SkillEffect.IDLE:
        count = len(series.subject.tasks)
        return f"no rollout passed with it or without it: these {count} tasks are too hard to tell by"
    if test.left:
        return "a cap ended the audit before there was an answer; raise it to go on"
    if test.outstanding:
        return f"an effect as large may be chance among {test.skills} skills; raise --pairs"
    return f"{len(test.gains)} pairs were too few for an answer; raise --pairs"


def installed_skills(project: Project, ask: AuditAsk) -> tuple[Skill, ...]:
    """Read every skill of the project; one that cannot be read lies beside none."""
    found = []
    for one in project.discover().skills:
        try:
            found.append(project.target(Selection(one.path, ask.flags, folder=project.root)).skill())
        except UsageError:
            continue
    return tuple(found)


def find_disturbance(series: AuditSeries, installed: Sequence[Skill], skills: int) -> SiblingFinding:
    """Return whether a skill falls with the others beside it, and which of them does it alone.

    What was run without them is recorded, so each skill beside it costs its own side only.
    """
    name = series.subject.skill.name
    others = [one for one in installed if one.name != name]
    if not others:
        return SiblingFinding(name, "no other skill lies beside it")
    try:
        together = _beside(series, others, _ERROR / skills)
        if together.outcome is not Outcome.REJECT:
            words = f"is not shown to fall with the others beside it: {compared_words(together)}"
            return SiblingFinding(name, words)
        alone = [others[0].name] if len(others) == 1 else _each(series, others)
    except InvalidMeasurementError as error:
        return SiblingFinding(name, f"was not measured beside the others: {error}")
    words = f"falls with the others beside it: {compared_words(together)}; {together.reason}"
    words = words if alone else f"{words}; none of them alone is shown to do it"
    return SiblingFinding(name, words, fell=True, by=tuple(alone))


def with_disturbed(rows: Sequence[AuditedSkill], findings: Sequence[SiblingFinding]) -> list[AuditedSkill]:
    """Return each skill the names of those that it disturbs, none where that was not measured."""
    if not findings:
        return list(rows)
    found = {row.skill: tuple(one.skill for one in findings if row.skill in one.by) for row in rows}
    return [replace(row, disturbs=found[row.skill]) for row in rows]


def _each(series: AuditSeries, others: Sequence[Skill]) -> list[str]:
    error = _ERROR / len(others)
    return [one.name for one in others if _beside(series, [one], error).outcome is Outcome.REJECT]


def _beside(series: AuditSeries, others: Sequence[Skill], error: float) -> Verdict:
    """Compare a skill with some others beside it with the same skill alone."""
    subject, settings = series.subject, series.subject.target.settings
    order = list(subject.tasks)
    Random(f"{settings.seed}/audit/{subject.skill.name}").shuffle(order)

    def run(tasks: Sequence[Task], look: int) -> Pairs:
        repeat = Stream.AUDIT.repeat(look)
        requests = [
            RolloutRequest(subject.skill, task, repeat, beside=side) for side in ((), tuple(others)) for task in tasks
        ]
        return Pairs.halves(series.runner.rollouts(requests))

    return measure_harm(order, settings, run, error, subject.skill.name).verdict
