"""The command `init`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show

if TYPE_CHECKING:
    from skillopt.agents.registration import Registered
    from skillopt.commands.init import Initialized

__all__ = ["init"]


def init(
    *,
    client: Annotated[
        Literal["claude-code", "codex", "both"] | None, typer.Option(help="Register skillopt-mcp with it instead.")
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take what --client added out again.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what --client would change.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Write skillopt.toml for the skills that are there."""
    if client or undo or dry_run:
        from skillopt.agents.registration import register

        register(client, announce=lambda result: show(result, _registered, as_json=as_json), undo=undo, dry_run=dry_run)
        return
    from skillopt.commands.init import init as run

    show(run(), _text, as_json=as_json)


def _text(result: "Initialized") -> str:
    lines = [f"{'wrote' if result.created else 'kept'} {result.config}"]
    lines += [
        f"skill {name}: {path}, {f'suite {suite}' if suite else 'no suite yet'}" for name, path, suite in result.skills
    ]
    if not result.skills:
        lines.append("no skills found; name one in the file")
    return "\n".join([*lines, "next: skillopt doctor"])


def _registered(result: "Registered") -> str:
    lines = []
    for change in result.changes:
        does = f"would {change.action}" if result.dry_run and change.text else change.action
        place = "from" if change.action == "remove" else "to" if change.action == "add" else "as it is"
        lines.append(f"{change.client}: {does} {place} {change.path}{f', {change.reason}' if change.reason else ''}")
        lines += [f"  {'-' if change.action == 'remove' else '+'} {line}" for line in change.text.splitlines()]
    if not result.program:
        lines.append("skillopt-mcp is not on the PATH; install it with: pipx install skillopt-mcp")
    return "\n".join(lines)
