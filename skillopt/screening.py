"""The screen: each edit alone, on the tasks it cites, before it may join a candidate.

Owns what an edit alone must show. It is paired: the incumbent runs again on the same tasks with the same
trial, because a task that failed once by noise would wave anything through. Does not own the gate, which
decides about the candidate (gate, gating).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Final

from skillopt.documents import Skill
from skillopt.edits import Change, Edit, Op, apply_edits
from skillopt.errors import InvalidMeasurementError
from skillopt.gate import Metric
from skillopt.gating import first_failure
from skillopt.ports import RolloutRequest, Runner
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.tasks import Task

__all__ = ["SCREEN_TRIALS", "Screened", "screen"]

SCREEN_TRIALS: Final = 10_000
"""Trials from here on are the screen's, so that it never meets a rollout that an edit was derived from."""


@dataclass(frozen=True, slots=True)
class Screened:
    """What an edit alone came to.

    Args:
        change: The edit, applied alone.
        tasks: Tasks it was tried on that were measured with and without it; 0 tells nothing about the edit.
        before: Mean score of the incumbent on them, in [0, 1].
        after: Mean score with the edit.
        kept: Whether it may join a candidate.
        reason: Why, in words.
    """

    change: Change
    tasks: int
    before: float
    after: float
    kept: bool
    reason: str


def screen(
    runner: Runner,
    incumbent: Skill,
    changes: Sequence[Change],
    tasks: Mapping[str, Task],
    settings: Settings,
    trial: int,
) -> tuple[Screened, ...]:
    """Try each edit alone on the tasks it cites, all in one batch.

    Args:
        runner: Runs rollouts.
        incumbent: What the edits change.
        changes: Sound edits, each applied alone.
        tasks: Train tasks by id; an edit that cites none of them is tried on the first ones.
        settings: How many tasks and trials, and what is compared.
        trial: First trial, one that no earlier rollout of these tasks had.

    Raises:
        InvalidMeasurementError: No edit could be measured at all.
    """
    plans = [(change, _alone(incumbent, change.edit), _cited(change.edit, tasks, settings)) for change in changes]
    trials = range(trial, trial + settings.screen_trials)
    union = {task.id: task for _, _, cited in plans for task in cited}
    requests = [RolloutRequest(incumbent, task, at) for task in union.values() for at in trials]
    requests += [RolloutRequest(alone, task, at) for _, alone, cited in plans for task in cited for at in trials]
    rollouts = runner.rollouts(requests)
    found = {(rollout.skill_digest, rollout.task_id, rollout.trial): rollout for rollout in rollouts}
    screened = tuple(
        _judge(
            change,
            [
                (found[incumbent.digest, task.id, at], found[alone.digest, task.id, at])
                for task in cited
                for at in trials
            ],
            settings.metric,
        )
        for change, alone, cited in plans
    )
    if not any(one.tasks for one in screened):
        raise InvalidMeasurementError(f"screen: no edit could be measured{first_failure(rollouts)}")
    return screened


def _alone(incumbent: Skill, edit: Edit) -> Skill:
    return incumbent.with_document(apply_edits(incumbent.document, [edit]).document)


def _cited(edit: Edit, tasks: Mapping[str, Task], settings: Settings) -> list[Task]:
    cited = [tasks[name] for name in dict.fromkeys(edit.tasks) if name in tasks]
    return (cited or list(tasks.values()))[: settings.screen_tasks]


def _judge(change: Change, pairs: Sequence[tuple[Rollout, Rollout]], metric: Metric) -> Screened:
    """Keep what helps; a deletion, which saves tokens, may also leave all as it was."""
    scores = [
        (metric.of(before.score), metric.of(after.score))
        for before, after in pairs
        if before.score is not None and after.score is not None
    ]
    if not scores:
        return Screened(change, 0, 0.0, 0.0, kept=False, reason="not measured: each of its rollouts failed")
    before, after = fmean(old for old, _ in scores), fmean(new for _, new in scores)
    count = len({old.task_id for old, new in pairs if old.score is not None and new.score is not None})
    gain = after - before
    kept = gain > 0 or (gain == 0 and change.edit.op is Op.DELETE)
    found = f"alone on {count} of the tasks it cites {before:.3f} -> {after:.3f}"
    without = "it does harm" if gain < 0 else "it changes nothing there; cite more tasks that need it"
    reason = found if kept else f"{found}: {without}"
    return Screened(change, count, before, after, kept=kept, reason=reason)
