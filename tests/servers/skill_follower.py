"""A model that follows the skill it has read; what it does changes when the skill does.

Not a language model: it understands table rules (the reading of `skillopt.harnesses`) and the
optimizer's prompts (the embedded model). The fake providers put it behind their wire formats.
"""

import shlex
from dataclasses import dataclass

from skillopt.harnesses.rule_reading import read_rules
from skillopt.harnesses.table_operations import apply_operations, settle
from skillopt.harnesses.tables import Table
from skillopt.models.embedded import EmbeddedModel
from skillopt.models.embedded_prompts import read_prompt

__all__ = ["READ_INPUT", "Turn", "clean", "next_turn", "optimize", "write_output"]

READ_INPUT = "cat input.csv"


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says, and the shell command it wants run, if any."""

    text: str
    command: str = ""


def next_turn(skill: str, commands: tuple[str, ...], table: str) -> Turn:
    """Decide the next step of a table task.

    Args:
        skill: The skill's body, empty when it has not been read.
        commands: Shell commands run so far.
        table: What reading the input printed, if it was read.
    """
    if READ_INPUT not in commands:
        return Turn("I read the table first.", READ_INPUT)
    if not any(command.startswith("printf") for command in commands):
        return Turn("I write the cleaned table.", write_output(clean(skill, table)))
    return Turn("Wrote output.csv.")


def clean(skill: str, table: str) -> str:
    """Apply every rule of a skill that is recognised to a table."""
    rules = [(operation, rule.clear) for rule in read_rules(skill) for operation in (rule.readings or ((),))[0]]
    return apply_operations(Table.parse(table), settle(rules)).render()


def write_output(content: str) -> str:
    """Give the shell command that writes the output."""
    return f"printf %s {shlex.quote(content)} > output.csv"


def optimize(texts: tuple[str, ...]) -> str | None:
    """Answer an optimizer's prompt when one of the texts is one."""
    for text in texts:
        if read_prompt(text).task:
            return EmbeddedModel(seed=1).reply(text).text
    return None
