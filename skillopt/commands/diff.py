"""The command `diff`: its options, and its result as text."""

import os
import re
import sys
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument, select
from skillopt.commands.output import SHORT, as_json_text, show
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines

if TYPE_CHECKING:
    from skillopt.actions.diff import Diffed, WordDiffed
    from skillopt.project import Selection
    from skillopt.skills.word_diff import PieceKind

__all__ = ["diff"]

_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_MARKS: Final = {"gone": ("[-", "-]", "31"), "new": ("{+", "+}", "32")}


def diff(
    skill: SkillArgument = None,
    before: Annotated[
        str | None, typer.Argument(help="A version, worktree or draft; the first text when left out.")
    ] = None,
    after: Annotated[str | None, typer.Argument(help="As before; the newest version when left out.")] = None,
    *,
    words: Annotated[bool, typer.Option("--words", help="Word by word: in colours, else [-gone-]{+new+}.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what changed between two versions of the skill.

    `diff SKILL draft` shows what the draft changes.
    """
    if words:
        _show_words(select(skill), before, after, as_json=as_json)
        return
    from skillopt.actions.diff import diff as run

    show(run(select(skill), before, after), _text, as_json=as_json)


def _show_words(selection: "Selection", before: str | None, after: str | None, *, as_json: bool) -> None:
    from skillopt.actions.diff import diff_by_words

    found = diff_by_words(selection, before, after)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    typer.echo(as_json_text(found) if as_json else _words_text(found, colour=colour))


def _text(result: "Diffed") -> str:
    return escape_terminal_lines(result.text) or f"{result.skill}: {result.before} and {result.after} are the same"


def _words_text(result: "WordDiffed", *, colour: bool) -> str:
    """Render a difference word by word: in colours, or as `[-gone-]{+new+}`."""
    lines = []
    for file in result.files:
        lines.append(f"--- {escape_terminal(file.path)}, {_named(result.before)} -> {_named(result.after)}")
        for hunk in file.hunks:
            text = "".join(_piece(piece.kind, piece.text, colour=colour) for piece in hunk.pieces)
            lines += [f"@@ line {hunk.before} -> {hunk.after} @@", text.removesuffix("\n")]
    same = f"{result.skill}: {_named(result.before)} and {_named(result.after)} are the same"
    return "\n".join(lines) or same


def _named(version: str) -> str:
    """Shorten a commit; what the user typed otherwise stays as it is."""
    return version[:SHORT] if _COMMIT.fullmatch(version) else escape_terminal(version)


def _piece(kind: "PieceKind", text: str, *, colour: bool) -> str:
    """Mark a piece line by line, so that no mark spans a line end."""
    from skillopt.skills.word_diff import PieceKind

    shown = "\n".join(escape_terminal_lines(line) for line in text.split("\n"))
    if kind is PieceKind.SAME:
        return shown
    left, right, code = _MARKS[kind]
    if colour:
        left, right = f"\x1b[{code}m", "\x1b[0m"
    return "\n".join(f"{left}{line}{right}" if line else "" for line in shown.split("\n"))
