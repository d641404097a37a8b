"""Screen: each edit alone, on the tasks it cites, before it may join the draft.

Where an edit does better than what was seen before, the draft without it runs again on the same task with the same
repeat: a task that failed once by noise would otherwise pass anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Final

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Outcome
from skillopt.gate.gate import first_failure
from skillopt.gate.sequential_test import SequentialPlan, SequentialTest, conclude, observe
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout
from skillopt.settings import Metric, Settings
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change, apply_edits
from skillopt.tasks import Task

__all__ = ["Known", "Screened", "screen"]

_CONFIDENCE: Final = 0.75
"""That an edit helps: low, because the gate decides about all edits together, on other tasks."""

_MOST_TASKS: Final = 4
"""Tasks that an edit is tried on; the others it cites fail for the same reason."""

Known = tuple[Task, float]
"""A task, and what it scored when it was run before."""

_Request = tuple[Skill, Task, int]


@dataclass(frozen=True, slots=True)
class Screened:
    """What an edit alone came to.

    Args:
        change: The edit, applied alone.
        tasks: Tasks it was tried on; 0 tells nothing about the edit.
        before: Mean score without it where both were run, in [0, 1].
        after: Mean score with it where it was run.
        kept: Whether it may join the draft.
        reason: Why, in words.
        solved: Tasks that passed with it.
        passing: Tasks that passed without it.
    """

    change: Change
    tasks: int
    before: float
    after: float
    kept: bool
    reason: str
    solved: tuple[str, ...]
    passing: tuple[str, ...]


@dataclass(slots=True)
class _Tried:
    """An edit on its way through the screen."""

    change: Change
    alone: Skill
    tasks: Sequence[Task]
    test: SequentialTest
    with_it: list[Rollout] = field(default_factory=list)
    without: list[Rollout] = field(default_factory=list)
    missing: int = 0

    def request(self, number: int, first: int) -> _Request:
        """Give the rollout of a round: task after task, then all again with the next repeat."""
        return self.alone, self.tasks[number % len(self.tasks)], first + number // len(self.tasks)


def screen(
    runner: Runner,
    draft: Skill,
    changes: Sequence[Change],
    tasks: Mapping[str, Known],
    settings: Settings,
    repeat: int,
) -> tuple[Screened, ...]:
    """Try each edit alone on the tasks it cites, all edits side by side.

    Args:
        runner: Runs rollouts.
        draft: What the edits change.
        changes: Sound edits, each applied alone.
        tasks: Train tasks by id, with what they scored when the edits were derived, else 0; an edit that cites none
            of them is tried on the first ones.
        settings: Most rollouts of an edit, and the metric.
        repeat: First repeat, one that no earlier rollout of these tasks had.

    Raises:
        InvalidMeasurementError: More rollouts of an edit that does not seem to help are missing than were measured.
    """
    plan = SequentialPlan(settings.screen_rollouts, _CONFIDENCE, least_chance=0.0)
    tried = [_begin(draft, change, tasks, plan) for change in changes]
    failed: list[Rollout] = []
    for number in range(settings.screen_rollouts):
        going = [(one, one.request(number, repeat)) for one in tried if _open(one)]
        found = _run(runner, [request for _, request in going])
        better = [pair for pair in going if _better(found[_key(pair[1])], tasks, settings.metric)]
        found |= _run(runner, [(draft, task, at) for _, (_, task, at) in better])
        for one, (alone, task, at) in going:
            _note(one, found[_key((alone, task, at))], found.get(_key((draft, task, at))), settings.metric)
        failed += [rollout for rollout in found.values() if rollout.score is None]
    judged = tuple(_judged(one, settings.metric) for one in tried)
    for one, found_out in zip(tried, judged, strict=True):
        # A provider that dies must not look like an edit that does not help.
        if not found_out.kept and one.missing > len(one.with_it):
            lost = f"{one.missing} of {one.missing + len(one.with_it)} rollouts of {one.change.edit.id} are missing"
            raise InvalidMeasurementError(f"screen: {lost}{first_failure(failed)}")
    return judged


def _begin(draft: Skill, change: Change, tasks: Mapping[str, Known], plan: SequentialPlan) -> _Tried:
    names = [name for name in dict.fromkeys(change.edit.tasks) if name in tasks] or list(tasks)
    cited = [tasks[name][0] for name in names[:_MOST_TASKS]]
    alone = draft.with_document(apply_edits(draft.document, [change.edit]).document)
    return _Tried(change, alone, cited, SequentialTest(plan))


def _open(one: _Tried) -> bool:
    """Tell whether an edit needs more rollouts; one that has not helped so far does not."""
    measured = one.test.measured
    return conclude(one.test) is None and (not measured or sum(measured) > 0)


def _run(runner: Runner, requests: Sequence[_Request]) -> dict[tuple[str, str, int], Rollout]:
    """Run each rollout once, though several edits may ask for it."""
    wanted = {_key(request): RolloutRequest(*request) for request in requests}
    return dict(zip(wanted, runner.rollouts(list(wanted.values())), strict=True)) if wanted else {}


def _key(request: _Request) -> tuple[str, str, int]:
    skill, task, repeat = request
    return skill.digest, task.id, repeat


def _better(rollout: Rollout, tasks: Mapping[str, Known], metric: Metric) -> bool:
    return rollout.score is not None and metric.of(rollout.score) > tasks[rollout.task_id][1]


def _note(one: _Tried, with_it: Rollout, without: Rollout | None, metric: Metric) -> None:
    """Count the pair; what did no better than what was seen before changed nothing."""
    difference: float | None = None
    one.missing += with_it.score is None or (without is not None and without.score is None)
    if with_it.score is not None:
        one.with_it.append(with_it)
        difference = 0.0
    if with_it.score is not None and without is not None:
        difference = None if without.score is None else _sign(metric.of(with_it.score) - metric.of(without.score))
        one.without += [without] if without.score is not None else []
    one.test = observe(one.test, [difference])


def _sign(difference: float) -> float:
    """Count a pair as won, lost or tied: in one task a rule may be worth little of the score, and show every time."""
    return float((difference > 0) - (difference < 0))


def _judged(one: _Tried, metric: Metric) -> Screened:
    if not one.with_it:
        reason = "not measured: each of its rollouts failed"
        return Screened(one.change, 0, 0.0, 0.0, kept=False, reason=reason, solved=(), passing=())
    after = fmean(metric.of(rollout.score) for rollout in one.with_it if rollout.score is not None)
    before = fmean([metric.of(rollout.score) for rollout in one.without if rollout.score is not None] or [0.0])
    kept, gain = conclude(one.test) is Outcome.ACCEPT, sum(one.test.measured)
    tasks = len({rollout.task_id for rollout in one.with_it})
    verdict = "it helps" if kept else "it does harm" if gain < 0 else "no clear gain" if gain else "it changes nothing"
    won, lost = (sum(difference * sign > 0 for difference in one.test.measured) for sign in (1, -1))
    runs = _count(len(one.with_it))
    reason = f"alone on {tasks} of the tasks it cites, {runs}, {won} better and {lost} worse: {verdict}"
    return Screened(
        one.change,
        tasks,
        before,
        after,
        kept,
        reason,
        _passed(one.with_it),
        _passed(one.without),
    )


def _count(rollouts: int) -> str:
    return "1 rollout" if rollouts == 1 else f"{rollouts} rollouts"


def _passed(rollouts: Sequence[Rollout]) -> tuple[str, ...]:
    names = (rollout.task_id for rollout in rollouts if rollout.score is not None and rollout.score.passed)
    return tuple(dict.fromkeys(names))
