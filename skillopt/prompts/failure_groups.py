"""Group failing tasks by equal feedback, and show as many groups as fit one prompt: one full example of each."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.prompts.evidence import ROLLOUT_TOKENS, fence, render_rollout
from skillopt.rollouts import Rollout
from skillopt.skills.document import estimate_tokens
from skillopt.tasks import Task

PROMPT_TOKENS: Final = 12_000
"""Tokens (estimated) of a whole prompt: what a model reads well, and what a small context still holds."""

SAME_FEEDBACK: Final = "the same feedback, but for its values: "
"""Begins the line that lists the other tasks of a group."""

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
        found.setdefault((rollout.status, _normal(feedback)) if feedback.strip() else number, []).append(
            (task, rollout)
        )
    groups = (FailureGroup(*group[0], tuple(task.id for task, _ in group[1:])) for group in found.values())
    return tuple(sorted(groups, key=lambda group: -len(group.others)))


def render_failures(groups: Sequence[FailureGroup], tokens: int = PROMPT_TOKENS) -> tuple[str, tuple[str, ...]]:
    """Show groups of failures, fenced as untrusted, and give the ids of the tasks that are shown."""
    parts = [_render(group, ROLLOUT_TOKENS) for group in groups]
    if sum(map(estimate_tokens, parts)) > tokens:
        each = max(_LEAST_TOKENS, tokens // len(groups) - _CUT_TOKENS)
        parts = [_render(group, each) for group in groups]
    shown: list[FailureGroup] = []
    text: list[str] = []
    used = 0
    for group, part in zip(groups, parts, strict=True):
        used += estimate_tokens(part)
        if shown and used > tokens:
            break
        shown.append(group)
        text.append(part)
    rest = sum(len(group.ids) for group in groups[len(shown) :])
    text += [f"[... {rest} more tasks failed with other feedback; they come in a later prompt ...]"] * (rest > 0)
    return fence("evidence", "\n\n".join(text)), tuple(task for group in shown for task in group.ids)


def _render(group: FailureGroup, tokens: int) -> str:
    text = render_rollout(group.task, group.rollout, tokens)
    head, line, rest = text.partition("\n")
    others = f"{line}{SAME_FEEDBACK}{', '.join(group.others)}" if group.others else ""
    return f"{head}{others}{line}{rest}"


def _normal(feedback: str) -> frozenset[str]:
    """Return what feedback says, line by line: without order, repeats, spacing, case and values that are numbers."""
    lines = (" ".join(line.casefold().split()) for line in feedback.splitlines())
    return frozenset(_NUMBER.sub(lambda found: found[0] if found["name"] else "#", line) for line in lines if line)
