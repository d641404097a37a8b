"""The command `diff`: two versions of a skill compared line by line or word by word, from git."""

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import SHORT, as_json_text
from skillopt.project import Selection
from skillopt.reports.markdown import tell_difference
from skillopt.reports.terminal import print_terminal
from skillopt.runs.history import compare_versions, difference_of_files, pair_documents
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines
from skillopt.skills.word_diff import Hunk, PieceKind, diff_words

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
    sides = compare_versions(Selection(skill), before, after)
    difference = difference_of_files(sides.old, sides.new)
    found = {"skill": sides.skill, "before": sides.before, "after": sides.after, "difference": difference}
    versions = _named(sides.before), _named(sides.after)
    if words:
        pairs = pair_documents(sides.old, sides.new)
        files = [(path, hunks) for path, old, new in pairs if (hunks := diff_words(old.text, new.text))]
        found["files"] = [{"path": path, "hunks": hunks} for path, hunks in files]
        text = "\n".join(row for file in files for row in _file_lines(*file, versions))
    else:
        found["text"], text = sides.text, escape_terminal_lines(sides.text)
    text = f"{print_terminal(tell_difference(difference))}\n\n{text}" if text else ""
    same = f"{sides.skill}: {versions[0]} and {versions[1]} are the same"
    typer.echo(as_json_text(found) if as_json else text or same)


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
