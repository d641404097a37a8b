"""Which skills an installed skill disturbs: its siblings' tasks are run with it beside them and without.

First all other skills of the project lie beside a skill, as its users have them. Only where it falls with them, each of
them is put beside it alone, so that a project whose skills do not disturb each other is measured with few rollouts.
"""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from skillopt.audit.findings import AuditAsk, AuditedSkill, SiblingFinding
from skillopt.audit.series import AuditSeries
from skillopt.errors import InvalidMeasurementError, UsageError
from skillopt.gate.comparison import Outcome, Pairs, Verdict
from skillopt.gate.headline import compared_words
from skillopt.gate.here import measure_harm
from skillopt.project import Project, Selection
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Stream
from skillopt.skills.document import Skill
from skillopt.tasks import Task

__all__ = ["find_disturbance", "installed_skills", "with_disturbed"]

_ERROR = 0.1
"""Chance of saying that some skill falls where none does, and, where one does, of naming a wrong one: all together."""


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
        rollouts = list(series.runner.rollouts(requests))
        return Pairs(rollouts[: len(tasks)], rollouts[len(tasks) :])

    return measure_harm(order, settings, run, error, subject.skill.name).verdict
