"""`skillopt evaluate --all --of none`: whether each skill of a project helps here, against no skill."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from skillopt.commands.spending import ask_to_pay, payment_of
from skillopt.errors import InfrastructureError, UsageError
from skillopt.execution.drivers import Given, caps_of, load_drivers
from skillopt.execution.metering import Caps, Meter, OutOfBudget
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.figures import headline_of_verdict
from skillopt.gate.comparison import Pairs, compare, first_failure
from skillopt.gate.decide import MARGINS, Question, Terms, Verdict, decide, rule_out_loss
from skillopt.project import Project, Selection, Target
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Stream
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun
from skillopt.settings import Settings
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split

_EFFECT_ERROR: Final = 0.1
"""Chance to say of any skill that it helps or hurts where it does not, over all skills together."""


class SkillEffect(StrEnum):
    """What a skill does for its tasks, against no skill; an idle one can go, or stay, and nothing is lost."""

    HELPS = "helps"
    IDLE = "idle"
    HURTS = "hurts"
    CANNOT_TELL = "cannot tell"


@dataclass(frozen=True, slots=True)
class SkillEffectRow:
    """What was found of one skill: tasks passed without it and with it, and why or what next."""

    skill: str
    effect: SkillEffect
    passed: str
    reason: str

    def __str__(self) -> str:
        return escape_terminal(f"{self.skill}: {self.effect}{self.passed and f', {self.passed}'}: {self.reason}")


def evaluate_all(
    flags: Mapping[str, object], split: Split, repeats: int, observer: RunObserver, *, yes: bool
) -> list[SkillEffectRow]:
    """Run every skill that has tasks without and with it; what is wrong with one of them is said in its row."""
    project = Project.find(Path.cwd())
    rows, chosen, named = list[SkillEffectRow](), list[tuple[Target, list[RolloutRequest]]](), list[str]()
    for found in project.discover().skills:
        target = project.target(Selection(found.name, flags, folder=project.root))
        try:
            skill, tasks = target.skill(), target.suite().tasks_to_evaluate(split)
        except UsageError as error:
            rows.append(SkillEffectRow(found.name, SkillEffect.CANNOT_TELL, "", str(error)))
            continue
        drawn = [(task, Stream.NO_SKILL.repeat(number)) for number in range(repeats) for task in tasks]
        chosen.append((target, [RolloutRequest(side, *one) for side in (None, skill) for one in drawn]))
        named += [target.settings.harness, target.settings.judge or target.settings.model]
    wanted = f"{count_noun(len(chosen), 'skill')}, {count_noun(sum(len(one) for _, one in chosen), 'rollout')} or fewer"
    settings, most, stopped = project.settings(flags), flags.get("max_rollouts"), ""
    ask_to_pay(payment_of(project.root, settings, named), wanted, yes=yes)
    given = Given(meter=Meter(caps_of(settings)), allowance=Meter(Caps(rollouts=int(str(most)))) if most else None)
    with closing(Ledger.open(project.root)) as ledger:
        for target, requests in chosen:
            drivers = load_drivers(target.settings, target.suite(), project.root, given, optimizer=False)
            try:
                pairs = Pairs.halves(
                    [] if stopped else RecordedRunner(ledger, "", drivers, observer).rollouts(requests)
                )
            except OutOfBudget as error:
                pairs, stopped = Pairs(), str(error)
            effect, verdict, margin = find_effect(pairs, target.settings, len(chosen))
            headline, failed = headline_of_verdict(verdict), first_failure(pairs.rollouts) or stopped
            reason = {
                SkillEffect.HELPS: f"what of it the tasks need: skillopt shrink {target.name} --dry-run",
                SkillEffect.HURTS: f"next: skillopt optimize {target.name}",
                SkillEffect.IDLE: f"its removal loses less than {margin:.0%} of the tasks passed",
                SkillEffect.CANNOT_TELL: failed.removeprefix("; ") or "too few tasks, or too little differs",
            }[effect]
            rows.append(SkillEffectRow(target.name, effect, headline.words if headline else "", reason))
    if not any(row.passed for row in rows):
        found_instead = "; ".join(f"{row.skill}: {row.reason}" for row in rows) or "no skills"
        raise InfrastructureError(f"expected a skill that can be measured, found {found_instead}")
    return rows


def find_effect(pairs: Pairs, settings: Settings, skills: int) -> tuple[SkillEffect, Verdict, float]:
    """Compare a skill, one of so many, with no skill; an idle one comes with the margin that removal cannot lose."""
    error = _EFFECT_ERROR / 2 / skills
    forth, back = (compare(one, settings.metric, settings.coverage) for one in (pairs, pairs.exchanged))
    found = decide(forth, Question.BETTER, error)
    if found.accepted:
        return SkillEffect.HELPS, found, MARGINS[0]
    if decide(back, Question.BETTER, error).accepted:
        return SkillEffect.HURTS, found, MARGINS[0]
    (removal, margin), (keeping, _) = (rule_out_loss(one, _EFFECT_ERROR, Terms()) for one in (back, forth))
    passed = any(one.score and one.score.passed for one in pairs.rollouts)
    idle = passed and removal.accepted and keeping.accepted
    return SkillEffect.IDLE if idle else SkillEffect.CANNOT_TELL, found, margin
