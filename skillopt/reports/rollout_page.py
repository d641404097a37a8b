"""A run as an HTML page: its report, and the rollouts that it may show, each cut to what a page can hold.

Tasks that went differently come first, then failing ones. Only rollouts of splits that may be shown are given to it.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.reports.blocks import (
    Details,
    Heading,
    Paragraph,
    ReportBlock,
    Text,
    cited,
    cut_middle,
    list_names,
    paragraphs,
)
from skillopt.reports.html import print_page
from skillopt.reports.run_edits import ReportLimits
from skillopt.reports.run_report import run_report
from skillopt.reports.view import RunView
from skillopt.rollouts import Message, Rollout, Trajectory
from skillopt.safety.plurals import count_noun

__all__ = [
    "MOST_ROLLOUTS",
    "RolloutEntry",
    "RolloutSelection",
    "ViewedRollout",
    "choose_rollouts",
    "render_page",
    "show_turns",
]

MOST_ROLLOUTS: Final = 60
_MOST_TURNS: Final = 40
_MOST_USES: Final = 8
_MOST_FILES: Final = 50
_ROLLOUT: Final = 24_000
"""Characters of a rollout; its texts share them."""
_MOST_TEXT, _LEAST_TEXT = 3000, 40
_LIMITS: Final = ReportLimits(text=1000, rows=100, names=200, refused=150)


@dataclass(frozen=True, slots=True)
class RolloutEntry:
    """A recorded rollout before its trajectory is read."""

    key: str
    task: str
    split: str
    version: str
    repeat: int
    score: float
    passed: bool


@dataclass(frozen=True, slots=True)
class ViewedRollout:
    """A rollout with what is listed of it."""

    listed: RolloutEntry
    rollout: Rollout


@dataclass(frozen=True, slots=True)
class RolloutSelection:
    """The rollouts that a page shows: those chosen, of how many, at most how many, and whether of all splits."""

    seen: tuple[ViewedRollout, ...]
    listed: int
    all_splits: bool = False
    most: int = MOST_ROLLOUTS


def render_page(view: RunView, rollouts: RolloutSelection | None = None) -> str:
    """Render a run as one page."""
    blocks = run_report(view, _LIMITS, _rollouts(view, rollouts) if rollouts else ())
    kind = "run" if view.kind == "training" else view.kind
    footer = "Written by SkillOpt from the record of the run; every number is read from it, none from a model's text."
    eyebrow = f"{cited(kind)} {cited(view.run)}"
    return print_page(f"{view.skill}: run {view.run}", eyebrow, blocks, heading=view.skill, footer=footer)


def _rollouts(view: RunView, chosen: RolloutSelection) -> list[ReportBlock]:
    of = "all splits" if chosen.all_splits else "the first fold" if view.folded else "the train tasks"
    hidden = " Other tasks are not shown, so that nobody writes edits for them; `--all-splits` does."
    told = (
        f"{len(chosen.seen):,} of {chosen.listed:,} recorded rollouts of {of}: tasks that went differently first, then "
        f"failing ones, at most {chosen.most}.{'' if chosen.all_splits else hidden}"
    )
    shown = [_rollout(one, chosen) for one in chosen.seen] or paragraphs("No rollout is on record.")
    return [Heading("Rollouts"), Paragraph(told), *shown]


def _rollout(seen: ViewedRollout, chosen: RolloutSelection) -> Details:
    listed, rollout = seen.listed, seen.rollout
    facts = [listed.version, f"repeat {listed.repeat}", *([listed.split] if chosen.all_splits else [])]
    facts.append("passed" if listed.passed else f"not passed, score {listed.score:.2f}")
    feedback, files = rollout.score.feedback if rollout.score else "", rollout.trajectory.files_changed
    tokens = rollout.usage.input_tokens + rollout.usage.output_tokens
    return Details(
        f"{cited(listed.task)} {', '.join(facts)}",
        [
            *paragraphs(f"{rollout.status.value}: {cited(rollout.reason)}" if rollout.reason else ""),
            Heading("Feedback", 3),
            Text(cut_middle(feedback, _MOST_TEXT)) if feedback.strip() else Paragraph("All correct."),
            Paragraph(f"Files changed: {list_names(files, _MOST_FILES)}. {tokens:,} tokens."),
            Heading("Trajectory", 3),
            *show_turns(rollout.trajectory),
        ],
    )


def show_turns(trajectory: Trajectory) -> Iterator[ReportBlock]:
    """Show the turns of a trajectory, each cut; turns in the middle are left out when there are too many."""
    messages = trajectory.messages
    half = len(messages) if len(messages) <= _MOST_TURNS else _MOST_TURNS // 2
    places = [*range(half), *range(max(half, len(messages) - half), len(messages))]
    texts = sum(1 + 2 * min(len(messages[at].tool_calls), _MOST_USES) for at in places)
    most = max(_LEAST_TEXT, min(_MOST_TEXT, _ROLLOUT // max(texts, 1)))
    for number, at in enumerate(places):
        if skipped := at - (places[number - 1] + 1 if number else 0):
            yield Paragraph(f"… {count_noun(skipped, 'turn')} left out here …")
        yield from _turn(messages[at], most)


def _turn(message: Message, most: int) -> Iterator[ReportBlock]:
    yield Paragraph(cited(message.role, 80))
    if message.text:
        yield Text(cut_middle(message.text, most))
    for call in message.tool_calls[:_MOST_USES]:
        yield Paragraph(f"uses {cited(call.name, 80)}")
        yield Text(cut_middle(call.arguments, most))
        if call.result:
            yield from (Paragraph("and gets"), Text(cut_middle(call.result, most)))
    if (more := len(message.tool_calls) - _MOST_USES) > 0:
        yield Paragraph(f"… {count_noun(more, 'more use')} of tools left out …")


def choose_rollouts(rollouts: Iterable[RolloutEntry], most: int = MOST_ROLLOUTS) -> list[RolloutEntry]:
    """Choose rollouts to show: tasks that went differently first, failing ones, then the rest, spread over tasks."""
    by_task: dict[str, list[RolloutEntry]] = {}
    for one in rollouts:
        by_task.setdefault(one.task, []).append(one)
    ranked = []
    for task, mine in by_task.items():
        flipped = len({one.passed for one in mine}) > 1
        mine.sort(key=lambda one: (one.passed, one.score, one.version, one.repeat))
        # Of a task that flipped, a failure beside a success tells most.
        order = _alternating(mine) if flipped else mine
        places = [place // 2 if flipped else place for place in range(len(order))]
        ranked += [((place, not flipped, one.passed, task), one) for place, one in zip(places, order, strict=True)]
    ranked.sort(key=lambda pair: pair[0])
    chosen = [one for _, one in ranked[:most]]
    return sorted(chosen, key=lambda one: (one.task, one.passed, one.version, one.repeat))


def _alternating(mine: Sequence[RolloutEntry]) -> list[RolloutEntry]:
    failed, passed = [one for one in mine if not one.passed], [one for one in mine if one.passed]
    paired = [one for pair in zip(failed, passed, strict=False) for one in pair]
    rest = [*failed[len(passed) :], *passed[len(failed) :]]
    return [*paired, *rest]
