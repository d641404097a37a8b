"""How tasks went before a change and after it: which changed, and by which pair of rollouts."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import Pairs
from skillopt.reports.html import print_page
from skillopt.reports.markdown import cited, cut_middle, details, paragraphs, print_markdown, quote_block
from skillopt.reports.rollouts import show_turns
from skillopt.rollouts import Rollout, Trajectory
from skillopt.safety.escaping import count_noun
from skillopt.settings import Metric
from skillopt.tasks import Task

_MOST_TASKS: Final = 60  # of each both trajectories, so that the page stays below five megabytes
_MOST_ANSWER: Final = 6000  # a page of text
_MOST_SHOWN_ANSWER: Final = 400  # in a comment: five lines


class TaskChange(StrEnum):
    """What became of a task; one is `broken` when more than half of its repeats passed and that is over."""

    BROKEN = "broken"
    WORSE = "worse"
    BETTER = "better"
    FIXED = "fixed"


@dataclass(frozen=True, slots=True)
class DifferingTask:
    """A task that went differently, by how much, with the pair of its repeats that differs most."""

    task: Task
    change: TaskChange
    gain: float
    before: Rollout
    after: Rollout
    repeats: int
    passes: tuple[int, int]
    scores: tuple[float, float]

    @property
    def passed(self) -> str:
        """How its repeats passed before and after, in words."""
        if self.repeats == 1:
            return " → ".join("passed" if count else "not passed" for count in self.passes)
        return f"{self.passes[0]} → {self.passes[1]} of {count_noun(self.repeats, 'repeat')} passed"

    @property
    def score(self) -> str:
        """Its mean score before and after."""
        return f"score {self.scores[0]:.2f} → {self.scores[1]:.2f}"


def find_differing_tasks(tasks: Iterable[Task], pairs: Pairs, metric: Metric) -> tuple[DifferingTask, ...]:
    """List the tasks that went differently, broken ones first, then by how much was lost."""
    measured: dict[str, list[tuple[Rollout, Rollout]]] = defaultdict(list)
    for before, after in zip(pairs.before, pairs.after, strict=True):
        if before.score is not None and after.score is not None:
            measured[before.task_id].append((before, after))
    order = list(TaskChange)
    found = filter(None, (_differing(task, measured[task.id], metric) for task in tasks if measured[task.id]))
    return tuple(sorted(found, key=lambda one: (order.index(one.change), one.gain, one.task.id)))


def _differing(task: Task, pairs: Sequence[tuple[Rollout, Rollout]], metric: Metric) -> DifferingTask | None:
    """Return what became of a task whose pairs all have scores; None when nothing did."""
    old, new = ([rollout.score for rollout in side if rollout.score] for side in zip(*pairs, strict=True))
    gains = [metric.of(after) - metric.of(before) for before, after in zip(old, new, strict=True)]
    gain, passes = fmean(gains), (sum(one.passed for one in old), sum(one.passed for one in new))
    held, holds = (2 * passed > len(pairs) for passed in passes)
    if held != holds:
        change = TaskChange.BROKEN if held else TaskChange.FIXED
    elif gain:
        change = TaskChange.WORSE if gain < 0 else TaskChange.BETTER
    else:
        return None
    lost = change in (TaskChange.BROKEN, TaskChange.WORSE)
    before, after = pairs[gains.index(min(gains) if lost else max(gains))]
    scores = fmean(one.value for one in old), fmean(one.value for one in new)
    return DifferingTask(task, change, gain, before, after, repeats=len(pairs), passes=passes, scores=scores)


def describe_worst(changed: Sequence[DifferingTask], most: int = 3) -> str:
    """Show the tasks that lost most as Markdown to fold out, with both answers; empty when none lost."""
    lost = [one for one in changed if one.change in (TaskChange.BROKEN, TaskChange.WORSE)]
    shown = (
        details(
            f"{cited(one.task.id, 100)}: {one.passed} ({one.score})",
            paragraphs(*_sides(_answered(rollout) for rollout in (one.before, one.after))),
        )
        for one in lost[:most]
    )
    return print_markdown(paragraphs(*shown), readable=True).strip()


def _answered(rollout: Rollout) -> Iterator[str]:
    """Show the end of an answer, and what was found wrong with it."""
    answer = cut_middle(_answer(rollout.trajectory).strip(), _MOST_SHOWN_ANSWER)
    yield quote_block(answer) if answer else "No answer in words."
    if rollout.score and rollout.score.feedback.strip():
        yield f"Found wrong:\n\n{_feedback(rollout, 700)}"


def _feedback(rollout: Rollout, most: int) -> str:
    text = (rollout.score.feedback if rollout.score else "") or rollout.reason
    return quote_block(cut_middle(text, most)) if text.strip() else "Nothing was found wrong."


def before_after_page(
    skill: str, sides: tuple[str, str], headline: str, measured: int, changed: Sequence[DifferingTask]
) -> str:
    """Render the tasks that went differently under two texts of a skill as a page that needs nothing else."""
    counts = [(change.value, sum(one.change is change for one in changed)) for change in TaskChange]
    named = ", ".join(f"{count} {name}" for name, count in counts if count)
    left_out = f" The first {_MOST_TASKS} are shown." if len(changed) > _MOST_TASKS else ""
    told = (
        f"Before is {cited(sides[0])}, after is {cited(sides[1])}. {len(changed):,} of "
        f"{measured:,} tasks went differently{f': {named}' if named else ''}.{left_out} Of a task with "
        "several repeats the pair that differs most is shown."
    )
    footer = (
        "Written by SkillOpt from recorded rollouts. These tasks judge the skill: whoever writes edits from what "
        "stands here should use other tasks to judge them."
    )
    text = paragraphs(cited(headline), told, *map(_shown, changed[:_MOST_TASKS]))
    return print_page(skill, "before and after", text, footer)


def _shown(one: DifferingTask) -> str:
    rollouts = (one.before, one.after)
    parts = (
        f"## {cited(one.task.id)} {one.change.value}: {one.passed}, {one.score}",
        "### Prompt",
        quote_block(cut_middle(one.task.prompt, 3000)),
        "### Feedback",
        *_sides([_feedback(rollout, 3000)] for rollout in rollouts),
        "### Answer",
        *_sides([quote_block(cut_middle(_answer(rollout.trajectory), _MOST_ANSWER))] for rollout in rollouts),
        details("Both trajectories", paragraphs(*_sides(show_turns(rollout.trajectory) for rollout in rollouts))),
    )
    return paragraphs(*parts)


def _sides(parts: Iterable[Iterable[str]]) -> Iterator[str]:
    for name, shown in zip(("Before", "After"), parts, strict=True):
        yield f"{name}:"
        yield from shown


def _answer(trajectory: Trajectory) -> str:
    """Return the final answer; where the work is in files, the last that the target wrote."""
    said = (message.text for message in reversed(trajectory.messages) if message.role == "assistant")
    return trajectory.answer or next((text for text in said if text.strip()), "")
