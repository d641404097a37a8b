"""Length limits of a Markdown report: how texts and lists are cut, and the line that states it."""

from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

from skillopt.reports.escape_markdown import inline_code
from skillopt.safety.escaping import truncate
from skillopt.safety.plurals import count_noun

__all__ = ["LengthLimits", "list_names", "more_line", "quote_text"]

_MANY = 1_000_000


@dataclass(frozen=True, slots=True)
class LengthLimits:
    """How long texts and lists of a report may be."""

    text: int = 1000
    name: int = 200
    names: int = _MANY
    edits: int = _MANY
    gates: int = _MANY
    refused: int = _MANY


def quote_text(text: str, limits: LengthLimits) -> str:
    """Quote an untrusted text as code, a dash where it is empty."""
    return inline_code(truncate(text.strip(), limits.text)) or "—"


def list_names(tasks: Sequence[str], limits: LengthLimits) -> str:
    """List tasks, and count those beyond the limit."""
    shown = ", ".join(inline_code(truncate(task, limits.name)) for task in tasks[: limits.names])
    left = len(tasks) - limits.names
    return (f"{shown}, {left} more" if shown else f"{left} tasks") if left > 0 else shown or "—"


def more_line(left: int, what: str, run: str) -> str:
    """Write the line that counts the rows left out and names the command that lists all; empty when none were."""
    if left <= 0:
        return ""
    return f"\n\n{count_noun(left, what)} more, left out for length: `skillopt report {quote(run)}` lists all."
