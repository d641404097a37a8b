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
    if as_json:
        found = {"skill": sides.skill, "before": sides.before, "after": sides.after, "text": sides.text}
        typer.echo(as_json_text(found | {"difference": difference}))
    elif sides.text:
        typer.echo(f"{print_terminal(tell_difference(difference))}\n\n{escape_terminal_lines(sides.text)}")
    else:
        named = (one[:SHORT] if _COMMIT.fullmatch(one) else escape_terminal(one) for one in (sides.before, sides.after))
        typer.echo(f"{sides.skill}: {' and '.join(named)} are the same")
