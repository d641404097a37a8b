"""Show the optimizer model what passes and what became of earlier edits; those it may copy stand whole or not."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from skillopt.prompts.evidence import fence, shorten_middle
from skillopt.rollouts import Rollout
from skillopt.skills.document import estimate_tokens
from skillopt.tasks import Task

SHOWN_TOKENS: Final = 150
"""Most tokens (estimated) of what the target did with one edit."""

EDIT_TOKENS: Final = 60
"""Most tokens (estimated) of an edit that is named and not shown whole: two or three lines."""

_WHOLE_TOKENS: Final = 200

_REASON_TOKENS: Final = 40
_PEOPLES_REASON_TOKENS: Final = 80


class EditFate(StrEnum):
    """What became of an edit: refused by people, tried and measured, not decided, refused unmeasured, or not tried."""

    PEOPLE = "people"
    TRIED = "tried"
    UNDECIDED = "undecided"
    REFUSED = "refused"
    UNTRIED = "untried"


HEADINGS: Final = {
    EditFate.PEOPLE: "Refused by people, with their reason: propose neither these nor the same in other words",
    EditFate.TRIED: "Tried and not kept",
    EditFate.UNDECIDED: "Not decided: propose one again only in other words, or together with an edit that it needs",
    EditFate.REFUSED: "Refused before a trial",
    EditFate.UNTRIED: "Not tried yet: copy one where you still want it",
}
"""What stands above the edits of each fate."""


@dataclass(frozen=True, slots=True)
class TriedEdit:
    """An edit of an earlier step."""

    summary: str
    fate: EditFate
    reason: str
    shown: str = ""


def render_tried(edits: Sequence[TriedEdit]) -> str:
    """List earlier edits under a heading for each fate, those with equal reasons together; empty for none."""
    parts = []
    for fate, heading in HEADINGS.items():
        group = [edit for edit in edits if edit.fate is fate]
        if fate is EditFate.UNTRIED:
            group = [edit for edit in group if estimate_tokens(edit.summary) <= _WHOLE_TOKENS]
        if group:
            reasons = dict.fromkeys(edit.reason for edit in group)
            blocks = (_block(reason, [edit for edit in group if edit.reason == reason]) for reason in reasons)
            listed = fence("list", "\n".join(blocks))
            parts.append(f"### {heading}\n{listed}")
    return "\n\n".join(parts)


def render_effect(before: Rollout, after: Rollout, sides: tuple[str, str] = ("without it", "with it")) -> str:
    """Show what the target did with an edit on one task and without it, once where it was the same; in SHOWN_TOKENS."""
    outcomes = [_outcome(rollout, SHOWN_TOKENS // 2 - 15) for rollout in (before, after)]  # 15: the words around
    if outcomes[0] == outcomes[1]:
        sides, outcomes = (" and ".join(sides), ""), outcomes[:1]
    return "\n".join(f"{side}, task {after.task_id}: {told}" for side, told in zip(sides, outcomes, strict=False))


def _outcome(rollout: Rollout, tokens: int) -> str:
    """Return a score, the feedback and the answer on one line; feedback gets what it needs first."""
    score = rollout.score
    if score is None:
        return "not measured"
    parts = [f"score {score.value:.2f}"]
    feedback = shorten_middle(" ".join(score.feedback.split()), tokens * 2 // 3)
    answer = shorten_middle(" ".join(rollout.trajectory.answer.split()), tokens // 3)
    parts += [f"feedback: {feedback}"] * bool(feedback) + [f"answer: {answer}"] * bool(answer)
    return " ".join("; ".join(parts).split())


def _block(reason: str, group: Sequence[TriedEdit]) -> str:
    """Write edits with one reason: on one line a lone edit, else the reason above the edits."""
    most = _PEOPLES_REASON_TOKENS if group[0].fate is EditFate.PEOPLE else _REASON_TOKENS
    why = shorten_middle(reason, most)
    if len(group) == 1:
        return _entry(group[0], f": {why}")
    return "\n".join([f"{why}:", *(_entry(edit, "") for edit in group)])


def _entry(edit: TriedEdit, reason: str) -> str:
    shown = "".join(f"\n  {line}" for line in shorten_middle(edit.shown, SHOWN_TOKENS).splitlines())
    tokens = _WHOLE_TOKENS if edit.fate is EditFate.UNTRIED else EDIT_TOKENS
    return f"- {' '.join(shorten_middle(edit.summary, tokens).split())}{reason}{shown}"


_MOST_TAGS: Final = 20  # of a digest, which is a few lines
_LONGEST_TAG: Final = 60  # characters


def write_digest(outcomes: Sequence[tuple[Task, bool]], aside: int = 0) -> str:
    """Say in a few lines how many tasks pass, by tag too; empty when nothing is known."""
    if not outcomes:
        return ""
    lines = [f"{_share([passed for _, passed in outcomes])} tasks that ran with this very text pass."]
    tags = Counter(tag for task, _ in outcomes for tag in dict.fromkeys(task.tags))
    parts = [
        f"{tag[:_LONGEST_TAG]} {_share([passed for task, passed in outcomes if tag in task.tags])}"
        for tag, _ in tags.most_common(_MOST_TAGS)
    ]
    lines += [f"Passing by tag: {', '.join(parts)}."] * bool(parts)
    lines += [f"{aside} more tasks are set aside: no edit has fixed them so far."] * (aside > 0)
    return fence("digest", "\n".join(lines))


def _share(passed: Sequence[bool]) -> str:
    return f"{sum(passed)} of {len(passed)}"
