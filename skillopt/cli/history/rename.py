"""The command `rename`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show
from skillopt.safety.plurals import count_noun

if TYPE_CHECKING:
    from skillopt.commands.history.rename import RenamedSkill

__all__ = ["rename"]


def rename(
    old: Annotated[str, typer.Argument(help="What the skill was called: the name of its branch.")],
    new: Annotated[str, typer.Argument(help="Its name or folder now.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Keep the history of a skill whose folder was renamed.

    Rename the folder first. Branches, runs and the table in skillopt.toml get the new name; old commits stay as they
    are.
    """
    from skillopt.commands.history.rename import rename as run

    show(run(old, new), _text, as_json=as_json)


def _text(result: "RenamedSkill") -> str:
    lines = [f"{result.old} is {result.new} now: {count_noun(result.runs, 'recorded run')}"]
    lines += [f"branch {branch}" for branch in (result.branch, result.draft, result.descriptions) if branch]
    lines += [f"table [skills.{result.new}] in skillopt.toml"] if result.table else []
    kinds = (("skillopt", result.branch), ("skillopt-trigger", result.descriptions))
    if moved := [f"{start}/{result.old}" for start, branch in kinds if branch]:
        what = "branch; to remove it" if len(moved) == 1 else "branches; to remove them"
        lines.append(f"a remote still has the old {what}: git push REMOTE --delete {' '.join(moved)}")
    return "\n".join(lines)
