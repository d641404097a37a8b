"""The command `diff`."""

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption, SkillArgument, select
from skillopt.cli.output import as_json_text, show

if TYPE_CHECKING:
    from skillopt.project import Selection

__all__ = ["diff"]


def diff(
    skill: SkillArgument = None,
    before: Annotated[str | None, typer.Argument(help="A version, or worktree; the first text when left out.")] = None,
    after: Annotated[str | None, typer.Argument(help="A version, or worktree; the newest when left out.")] = None,
    *,
    words: Annotated[bool, typer.Option("--words", help="Word by word: in colours, else [-gone-]{+new+}.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what changed between two versions of the skill."""
    if words:
        _show_words(select(skill), before, after, as_json=as_json)
        return
    from skillopt.commands.diff import diff as run

    show(run(select(skill), before, after), as_json=as_json)


def _show_words(selection: "Selection", before: str | None, after: str | None, *, as_json: bool) -> None:
    from skillopt.commands.diff import diff_by_words
    from skillopt.history_text import render_words

    found = diff_by_words(selection, before, after)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    typer.echo(as_json_text(found) if as_json else render_words(found, colour=colour))
