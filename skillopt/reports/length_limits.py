"""How much a report in Markdown may say, and cutting texts and lists to that.

Owns the words for what was cut. Does not own what is said (sections, edit_tables) or which room a report has
(pull_request).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from skillopt.reports.inert_markdown import inline
from skillopt.safety.escaping import truncate

__all__ = ["Room", "count", "more", "names", "said"]

_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class Room:
    """How much a report may say.

    Args:
        text: Most characters of an untrusted text.
        name: Most characters of a task's id.
        names: Most tasks in a list.
        edits: Most rows of edits that were taken.
        gates: Most rows of gates.
        refused: Most rows of edits that were not taken; 0 leaves their table out.
    """

    text: int = 1000
    name: int = 200
    names: int = _MANY
    edits: int = _MANY
    gates: int = _MANY
    refused: int = _MANY


def said(text: str, room: Room) -> str:
    """Show an untrusted text, a dash where it is empty."""
    return inline(truncate(text.strip(), room.text)) or "—"


def names(tasks: Sequence[str], room: Room) -> str:
    """List tasks, and count those there is no room for."""
    shown = ", ".join(inline(truncate(task, room.name)) for task in tasks[: room.names])
    left = len(tasks) - room.names
    return (f"{shown}, {left} more" if shown else f"{left} tasks") if left > 0 else shown or "—"


def more(left: int, what: str, run: str) -> str:
    """Say that rows were left out, and where they are; empty when none were."""
    if left <= 0:
        return ""
    return f"\n\n{count(left, what)} more, left out for length: `skillopt report {quote(run)}` lists all."


def count(number: int, what: str) -> str:
    """Write a number with its noun."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
