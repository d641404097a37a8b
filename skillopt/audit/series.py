"""The pairs of rollouts of one skill, with it and without, and what they show."""

import math
from collections.abc import Callable, Sequence
from random import Random

from skillopt.audit.findings import AuditAsk, AuditedSkill, AuditSubject, SkillCosts, capabilities_of
from skillopt.execution.runner import RecordedRunner
from skillopt.gate.skill_effect import EffectTest, SkillEffect, draw_tasks
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Stream, Usage
from skillopt.settings import Metric
from skillopt.skills.document import estimate_tokens
from skillopt.skills.frontmatter import listed_description


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
