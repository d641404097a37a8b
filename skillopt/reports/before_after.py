"""How tasks went before a change and after it: which changed, and by which pair of rollouts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import Pairs
from skillopt.reports.html import print_page
from skillopt.reports.markdown import cited, cut_middle, details, list_names, paragraphs, print_markdown, quote_block
from skillopt.reports.rollouts import show_turns
from skillopt.rollouts import Rollout, Score, Trajectory
from skillopt.safety.plurals import count_noun
from skillopt.settings import Metric
from skillopt.tasks import Task

_MOST_TASKS: Final = 60
_MOST_ANSWER: Final = 6000
_HALF: Final = 0.5


class TaskChange(StrEnum):
    """What became of a task; one is `broken` when more than half of its repeats passed and that is over."""

    BROKEN = "broken"
    WORSE = "worse"
    BETTER = "better"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class DifferingTask:
    """A task that went differently, with the pair of its repeats that differs most."""

    task: Task
    change: TaskChange
    before: Rollout
    after: Rollout
    repeats: int
    passes: tuple[int, int]
    scores: tuple[float, float]


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """A comparison of two texts of a skill, task by task."""

    skill: str
    before: str
    after: str
    suite: str
    headline: str
    measured: int
    changed: Sequence[DifferingTask]
    run: str = ""


def find_differing_tasks(tasks: Iterable[Task], pairs: Pairs, metric: Metric) -> tuple[DifferingTask, ...]:
    """List the tasks that went differently, broken ones first, then by how much was lost."""
    measured: dict[str, list[tuple[Score, Score, Rollout, Rollout]]] = defaultdict(list)
    for before, after in zip(pairs.before, pairs.after, strict=True):
        if before.score is not None and after.score is not None:
            measured[before.task_id].append((before.score, after.score, before, after))
    order = list(TaskChange)
    rows = [(_changed(task, measured[task.id], metric)) for task in tasks if measured[task.id]]
    found = sorted(filter(None, rows), key=lambda row: (order.index(row[1].change), row[0], row[1].task.id))
    return tuple(one for _, one in found)


def describe_worst(changed: Sequence[DifferingTask], most: int = 3) -> str:
    """Show the tasks that lost most as Markdown to fold out, feedback before and after; empty when none lost."""
    lost = [one for one in changed if one.change in (TaskChange.BROKEN, TaskChange.WORSE)]
    shown = (
        details(
            f"{cited(one.task.id, 100)}: {_passed(one)} (score {_scores(one)})",
            paragraphs(*_sides([_feedback(rollout, 700)] for rollout in (one.before, one.after))),
        )
        for one in lost[:most]
    )
    return print_markdown(paragraphs(*shown), readable=True).strip()


def _changed(
    task: Task, pairs: Sequence[tuple[Score, Score, Rollout, Rollout]], metric: Metric
) -> tuple[float, DifferingTask] | None:
    """Return the mean gain of a task and what became of it, None when nothing did."""
    gains = [metric.of(after) - metric.of(before) for before, after, _, _ in pairs]
    gain = fmean(gains)
    passes = sum(before.passed for before, *_ in pairs), sum(after.passed for _, after, *_ in pairs)
    held = [share > _HALF * len(pairs) for share in passes]
    if not gain and held[0] == held[1]:
        return None
    flipped = held[0] != held[1]
    lost = held[0] if flipped else gain < 0
    if flipped:
        change = TaskChange.BROKEN if lost else TaskChange.FIXED
    else:
        change = TaskChange.WORSE if lost else TaskChange.BETTER
    _, _, before, after = pairs[gains.index(min(gains) if lost else max(gains))]
    scores = fmean(before.value for before, *_ in pairs), fmean(after.value for _, after, *_ in pairs)
    return gain, DifferingTask(task, change, before, after, repeats=len(pairs), passes=passes, scores=scores)


def _passed(one: DifferingTask) -> str:
    if one.repeats == 1:
        return " → ".join("passed" if count else "not passed" for count in one.passes)
    return f"{one.passes[0]} → {one.passes[1]} of {count_noun(one.repeats, 'repeat')} passed"


def _scores(one: DifferingTask) -> str:
    return f"{one.scores[0]:.2f} → {one.scores[1]:.2f}"


def _feedback(rollout: Rollout, most: int) -> str:
    said = rollout.score.feedback if rollout.score else ""
    text = said or rollout.reason
    return quote_block(cut_middle(text, most)) if text.strip() else "Nothing was found wrong."


def before_after_page(comparison: BeforeAfter) -> str:
    """Render the tasks that went differently as a page that needs nothing else."""
    changed = comparison.changed
    counts = [(change.value, sum(one.change is change for one in changed)) for change in TaskChange]
    named = ", ".join(f"{count} {name}" for name, count in counts if count)
    left_out = f" The first {_MOST_TASKS} are shown." if len(changed) > _MOST_TASKS else ""
    eyebrow = "before and after"
    eyebrow += f" · suite {cited(comparison.suite)}" if comparison.suite else ""
    eyebrow += f" · run {cited(comparison.run)}" if comparison.run else ""
    told = (
        f"Before is {cited(comparison.before)}, after is {cited(comparison.after)}. {len(changed):,} of "
        f"{comparison.measured:,} tasks went differently{f': {named}' if named else ''}.{left_out} Of a task with "
        "several repeats the pair that differs most is shown."
    )
    footer = (
        "Written by SkillOpt from recorded rollouts. These tasks judge the skill: whoever writes edits from what "
        "stands here should use other tasks to judge them."
    )
    text = paragraphs(cited(comparison.headline), told, *map(_shown, changed[:_MOST_TASKS]))
    return print_page(f"{comparison.skill}: before and after", eyebrow, text, heading=comparison.skill, footer=footer)


def _shown(one: DifferingTask) -> str:
    rollouts = (one.before, one.after)
    answers = [_answer(rollout.trajectory) for rollout in rollouts]
    return paragraphs(
        *(
            f"## {cited(one.task.id)} {one.change.value}: {_passed(one)}, score {_scores(one)}",
            "### Prompt",
            quote_block(cut_middle(one.task.prompt, 3000)),
            "### Feedback",
            *_sides([_feedback(rollout, 3000)] for rollout in rollouts),
            "### Answer",
            *_sides([quote_block(cut_middle(text, _MOST_ANSWER))] for text in answers),
            details(
                "Both trajectories",
                paragraphs(*_sides([_facts(rollout), *show_turns(rollout.trajectory)] for rollout in rollouts)),
            ),
        )
    )


def _sides(parts: Iterable[Iterable[str]]) -> Iterator[str]:
    for name, shown in zip(("Before", "After"), parts, strict=True):
        yield f"{name}:"
        yield from shown


def _facts(rollout: Rollout) -> str:
    files = rollout.trajectory.files_changed
    changed = f", files changed: {list_names(files, 20)}" if files else ""
    return f"{rollout.status.value}, repeat {rollout.repeat}{changed}"


def _answer(trajectory: Trajectory) -> str:
    """Return the final answer; where the work is in files, the last that the target wrote."""
    said = (message.text for message in reversed(trajectory.messages) if message.role == "assistant")
    return trajectory.answer or next((text for text in said if text.strip()), "")
