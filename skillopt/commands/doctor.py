"""The command `doctor`: its options, and its result as text."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import show
from skillopt.safety.escaping import escape_terminal, escape_terminal_lines

if TYPE_CHECKING:
    from skillopt.actions.doctor import Check, Diagnosis

__all__ = ["doctor"]


def doctor(
    *,
    probe: Annotated[bool, typer.Option("--probe", help="Spend one call for each role.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Check what a run needs.

    On a terminal it asks about each agent of skillopt.toml that has a table of its own, before its command runs.
    Ends with 2 when a check fails; each failing row says how to mend it.
    """
    from skillopt.actions.doctor import doctor as run
    from skillopt.actions.doctor import find_unagreed_agents

    if not as_json and sys.stdin.isatty() and sys.stderr.isatty():
        for terms in find_unagreed_agents():
            if typer.confirm(f"{escape_terminal(terms.words)}. Do you agree?", err=True):
                terms.agree()
    diagnosis = run(probe=probe)
    show(diagnosis, _text, as_json=as_json)
    if not diagnosis.healthy:
        raise typer.Exit(2)


def _text(result: "Diagnosis") -> str:
    return "\n".join(line for check in result.checks for line in _lines(check))


def _lines(check: "Check") -> list[str]:
    state = "FAIL" if not check.ok else "warn" if check.warnings else "ok  "
    found = escape_terminal_lines(f"{state} {check.name}: {check.found}")
    return [found, *(f"     {escape_terminal(line)}" for line in check.warnings)]
