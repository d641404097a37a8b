"""Recorded rollouts on pages: those of a run, and those of tasks that went differently before and after a change."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Final

from skillopt.gate.comparison import Pairs
from skillopt.reports.html import print_page
from skillopt.reports.markdown import cited, cut_middle, details, list_names, paragraphs, print_markdown, quote_block
from skillopt.reports.view import SEEN_SPLITS, RunView
from skillopt.rollouts import Message, Rollout, Trajectory, repeat_number
from skillopt.safety.escaping import count_noun
from skillopt.settings import Metric
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Task

_MOST_ROLLOUTS: Final = 60  # with `_ROLLOUT` characters each, the page stays below two megabytes
_MOST_TURNS: Final = 40  # an agent's trace has hundreds, and what went wrong shows at its ends
_MOST_USES: Final = 8  # one turn may use dozens of tools at once
_MOST_FILES: Final = 50  # names that fill a few lines
_ROLLOUT: Final = 24_000  # characters of a rollout; its texts share them
_MOST_TEXT, _LEAST_TEXT = 3000, 40
_MOST_TASKS: Final = 60  # of each both trajectories, so that the page stays below five megabytes
_MOST_ANSWER: Final = 6000  # a page of text
_MOST_SHOWN_ANSWER: Final = 400  # in a comment: five lines


def read_rollouts(ledger: Ledger, view: RunView, most: int = _MOST_ROLLOUTS) -> str:
    """Show recorded rollouts of tasks known to be train, or in the first of two folds, failing ones first."""
    splits = {row.task: row.split for row in view.heat}
    names = {version.digest: f"v{version.number}" if version.number else "start" for version in view.versions}
    identity = view.target + (f" judge={view.judge}" if view.judge else "")
    rows = ledger.run_results(view.run, list(names), identity)
    listed = [row for row in rows if splits.get(row.task, "") in SEEN_SPLITS]
    # By repeats, so that of many failures each task is shown before one is shown again.
    chosen = sorted(listed, key=lambda row: (row.passed, row.repeat, row.task, row.skill))[:most]
    found = ledger.rollouts([row.key for row in chosen])
    shown = [(found[row.key], names.get(row.skill, "draft")) for row in chosen if row.key in found]
    return show_rollouts(view, shown, len(listed))


def show_rollouts(view: RunView, shown: Sequence[tuple[Rollout, str]], listed: int) -> str:
    """Tell of the rollouts that were chosen of all that are listed, each with its version."""
    told = (
        f"{len(shown):,} of {listed:,} recorded rollouts of {'the first half' if view.folded else 'the train tasks'}: "
        "failing ones first. Other tasks are not shown, so that nobody writes edits for them."
    )
    rollouts = [_rollout(*one) for one in shown] or ["No rollout is on record."]
    return paragraphs("## Rollouts", told, *rollouts)


def _rollout(rollout: Rollout, version: str) -> str:
    files, facts = rollout.trajectory.files_changed, [version, f"run {repeat_number(rollout.repeat)}"]
    if rollout.score is not None:
        facts.append("passed" if rollout.score.passed else f"not passed, score {rollout.score.value:.2f}")
    return details(
        f"{cited(rollout.task_id)} {', '.join(facts)}",
        paragraphs(
            *(
                f"{rollout.status.value}: {cited(rollout.reason)}" if rollout.reason else "",
                "### Feedback",
                _feedback(rollout, _MOST_TEXT),
                f"Files changed: {list_names(files, _MOST_FILES)}. {rollout.usage.tokens:,} tokens.",
                "### Trajectory",
                *show_turns(rollout.trajectory),
            )
        ),
    )


def show_turns(trajectory: Trajectory) -> Iterator[str]:
    """Show the turns of a trajectory, each cut; turns in the middle are left out when there are too many."""
    messages = trajectory.messages
    half = len(messages) if len(messages) <= _MOST_TURNS else _MOST_TURNS // 2
    first, last = messages[:half], messages[max(half, len(messages) - half) :]
    texts = sum(1 + 2 * min(len(message.tool_calls), _MOST_USES) for message in (*first, *last))
    most = max(_LEAST_TEXT, min(_MOST_TEXT, _ROLLOUT // max(texts, 1)))
    for message in first:
        yield from _turn(message, most)
    if skipped := len(messages) - len(first) - len(last):
        yield f"… {count_noun(skipped, 'turn')} left out here …"
    for message in last:
        yield from _turn(message, most)


def _turn(message: Message, most: int) -> Iterator[str]:
    yield cited(message.role, 80)
    if message.text:
        yield quote_block(cut_middle(message.text, most))
    for call in message.tool_calls[:_MOST_USES]:
        yield f"uses {cited(call.name, 80)}"
        yield quote_block(cut_middle(call.arguments, most))
        if call.result:
            yield from ("and gets", quote_block(cut_middle(call.result, most)))
    if (more := len(message.tool_calls) - _MOST_USES) > 0:
        yield f"… {count_noun(more, 'more use')} of tools left out …"


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
