"""How tasks went before a change and after it: which changed, by which pair of rollouts, and where those two part."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from statistics import fmean
from typing import Final

from skillopt.gate.pairs import Pairs
from skillopt.reports.blocks import (
    Details,
    Diff,
    Heading,
    Paragraph,
    ReportBlock,
    Sides,
    Text,
    cited,
    cut_middle,
    list_names,
    paragraphs,
)
from skillopt.reports.html import print_page
from skillopt.reports.markdown import print_markdown
from skillopt.reports.run_page import show_turns
from skillopt.rollouts import Rollout, Trajectory
from skillopt.safety.plurals import count_noun
from skillopt.settings import Metric
from skillopt.tasks import Task

__all__ = [
    "BeforeAfter",
    "DifferingTask",
    "Parting",
    "TaskChange",
    "before_after_page",
    "describe_worst",
    "find_differing_tasks",
    "find_parting",
    "task_anchor",
]

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
class Parting:
    """The first thing that the target did differently: its number from 1, what it is, and both sides."""

    number: int
    what: str
    before: str
    after: str


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
    parting: Parting | None


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
    measured: dict[str, list[_Pair]] = defaultdict(list)
    for before, after in zip(pairs.before, pairs.after, strict=True):
        if before.score is not None and after.score is not None:
            gain = metric.of(after.score) - metric.of(before.score)
            passes = (before.score.passed, after.score.passed)
            measured[before.task_id].append(_Pair(before, after, (before.score.value, after.score.value), passes, gain))
    order = list(TaskChange)
    found = [(_changed(task, measured[task.id]), measured[task.id]) for task in tasks if measured[task.id]]
    rows = [(one, fmean(pair.gain for pair in mine)) for one, mine in found if one is not None]
    rows.sort(key=lambda row: (order.index(row[0].change), row[1], row[0].task.id))
    return tuple(one for one, _ in rows)


def find_parting(before: Trajectory, after: Trajectory) -> Parting | None:
    """Find the first thing that the target did differently.

    Where it used tools, that is the first tool use with another name or other arguments; results do not count, because
    to read the skill itself gives another text. Else it is the first line that it wrote differently.
    """
    for what, read in (("tool use", _tool_uses), ("line", _lines)):
        one, other = read(before), read(after)
        for at in range(max(len(one), len(other))):
            sides = one[at : at + 1], other[at : at + 1]
            if sides[0] != sides[1]:
                return Parting(at + 1, what, "".join(sides[0]), "".join(sides[1]))
    return None


def describe_worst(changed: Sequence[DifferingTask], most: int = 3) -> str:
    """Show the tasks that lost most as Markdown to fold out, feedback before and after; empty when none lost."""
    lost = [one for one in changed if one.change in (TaskChange.BROKEN, TaskChange.WORSE)]
    return print_markdown([_described(one) for one in lost[:most]], readable=True).strip()


def task_anchor(task: str) -> str:
    """Return the name under which a task stands on the page; ids can hold what no address can.

    >>> task_anchor("val-007")
    'task-val-007'
    """
    plain = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_") else "-" for sign in task)
    return f"task-{plain}" if plain == task else f"task-{plain[:40]}-{sha256(task.encode()).hexdigest()[:8]}"


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two rollouts of one repeat: scores and passes before and after, and the gain in the metric."""

    before: Rollout
    after: Rollout
    scores: tuple[float, float]
    passes: tuple[bool, bool]
    gain: float


def _changed(task: Task, pairs: Sequence[_Pair]) -> DifferingTask | None:
    """Return what became of a task, None when nothing did."""
    gain = fmean(pair.gain for pair in pairs)
    passes = sum(pair.passes[0] for pair in pairs), sum(pair.passes[1] for pair in pairs)
    held = [share > _HALF * len(pairs) for share in passes]
    if not gain and held[0] == held[1]:
        return None
    lost = held[0] if held[0] != held[1] else gain < 0
    if held[0] != held[1]:
        change = TaskChange.BROKEN if lost else TaskChange.FIXED
    else:
        change = TaskChange.WORSE if lost else TaskChange.BETTER
    shown = (min if lost else max)(pairs, key=lambda pair: pair.gain)
    scores = fmean(pair.scores[0] for pair in pairs), fmean(pair.scores[1] for pair in pairs)
    parting = find_parting(shown.before.trajectory, shown.after.trajectory)
    return DifferingTask(task, change, shown.before, shown.after, len(pairs), passes, scores, parting)


def _tool_uses(trajectory: Trajectory) -> list[str]:
    calls = [call for message in trajectory.messages for call in message.tool_calls]
    return [f"{call.name} {call.arguments}" for call in calls]


def _lines(trajectory: Trajectory) -> list[str]:
    """List the lines that the target wrote, and at last its answer where that is no message."""
    texts = [message.text for message in trajectory.messages if message.role == "assistant"]
    last = [trajectory.answer] if trajectory.answer and trajectory.answer not in texts[-1:] else []
    return [line for text in (*texts, *last) for line in text.splitlines() if line.strip()]


def _described(one: DifferingTask) -> Details:
    return Details(
        f"{cited(one.task.id, 100)}: {_passed(one)} (score {_scores(one)})",
        [
            Sides([("Before", [_feedback(one.before, 700)]), ("After", [_feedback(one.after, 700)])]),
            *_parting(one, 160),
        ],
    )


def _passed(one: DifferingTask) -> str:
    if one.repeats == 1:
        return " → ".join("passed" if count else "not passed" for count in one.passes)
    return f"{one.passes[0]} → {one.passes[1]} of {count_noun(one.repeats, 'repeat')} passed"


def _scores(one: DifferingTask) -> str:
    return f"{one.scores[0]:.2f} → {one.scores[1]:.2f}"


def _feedback(rollout: Rollout, most: int) -> ReportBlock:
    said = rollout.score.feedback if rollout.score else ""
    text = said or rollout.reason
    return Text(cut_middle(text, most)) if text.strip() else Paragraph("Nothing was found wrong.")


def _parting(one: DifferingTask, most: int) -> list[ReportBlock]:
    if one.parting is None:
        return []
    sides = [cited(" ".join(text.split()), most) or "nothing more" for text in (one.parting.before, one.parting.after)]
    where = f"{one.parting.what} {one.parting.number}"
    return paragraphs(f"The two part at {where}: before {sides[0]}, after {sides[1]}.")


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
    blocks = [Paragraph(cited(comparison.headline)), Paragraph(told)]
    footer = (
        "Written by SkillOpt from recorded rollouts. These tasks judge the skill: whoever writes edits from what "
        "stands here should use other tasks to judge them."
    )
    return print_page(
        f"{comparison.skill}: before and after",
        eyebrow,
        [*blocks, *(block for one in changed[:_MOST_TASKS] for block in _shown(one))],
        heading=comparison.skill,
        footer=footer,
    )


def _shown(one: DifferingTask) -> list[ReportBlock]:
    rollouts = (one.before, one.after)
    answers = [_answer(rollout.trajectory) for rollout in rollouts]
    short = max(map(len, answers)) <= _MOST_ANSWER
    parting = _parting(one, 1500) or paragraphs("The target did and wrote the same on both sides.")
    return [
        Heading(
            f"{cited(one.task.id)} {one.change.value}: {_passed(one)}, score {_scores(one)}",
            2,
            task_anchor(one.task.id),
        ),
        Heading("Prompt", 3),
        Text(cut_middle(one.task.prompt, 3000)),
        Heading("Feedback", 3),
        _sides([_feedback(rollout, 3000)] for rollout in rollouts),
        *parting,
        Heading("Answer", 3),
        Diff(*answers)
        if short and answers[0] != answers[1]
        else _sides([Text(cut_middle(text, _MOST_ANSWER))] for text in answers),
        Details(
            "Both trajectories", [_sides([*_facts(rollout), *show_turns(rollout.trajectory)] for rollout in rollouts)]
        ),
    ]


def _sides(parts: Iterable[Sequence[ReportBlock]]) -> Sides:
    return Sides(list(zip(("before", "after"), parts, strict=True)))


def _facts(rollout: Rollout) -> list[ReportBlock]:
    files = rollout.trajectory.files_changed
    changed = f", files changed: {list_names(files, 20)}" if files else ""
    return paragraphs(f"{rollout.status.value}, repeat {rollout.repeat}{changed}")


def _answer(trajectory: Trajectory) -> str:
    """Return the final answer; where the work is in files, the last that the target wrote."""
    said = (message.text for message in reversed(trajectory.messages) if message.role == "assistant")
    return trajectory.answer or next((text for text in said if text.strip()), "")
