"""Shrink a skill of a project: record the run, and commit the shorter text as a version, or keep it as the draft."""

import math
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from skillopt.execution.recording import config_of
from skillopt.execution.runner import RunObserver
from skillopt.figures import Headline, headline_of_verdict
from skillopt.gate.decide import LOSS_ERRORS, least_margin
from skillopt.loop.events import GateDecided, TextScreened
from skillopt.project import Selection
from skillopt.rollouts import Usage
from skillopt.runs.plan import RunPlan, Start, incumbent_of, make_plan, record_run
from skillopt.runs.run import DraftState, RecordedRun
from skillopt.shrink.shrinking import SHRINK, expect_shrinkable, shrink, shrink_tasks
from skillopt.shrink.units import find_units
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.storage.ledger import Ledger
from skillopt.storage.locks import mark_reported, writer_lock

_PROPOSER: Final = "ablation"
_LEAST: Final = 5
"""Rollouts of a task where no unit is needed: start, search, and both texts of the verdict."""


@dataclass(frozen=True, slots=True)
class ShrinkForecast:
    """What shrinking a skill can show and takes, before anything is run."""

    skill: str
    tokens: int
    units: int
    tasks: int
    can_show: str
    rollouts: tuple[int, int]

    @property
    def words(self) -> str:
        """All of it: what it takes, and what it can show."""
        least, most = self.rollouts
        return (
            f"{self.units} units of text, about {self.tokens:,} tokens, on {self.tasks} tasks: about {least:,} "
            f"rollouts if no unit is needed, {most:,} if a quarter is.\n{self.can_show}"
        )


@dataclass(frozen=True, slots=True)
class Shrunk:
    """Result of shrinking a skill."""

    run: str
    skill: str
    branch: str
    reason: str
    version: str
    draft: DraftState | None
    tokens_before: int
    tokens_after: int
    headline: Headline | None
    units: tuple[TextScreened, ...]
    rollouts: int
    calls: int
    paid_rollouts: int
    spent: Mapping[str, Usage]


def forecast_shrink(selection: Selection, *, start: Start = "auto") -> ShrinkForecast:
    """Say what shrinking a skill can show and takes; runs nothing, and refuses what could not be shrunk."""
    plan = make_plan(selection, proposer=_PROPOSER)
    return _forecast(plan, incumbent_of(plan.target, plan.repository, start))


def _forecast(plan: RunPlan, skill: Skill) -> ShrinkForecast:
    tasks = shrink_tasks(plan.suite)
    expect_shrinkable(skill, plan.suite, plan.target.settings)
    judging = len(tasks)
    margin = least_margin(judging, LOSS_ERRORS[0])
    few = f"{judging} tasks are too few for a verdict: the result will be a draft"
    shows = few if margin is None else f"{judging} tasks can rule out that {margin:.0%} of tasks passed or more is lost"
    units = len(find_units(skill.document))
    # Where a quarter of the units is needed, fitted to `python -m benchmarks.shrink`.
    most = round(_LEAST * judging + units / 4 * (2 * math.log2(units) + 8))
    return ShrinkForecast(
        skill.name, estimate_tokens(skill.text), units, judging, can_show=shows, rollouts=(_LEAST * judging, most)
    )


def shrink_skill(
    selection: Selection,
    *,
    drop_unexercised: bool = False,
    start: Start = "auto",
    observer: RunObserver | None = None,
) -> Shrunk:
    """Shrink a skill, or go on with that; what loses nothing is a version, anything else that is shorter the draft."""
    plan = make_plan(selection, proposer=_PROPOSER)
    observer = observer or RunObserver()
    root, name = selection.project().root, plan.target.name
    with writer_lock(root, name), closing(Ledger.open(root)) as ledger:
        skill = incumbent_of(plan.target, plan.repository, start)
        observer.notice(_forecast(plan, skill).words)
        settings = plan.target.settings
        config = config_of(settings, (*plan.identities, f"{SHRINK} {drop_unexercised}"))
        record = record_run(plan, ledger, skill, config, settings.seed)
        run = RecordedRun(plan, ledger, record, observer)
        events, ended = run.drive(shrink(skill, plan.suite, settings, run.runner, drop_unexercised=drop_unexercised))
    decided = next((event for event in reversed(events) if isinstance(event, GateDecided)), None)
    mark_reported(root, record.id)
    return Shrunk(
        run=record.id,
        skill=name,
        branch=f"skillopt/{name}",
        reason=ended.reason,
        version=run.commits[-1] if run.commits else "",
        draft=run.draft,
        tokens_before=estimate_tokens(skill.text),
        tokens_after=estimate_tokens(decided.text if decided else skill.text),
        headline=headline_of_verdict(decided.verdict) if decided else None,
        units=tuple(event for event in events if isinstance(event, TextScreened)),
        rollouts=ended.rollouts,
        calls=ended.calls,
        paid_rollouts=run.runner.paid_rollouts,
        spent=plan.drivers.meter.by_role,
    )
