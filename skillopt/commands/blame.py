"""The command `blame`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption, SkillArgument, select
from skillopt.commands.output import SHORT, list_tasks, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.actions.blame import Blamed, BlamedLine

__all__ = ["blame"]


def blame(
    skill: SkillArgument = None,
    *,
    find: Annotated[str, typer.Option(metavar="TEXT", help="Only lines that hold this text.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Show which version, run and tasks put each line here.

    The lines are those of the newest version.
    """
    from skillopt.actions.blame import blame as run

    show(run(select(skill), find), _text, as_json=as_json)


def _text(result: "Blamed") -> str:
    """Render each line with where it comes from."""
    rows = [(*_source(line), str(line.number), escape_terminal(line.text)) for line in result.lines]
    if not rows:
        return f"{result.skill} {result.version[:SHORT]}: no such line"
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = []
    for *cells, number, text in rows:
        left = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append(f"{left}  {number.rjust(4)} | {text}".rstrip())
    return "\n".join(lines)


def _source(line: "BlamedLine") -> tuple[str, str, str]:
    run = escape_terminal(line.run) if line.version else "people"
    return line.commit[:SHORT], run or "rollback", list_tasks(line.tasks)
