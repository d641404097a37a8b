"""The command `show`: its options, and its result as text."""

import re
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.commands.options import JsonOption, select
from skillopt.commands.output import list_tasks
from skillopt.commands.output import show as print_result
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines

if TYPE_CHECKING:
    from skillopt.actions.show import ShownVersion
    from skillopt.runs.version_record import RecordedEdit

__all__ = ["show"]

_EDIT: Final = re.compile(r"Edit-\d|Refused-Edit$")
"""Trailers with edits for programs; the message says the same in words."""


def show(
    version: Annotated[str, typer.Argument(metavar="VERSION", help="A version, as `skillopt log` lists it, or draft.")],
    skill: Annotated[
        str | None, typer.Argument(help="Of which skill the draft is meant. May be left out if there is only one.")
    ] = None,
    *,
    as_json: JsonOption = False,
) -> None:
    """Show a version: what changed and why.

    Each edit with the tasks that motivated it and what leaving it out showed, and what the version is worth, as far
    as the ledger here holds that.
    """
    from skillopt.actions.show import show as run

    print_result(run(select(skill), version), _text, as_json=as_json)


def _text(result: "ShownVersion") -> str:
    """Render a version: message, numbers, edits with what is recorded of each, and the difference."""
    version = result.version
    parts = [f"{result.skill} {version.sha}\n{version.at}  {escape_terminal(version.subject)}"]
    recorded = result.recorded
    # The edits are listed below with more beside them; the last paragraph is the result.
    body = version.body if recorded is None else version.body.rpartition("\n\n")[2]
    if body:
        parts.append(indent(escape_terminal_lines(body), "  "))
    if (word := result.declined) is not None:
        why = f": {escape_terminal(word.reason)}" if word.reason else ""
        parts.append(f"declined by {escape_terminal(word.by)}{why}")
    shown = [(key, value) for key, value in version.trailers if not _EDIT.match(key)]
    parts.append("\n".join(f"{escape_terminal(key)}: {escape_terminal(value)}" for key, value in shown))
    if recorded is not None:
        parts += [_edit(number, edit) for number, edit in enumerate(recorded.edits, 1)]
        verdict = recorded.verdict
        for change, tasks in (("fixed", verdict.fixed), ("broke", verdict.broken)) if verdict else ():
            if tasks:
                parts.append(f"{change} on val: {list_tasks(tasks)}")
    elif result.kind in ("accepted", "taken", "draft"):
        parts.append("the ledger here holds nothing of its run; this is what its commit says")
    return "\n\n".join([*parts, escape_terminal_lines(result.diff) or "no text changed"])


def _edit(number: int, recorded: "RecordedEdit") -> str:
    change, found = recorded.change, recorded.elimination
    lines = [f"edit {number}, about {change.tokens} tokens: {escape_terminal(change.edit.summary)}"]
    lines.append(f"  why: {escape_terminal(change.edit.rationale) or 'no reason was given'}")
    if change.edit.tasks:
        lines.append(f"  motivated by train tasks {list_tasks(change.edit.tasks)}")
    if found is not None:
        scores = "" if found.before is None else f", score {found.before:.3f} without it"
        scores += "" if found.after is None else f", {found.after:.3f} with it"
        lines.append(f"  {escape_terminal(found.reason)}{scores}")
    return "\n".join(lines)
