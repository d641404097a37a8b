"""The command `diff`: two versions of a skill compared line by line, from git."""

import re
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import SHORT, as_json_text
from skillopt.project import Selection
from skillopt.reports.markdown import tell_difference
from skillopt.reports.terminal import print_terminal
from skillopt.runs.history import compare_versions, difference_of_files
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines

_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")


def diff(
    skill: SkillArgument = None,
    before: Annotated[
        str | None, typer.Argument(help="A version, worktree or draft; the first text when left out.")
    ] = None,
    after: Annotated[str | None, typer.Argument(help="As before; the newest version when left out.")] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Show what changed between two versions of the skill.

    `diff SKILL draft` shows what the draft changes.
    """
    sides = compare_versions(Selection(skill), before, after)
    difference = difference_of_files(sides.old, sides.new)
    found = {
        "skill": sides.skill,
        "before": sides.before,
        "after": sides.after,
        "difference": difference,
        "text": sides.text,
    }
    versions = _named(sides.before), _named(sides.after)
    changed = escape_terminal_lines(sides.text)
    text = f"{print_terminal(tell_difference(difference))}\n\n{changed}" if changed else ""
    same = f"{sides.skill}: {versions[0]} and {versions[1]} are the same"
    typer.echo(as_json_text(found) if as_json else text or same)


def _named(version: str) -> str:
    """Shorten a commit; what the user typed otherwise stays as it is."""
    return version[:SHORT] if _COMMIT.fullmatch(version) else escape_terminal(version)
