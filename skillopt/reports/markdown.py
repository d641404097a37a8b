"""Print blocks as Markdown, as GitHub and GitLab read it; texts from elsewhere stand in code that they cannot leave."""

from collections.abc import Callable, Sequence
from typing import assert_never

from skillopt.reports.blocks import (
    Box,
    Bullets,
    Commands,
    Curve,
    Details,
    Diff,
    Facts,
    Grid,
    Heading,
    MarkdownText,
    Paragraph,
    ReportBlock,
    Sides,
    Table,
    Text,
    replace_quoted,
)
from skillopt.reports.escape_markdown import code_block, code_span, inline_code, shell_block, text_block
from skillopt.reports.view import CellState
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import diff_documents

__all__ = ["print_markdown"]

_MARKS = {CellState.PASSED: "pass", CellState.MIXED: "mixed", CellState.FAILED: "fail", CellState.NOT_EVALUATED: "·"}


def print_markdown(blocks: Sequence[ReportBlock], *, readable: bool = False) -> str:
    """Print blocks; `readable` writes texts in backticks where nothing in them acts, instead of as references."""
    return _Printer(readable=readable).blocks(blocks) + "\n"


class _Printer:
    def __init__(self, *, readable: bool) -> None:
        self._quote: Callable[[str], str] = code_span if readable else inline_code
        self._text: Callable[[str, str], str] = text_block if readable else code_block

    def blocks(self, blocks: Sequence[ReportBlock]) -> str:
        return "\n\n".join(filter(None, map(self._block, blocks)))

    def _words(self, words: str) -> str:
        return replace_quoted(words, self._quote)

    def _block(self, block: ReportBlock) -> str:
        match block:
            case Heading():
                return f"{'#' * block.level} {self._words(block.words)}"
            case Paragraph():
                return self._words(block.words)
            case Bullets():
                return "\n".join(f"- {self._words(item)}" for item in block.items)
            case Facts():
                return "\n".join(f"- {name}: {self._words(words)}" for name, words in block.rows)
            case Box() | Details() | Sides():
                return self._nested(block)
            case _:
                return self._shown(block)

    def _nested(self, block: Box | Details | Sides) -> str:
        match block:
            case Box():
                lines = [f"[!{block.kind.upper()}]", *self.blocks(block.blocks).split("\n")]
                return "\n".join(f"> {line}".rstrip() for line in lines)
            case Details():
                # Backticks mean nothing inside of HTML.
                summary = replace_quoted(block.summary, inline_code)
                return f"<details><summary>{summary}</summary>\n\n{self.blocks(block.blocks)}\n\n</details>"
            case Sides():
                return "\n\n".join(f"{name}:\n\n{self.blocks(blocks)}" for name, blocks in block.sides)
            case _:
                assert_never(block)

    def _shown(self, block: Table | Grid | Text | Diff | Commands | Curve | MarkdownText) -> str:
        match block:
            case Table():
                return _table(block.columns, block.rows)
            case Grid():
                rows = [
                    [row.split or "?", inline_code(row.task), *(_MARKS[cell.state] for cell in row.cells)]
                    for row in block.rows
                ]
                return _table(("split", "task", *block.versions), rows)
            case Text():
                return self._text(block.text, block.language)
            case Diff():
                found = diff_documents(SkillDocument(block.before), SkillDocument(block.after))
                return code_block(found, "diff") if found.strip() else ""
            case Commands():
                return shell_block(block.lines)
            case MarkdownText() | Curve():
                return block.text if isinstance(block, MarkdownText) else ""
            case _:
                assert_never(block)


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return "\n".join([_row(columns), "|" + "---|" * len(columns), *map(_row, rows)])


def _row(cells: Sequence[str]) -> str:
    shown = (replace_quoted(cell, inline_code) for cell in cells)
    return "".join(f"| {cell} " if cell else "| " for cell in shown) + "|"
