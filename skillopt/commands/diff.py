"""The command `diff`: two versions of a skill compared line by line or word by word, from git."""

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument, select
from skillopt.commands.output import SHORT, as_json_text, show
from skillopt.runs.version_log import Diffed, compare_versions, diff_versions
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines
from skillopt.skills.word_diff import Hunk, PieceKind, diff_words

__all__ = ["diff"]

_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_MARKS: Final = {PieceKind.GONE: ("[-", "-]", "31"), PieceKind.NEW: ("{+", "+}", "32")}


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
    if not words:
        show(diff_versions(select(skill), before, after), _text, as_json=as_json)
        return
    sides = compare_versions(select(skill), before, after)
    files = [(path, hunks) for path, old, new in sides.documents if (hunks := diff_words(old.text, new.text))]
    if as_json:
        rows = [{"path": path, "hunks": hunks} for path, hunks in files]
        found = {"skill": sides.skill, "before": sides.before, "after": sides.after, "files": rows}
        typer.echo(as_json_text(found))
        return
    versions = _named(sides.before), _named(sides.after)
    same = f"{sides.skill}: {versions[0]} and {versions[1]} are the same"
    typer.echo("\n".join(line for file in files for line in _file_lines(*file, versions)) or same)


def _text(result: Diffed) -> str:
    return escape_terminal_lines(result.text) or f"{result.skill}: {result.before} and {result.after} are the same"


def _file_lines(path: str, hunks: Sequence[Hunk], versions: tuple[str, str]) -> list[str]:
    """Write what changed in a file word by word: in colours, or as `[-gone-]{+new+}`."""
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    lines = [f"--- {escape_terminal(path)}, {' -> '.join(versions)}"]
    for hunk in hunks:
        text = "".join(_piece(piece.kind, piece.text, colour=colour) for piece in hunk.pieces)
        lines += [f"@@ line {hunk.before} -> {hunk.after} @@", text.removesuffix("\n")]
    return lines


def _named(version: str) -> str:
    """Shorten a commit; what the user typed otherwise stays as it is."""
    return version[:SHORT] if _COMMIT.fullmatch(version) else escape_terminal(version)


def _piece(kind: PieceKind, text: str, *, colour: bool) -> str:
    """Mark a piece line by line, so that no mark spans a line end."""
    shown = "\n".join(escape_terminal_lines(line) for line in text.split("\n"))
    if kind is PieceKind.SAME:
        return shown
    left, right, code = _MARKS[kind]
    if colour:
        left, right = f"\x1b[{code}m", "\x1b[0m"
    return "\n".join(f"{left}{line}{right}" if line else "" for line in shown.split("\n"))
