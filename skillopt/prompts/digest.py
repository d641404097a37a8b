"""Digest of what passes: by tag, and what the last patch fixed and broke; it stands before the evidence."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from skillopt.prompts.evidence import fence
from skillopt.tasks import Task

_MOST_TAGS: Final = 20
_MOST_TASKS: Final = 30
_LONGEST_NAME: Final = 60


def write_digest(
    outcomes: Sequence[tuple[Task, bool]], fixed: Sequence[str] = (), broken: Sequence[str] = (), aside: int = 0
) -> str:
    """Say in a few lines how many tasks pass and what changed; empty when nothing is known."""
    if not outcomes:
        return ""
    lines = [f"{_share([passed for _, passed in outcomes])} tasks that ran with this very text pass."]
    tags = Counter(tag for task, _ in outcomes for tag in dict.fromkeys(task.tags))
    parts = [
        f"{tag[:_LONGEST_NAME]} {_share([passed for task, passed in outcomes if tag in task.tags])}"
        for tag, _ in tags.most_common(_MOST_TAGS)
    ]
    lines += [f"Passing by tag: {', '.join(parts)}."] * bool(parts)
    lines += [f"The last patch fixed {_names(fixed)}."] * bool(fixed)
    lines += [f"The last patch broke {_names(broken)}."] * bool(broken)
    lines += [f"{aside} more tasks are set aside: no edit has fixed them so far."] * (aside > 0)
    return fence("digest", "\n".join(lines))


def _share(passed: Sequence[bool]) -> str:
    return f"{sum(passed)} of {len(passed)}"


def _names(tasks: Sequence[str]) -> str:
    """List ids, so many as a line bears."""
    shown = ", ".join(task[:_LONGEST_NAME] for task in tasks[:_MOST_TASKS])
    rest = len(tasks) - _MOST_TASKS
    return f"{shown} and {rest} more" if rest > 0 else shown
