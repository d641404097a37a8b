"""Rollout viewer: which rollouts a page shows, in which order, each cut to what a page can hold.

Flipped and failing tasks come first, and the page states what was left out. Only rollouts of splits that may be shown
are given to it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.reports.html.escape_html import CutText, cut_middle
from skillopt.rollouts import Message, Rollout

__all__ = [
    "MOST_ROLLOUTS",
    "RolloutCard",
    "RolloutEntry",
    "ToolUse",
    "Turn",
    "ViewedRollout",
    "choose_rollouts",
    "show_rollout",
]

MOST_ROLLOUTS: Final = 60
_MOST_TURNS: Final = 40
_MOST_USES: Final = 8
_MOST_FILES: Final = 50
_ROLLOUT: Final = 24_000
"""Characters of a rollout; its texts share them."""
_MOST_TEXT, _LEAST_TEXT = 3000, 40


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
class ToolUse:
    """A use of a tool."""

    name: str
    arguments: CutText
    result: CutText


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn of the trajectory: `skipped` turns are left out before it, and `more` uses of tools within it."""

    role: str
    text: CutText
    uses: tuple[ToolUse, ...]
    skipped: int = 0
    more: int = 0


@dataclass(frozen=True, slots=True)
class RolloutCard:
    """A rollout cut to size."""

    listed: RolloutEntry
    status: str
    reason: str
    feedback: CutText
    files: tuple[str, ...]
    more_files: int
    turns: tuple[Turn, ...]
    gone: int
    tokens: int

    @property
    def score(self) -> str:
        """Write the score as the heat map does."""
        return f"{self.listed.score:.2f}".removeprefix("0")

    @property
    def level(self) -> int:
        """How near a failure came, from 0 to 4."""
        return round(self.listed.score * 4)


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


def show_rollout(seen: ViewedRollout) -> RolloutCard:
    """Cut a rollout to what the page can hold."""
    trajectory, score = seen.rollout.trajectory, seen.rollout.score
    turns = _turns(trajectory.messages)
    feedback = cut_middle(score.feedback if score else "", _MOST_TEXT)
    uses = [use for turn in turns for use in turn.uses]
    texts = [feedback, *(turn.text for turn in turns), *(part for use in uses for part in (use.arguments, use.result))]
    usage = seen.rollout.usage
    return RolloutCard(
        seen.listed,
        seen.rollout.status.value,
        seen.rollout.reason,
        feedback,
        trajectory.files_changed[:_MOST_FILES],
        max(0, len(trajectory.files_changed) - _MOST_FILES),
        turns,
        sum(text.gone for text in texts),
        usage.input_tokens + usage.output_tokens,
    )


def _alternating(mine: Sequence[RolloutEntry]) -> list[RolloutEntry]:
    failed, passed = [one for one in mine if not one.passed], [one for one in mine if one.passed]
    paired = [one for pair in zip(failed, passed, strict=False) for one in pair]
    rest = [*failed[len(passed) :], *passed[len(failed) :]]
    return [*paired, *rest]


def _turns(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """Cut each turn, and leave out turns in the middle when there are too many."""
    half = len(messages) if len(messages) <= _MOST_TURNS else _MOST_TURNS // 2
    places = [*range(half), *range(max(half, len(messages) - half), len(messages))]
    texts = sum(1 + 2 * min(len(messages[at].tool_calls), _MOST_USES) for at in places)
    most = max(_LEAST_TEXT, min(_MOST_TEXT, _ROLLOUT // max(texts, 1)))
    turns = []
    for number, at in enumerate(places):
        message = messages[at]
        calls = message.tool_calls[:_MOST_USES]
        uses = tuple(
            ToolUse(call.name[:80], cut_middle(call.arguments, most), cut_middle(call.result, most)) for call in calls
        )
        skipped = at - (places[number - 1] + 1 if number else 0)
        turns.append(
            Turn(message.role, cut_middle(message.text, most), uses, skipped, len(message.tool_calls) - len(calls))
        )
    return tuple(turns)
