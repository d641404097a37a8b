"""Group failing tasks by equal feedback; show in a prompt one of each kind in full, and the others by what differs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.prompts.evidence import ROLLOUT_TOKENS, fence, render_rollout, shorten_middle
from skillopt.rollouts import Rollout
from skillopt.skills.document import estimate_tokens
from skillopt.tasks import Task

PROMPT_TOKENS: Final = 12_000
"""Tokens (estimated) of a whole prompt: what a model reads well, and what a small context still holds."""

SAME_FEEDBACK: Final = "the same feedback, but for its values: "
"""Begins the line that lists the other tasks of a group."""

OTHER_VALUES: Final = "tasks that failed alike with other values, by what differs:"
"""Stands above the tasks that are shown by what differs from the one in full."""

_SIDE_TOKENS: Final = 60
"""Most tokens of a prompt, of feedback or of an answer in such a row."""

_FEEDBACK_TOKENS: Final = 200
"""Most tokens of feedback of which values alone are shown: in longer feedback they cannot be told apart."""

_MOST_LEFT: Final = 12
_LEFT_TOKENS: Final = 30
"""Groups that are named with counts where they do not fit, and tokens of each."""

_LEAST_TOKENS: Final = 250
"""Fewer tokens show neither the feedback nor what was done: then some groups are left for the next prompt."""

_CUT_TOKENS: Final = 40
"""Tokens of the lines that say what was cut of one rollout."""

# A number is a value wherever it stands, unless it tells one rule, criterion or code from another.
_NUMBER = re.compile(
    r"(?P<name>\b(?:case|check|code|criterion|error|exit|item|level|rule|stage|status|step|symptom|test)s?[ #:]+)?"
    r"(?<![\w])\d+(?:[.,]\d+)*(?![\w])",
    re.IGNORECASE,
)


_VALUE = re.compile(
    r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`|(?<=expected )[^,;\n]+|(?<=found )[^,;\n]+|(?<![\w])\d+(?:[.,]\d+)*(?![\w])"
)


@dataclass(frozen=True, slots=True)
class FailureGroup:
    """Tasks that failed with the same feedback."""

    task: Task
    rollout: Rollout
    others: tuple[str, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """List the ids of all its tasks."""
        return self.task.id, *self.others


def group_failures(failures: Sequence[tuple[Task, Rollout]]) -> tuple[FailureGroup, ...]:
    """Put failures with equal feedback together, numbers that are values aside; the largest groups come first."""
    found: dict[object, list[tuple[Task, Rollout]]] = {}
    for number, (task, rollout) in enumerate(failures):
        feedback = rollout.score.feedback if rollout.score else ""
        # What it says, line by line: without order, repeats, spacing, case and values that are numbers.
        lines = (" ".join(line.casefold().split()) for line in feedback.splitlines())
        said = frozenset(_NUMBER.sub(lambda one: one[0] if one["name"] else "#", line) for line in lines if line)
        found.setdefault((rollout.status, said) if said else number, []).append((task, rollout))
    groups = (FailureGroup(*group[0], tuple(task.id for task, _ in group[1:])) for group in found.values())
    return tuple(sorted(groups, key=lambda group: -len(group.others)))


def render_failures(groups: Sequence[FailureGroup], tokens: int = PROMPT_TOKENS) -> tuple[str, tuple[str, ...]]:
    """Show groups of failures, fenced as untrusted, and give the ids of the tasks that are shown.

    Of groups whose short feedback differs in values alone one is shown in full, the others by what differs.
    """
    kinds: dict[object, list[FailureGroup]] = {}
    for number, group in enumerate(groups):
        kinds.setdefault((group.rollout.status, _skeleton(_feedback(group)) or number), []).append(group)
    firsts = [kind[0] for kind in kinds.values()]
    parts = [_render(group, ROLLOUT_TOKENS) for group in firsts]
    rows = [[_row(kind[0], group) for group in kind[1:]] for kind in kinds.values()]
    used = sum(estimate_tokens(row) for found in rows for row in found)
    if sum(map(estimate_tokens, parts)) + used > tokens:
        each = max(_LEAST_TOKENS, (tokens - used) // len(firsts) - _CUT_TOKENS)
        parts = [_render(group, each) for group in firsts]
    shown: list[FailureGroup] = []
    text: list[str] = []
    used = 0
    for kind, part, found in zip(kinds.values(), parts, rows, strict=True):
        used += estimate_tokens(part)
        if shown and used > tokens:
            break
        lines, taken = [part], [kind[0]]
        for group, row in zip(kind[1:], found, strict=True):
            used += estimate_tokens(row)
            if used > tokens:
                break
            lines += [OTHER_VALUES] * (len(lines) == 1) + [row]
            taken.append(group)
        shown += taken
        text.append("\n".join(lines))
    told = {task for group in shown for task in group.ids}
    left = [group for group in groups if group.task.id not in told]
    if left:
        named = (
            f"{len(group.ids)} by {shorten_middle(' '.join(_feedback(group).split()), _LEFT_TOKENS)!r}"
            for group in left[:_MOST_LEFT]
        )
        more = sum(len(group.ids) for group in left)
        text.append(f"[... {more} more tasks failed with other feedback: {'; '.join(named)} ...]")
    return fence("evidence", "\n\n".join(text)), tuple(task for group in shown for task in group.ids)


def _feedback(group: FailureGroup) -> str:
    return group.rollout.score.feedback if group.rollout.score else ""


def _skeleton(feedback: str) -> tuple[str, ...]:
    """Return feedback without its values: what is quoted, numbers, and what was expected or found; nothing if too long.

    Each line of longer feedback keeps what it begins with, as the name of a criterion or the number of a row.
    """
    lines, tokens = [line for line in feedback.splitlines() if line.strip()], estimate_tokens(feedback)
    if tokens <= _SIDE_TOKENS:
        return tuple(_VALUE.sub("#", line) for line in lines)
    parts = (line.partition(":") for line in lines if tokens <= _FEEDBACK_TOKENS)
    return tuple(name + _VALUE.sub("#", rest) for name, _, rest in parts)


def _row(first: FailureGroup, group: FailureGroup) -> str:
    """Show a failure by what differs from the one in full: lines of prompt and answer, and values of the feedback."""
    known = {*first.task.prompt.splitlines(), *first.rollout.trajectory.answer.splitlines()}
    sides = (
        ("prompt", [line for line in group.task.prompt.splitlines() if line not in known]),
        ("feedback", _other_feedback(_feedback(first), _feedback(group))),
        ("answer", [line for line in group.rollout.trajectory.answer.splitlines() if line not in known]),
    )
    others = f" (also {', '.join(group.others)})" if group.others else ""
    told = []
    for name, lines in sides:
        text = shorten_middle(" | ".join(" ".join(line.split()) for line in lines if line.strip()), _SIDE_TOKENS)
        told += [f"{name}: {text}".replace("\n", " ")] if text else []
    return f"- {group.task.id}{others}: {'; '.join(told)}"


def _other_feedback(first: str, other: str) -> list[str]:
    """Return short feedback whole; of longer one what each line begins with, and the values that differ in it."""
    lines = [line for line in other.splitlines() if line.strip()]
    if estimate_tokens(other) <= _SIDE_TOKENS:
        return lines
    found = []
    for line, mine in zip(filter(str.strip, first.splitlines()), lines, strict=True):
        old, new = (_VALUE.findall(one) for one in (line, mine))
        values = [value for before, value in zip(old, new, strict=True) if value != before]
        found += [f"{mine.partition(':')[0]}: {', '.join(values)}"] * bool(values)
    return found


def _render(group: FailureGroup, tokens: int) -> str:
    text = render_rollout(group.task, group.rollout, tokens)
    head, line, rest = text.partition("\n")
    others = f"{line}{SAME_FEEDBACK}{', '.join(group.others)}" if group.others else ""
    return f"{head}{others}{line}{rest}"
