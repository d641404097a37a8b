"""The commands by which a person says what the newest version is, `take` and `rollback`: options, results as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption, SkillArgument, select
from skillopt.commands.output import show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.actions.rollback import RolledBack
    from skillopt.actions.take import Taken

__all__ = ["rollback", "take"]


def take(skill: SkillArgument = None, *, as_json: JsonOption = False) -> None:
    """Make the draft a version by your word.

    Its commit says what was shown of it and who took it. `skillopt diff SKILL draft` shows it first.
    """
    from skillopt.actions.take import take as run

    show(run(select(skill)), _taken_text, as_json=as_json)


def rollback(
    skill: Annotated[str, typer.Argument(help="Name in skillopt.toml, or a skill folder.")],
    version: Annotated[str, typer.Argument(help="The version to publish again.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Publish an older version as a new commit."""
    from skillopt.actions.rollback import rollback as run

    show(run(select(skill), version), _rollback_text, as_json=as_json)


def _taken_text(result: "Taken") -> str:
    from skillopt.gate.grade_words import grade_words

    lines = [f"{result.branch} is now {result.commit[:10]}, taken by {escape_terminal(result.by)}"]
    lines.append(f"what was shown of it: {grade_words(result.grading)}")
    if not result.recorded:
        lines.append("the ledger here holds nothing of its run; this is what its commit says")
    lines += [f"look at this: {escape_terminal(remark)}" for remark in result.remarks]
    return "\n".join([*lines, f"to undo: skillopt log {result.skill}; skillopt rollback {result.skill} VERSION"])


def _rollback_text(result: "RolledBack") -> str:
    return f"{result.branch} is now {result.commit[:10]}, with the text of {result.version[:10]}"
