"""Blocks of a report: what it says, made once, before a printer for Markdown, HTML or a terminal says how it looks.

Words of a block are our own; `**` and backticks mean in them what they mean in Markdown. A text from elsewhere
stands in `cited`, or in a `Text`, `Diff` or `Commands`, where it means nothing.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from skillopt.reports.view import CellState, HeatRow
from skillopt.safety.capabilities import NOTHING, NewCapability, describe_difference
from skillopt.safety.escaping import truncate

_OPEN, _CLOSE = "\x02", "\x03"
_QUOTED: Final = re.compile(f"{_OPEN}([^{_CLOSE}]*){_CLOSE}")
_CODE: Final = re.compile("`([^`]*)`")
_SHOWN: Final = {ord(_OPEN): "⟨U+0002⟩", ord(_CLOSE): "⟨U+0003⟩"}


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading; a page has it under its anchor, else under one made of its words."""

    words: str
    level: int = 2
    anchor: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph."""

    words: str


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names with what stands beside each; an empty name goes on with the one above."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its columns' names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True)
class Text:
    """A text from elsewhere, line by line, in a language such as `diff`."""

    text: str
    language: str = ""


@dataclass(frozen=True, slots=True)
class Diff:
    """Two texts from elsewhere and how they differ."""

    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands to be copied."""

    lines: Sequence[str]


_MARKS: Final = {
    CellState.PASSED: "pass",
    CellState.MIXED: "mixed",
    CellState.FAILED: "fail",
    CellState.NOT_EVALUATED: "·",
}


@dataclass(frozen=True, slots=True)
class Grid:
    """Tasks by versions."""

    versions: Sequence[str]
    rows: Sequence[HeatRow]

    @property
    def table(self) -> Table:
        """The grid in words."""
        rows = [(row.split or "?", cited(row.task), *(_MARKS[cell.state] for cell in row.cells)) for row in self.rows]
        return Table(("split", "task", *self.versions), rows)


@dataclass(frozen=True, slots=True)
class MarkdownText:
    """Markdown that was printed before; only Markdown has it."""

    text: str


@dataclass(frozen=True, slots=True)
class Box:
    """Blocks that stand out: a `caution` or a `note`."""

    kind: str
    blocks: "Sequence[ReportBlock]"


@dataclass(frozen=True, slots=True)
class Details:
    """Blocks folded away under a summary."""

    summary: str
    blocks: "Sequence[ReportBlock]"


@dataclass(frozen=True, slots=True)
class Sides:
    """Blocks side by side, each with its name."""

    sides: "Sequence[tuple[str, Sequence[ReportBlock]]]"


ReportBlock: TypeAlias = (
    Heading | Paragraph | Bullets | Facts | Table | Text | Diff | Commands | Grid | MarkdownText | Box | Details | Sides
)


def cited(text: str, most: int = 5000) -> str:
    """Mark an untrusted text within words of our own, cut to `most` characters; empty for a blank one."""
    shown = truncate(text.strip(), most).translate(_SHOWN)
    return f"{_OPEN}{shown}{_CLOSE}" if shown else ""


def replace_quoted(words: str, show: Callable[[str], str]) -> str:
    """Replace each untrusted text within words by what a printer makes of it."""
    return _QUOTED.sub(lambda found: show(found[1]), words)


def split_quoted(words: str) -> list[str]:
    """Split words into our own and untrusted texts in turn, our own first."""
    return _QUOTED.split(words)


def list_names(names: Sequence[str], most: int = 1_000_000, longest: int = 200) -> str:
    """List untrusted names, and count those beyond the limit."""
    shown = ", ".join(cited(name, longest) for name in names[:most])
    left = len(names) - most
    return (f"{shown}, {left} more" if shown else f"{left} tasks") if left > 0 else shown or "—"


def difference_blocks(found: Sequence[NewCapability]) -> list[ReportBlock]:
    """Show a capability difference in a few lines, which stand before the text."""
    rows = [_CODE.sub(lambda said: cited(said[1]), line) for line in describe_difference(tuple(found))]
    told = "what this text drops and changes, and what it has that the text before had not." if rows else NOTHING
    return [Paragraph(f"**Capability difference**: {told}"), *([Bullets(rows)] if rows else [])]


def act_blocks(lines: Sequence[str]) -> list[ReportBlock]:
    """Show what agents did under a text and not under the one before, as the sandbox recorded it, in eight lines."""
    rows = [_CODE.sub(lambda said: cited(said[1]), line) for line in lines[:8]]
    rows += [f"{len(lines) - len(rows)} more: `skillopt report --json`"] if len(lines) > len(rows) else []
    told = "recorded by the sandbox under this text, and in no rollout under the text before."
    return [Paragraph(f"**What the agent did that is new**: {told}"), Bullets(rows)] if rows else []


def paragraphs(*words: str) -> list[ReportBlock]:
    """Make a paragraph of each text that is not empty."""
    return [Paragraph(one) for one in words if one]


def cut_middle(text: str, most: int) -> str:
    r"""Cut the middle of a text so that `most` characters of it remain, and say how many are gone.

    >>> cut_middle("abcdefghij", 4)
    'abc\n… 6 characters are left out here …\nj'
    """
    if len(text) <= most:
        return text
    tail = most // 4
    head = most - tail
    return f"{text[:head]}\n… {len(text) - most:,} characters are left out here …\n{text[len(text) - tail :]}"
