"""Before and after: one HTML page with prompt, answers, feedback and trajectories of each task that a change moved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.reports.before_after import DifferingTask, TaskChange, task_anchor
from skillopt.reports.html.escape_html import CutText, cut_middle
from skillopt.reports.html.line_diff import DiffLine, compare_lines
from skillopt.reports.html.page import fill_page
from skillopt.reports.html.viewer import RolloutCard, RolloutEntry, ViewedRollout, show_rollout
from skillopt.rollouts import Rollout, Trajectory

__all__ = ["BeforeAfter", "before_after_page"]

_MOST_TASKS: Final = 60
_MOST_PROMPT: Final = 3000
_MOST_ANSWER: Final = 6000
_MOST_STEP: Final = 1500


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


def before_after_page(comparison: BeforeAfter) -> str:
    """Render the tasks that went differently as a page that needs nothing else."""
    changed = comparison.changed
    counts = [(change.value, sum(one.change is change for one in changed)) for change in TaskChange]
    return fill_page(
        "before_after.html",
        comparison=comparison,
        counts=[pair for pair in counts if pair[1]],
        cards=[_card(one) for one in changed[:_MOST_TASKS]],
        left_out=max(0, len(changed) - _MOST_TASKS),
    )


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a task: its name, its rollout cut to size, its answer, and where it leaves the other's way."""

    name: str
    card: RolloutCard
    answer: CutText
    parting: CutText | None


@dataclass(frozen=True, slots=True)
class _Card:
    """A task as the page shows it."""

    anchor: str
    task: str
    change: str
    passes: str
    scores: str
    prompt: CutText
    sides: tuple[_Side, _Side]
    parting: str
    answer_diff: tuple[DiffLine, ...]


def _card(one: DifferingTask) -> _Card:
    parting = one.parting
    steps = ("", "") if parting is None else (parting.before, parting.after)
    answers = _answer(one.before.trajectory), _answer(one.after.trajectory)
    same = answers[0] == answers[1]
    short = max(map(len, answers)) <= _MOST_ANSWER
    passes = f"{one.passes[0]} → {one.passes[1]} of {one.repeats} repeats passed"
    return _Card(
        task_anchor(one.task.id),
        one.task.id,
        one.change.value,
        passes if one.repeats > 1 else " → ".join("passed" if count else "not passed" for count in one.passes),
        f"{one.scores[0]:.2f} → {one.scores[1]:.2f}",
        cut_middle(one.task.prompt, _MOST_PROMPT),
        (
            _side("before", one.before, answers[0], steps[0] if parting else None),
            _side("after", one.after, answers[1], steps[1] if parting else None),
        ),
        f"{parting.what} {parting.number}" if parting else "",
        compare_lines(*answers) if short and not same else (),
    )


def _side(name: str, rollout: Rollout, answer: str, step: str | None) -> _Side:
    score = rollout.score
    value, passed = (score.value, score.passed) if score else (0.0, False)
    listed = RolloutEntry("", rollout.task_id, "", name, rollout.repeat, value, passed=passed)
    card = show_rollout(ViewedRollout(listed, rollout))
    shown = None if step is None else cut_middle(step, _MOST_STEP)
    return _Side(name, card, cut_middle(answer, _MOST_ANSWER), shown)


def _answer(trajectory: Trajectory) -> str:
    """Return the final answer; where the work is in files, the last that the target wrote."""
    said = (message.text for message in reversed(trajectory.messages) if message.role == "assistant")
    return trajectory.answer or next((text for text in said if text.strip()), "")
