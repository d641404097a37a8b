"""The command `clean`: its options, and its result as text."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.commands.clean import Removable, Traces

__all__ = ["clean"]

_KILO = 1024


def clean(
    *,
    workspaces: Annotated[bool, typer.Option("--workspaces", help="Remove what lies handed off.")] = False,
    runs: Annotated[bool, typer.Option("--runs", help="Remove runs, jobs and recorded answers.")] = False,
    branches: Annotated[
        bool,
        typer.Option(
            "--branches",
            help="Remove branches skillopt/*, skillopt-draft/* and skillopt-trigger/*, accepted versions too.",
        ),
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="All of it but the branches.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what skillopt has left in this project, with sizes, and remove what you name.

    Without an option nothing is removed. skillopt.toml, skills and suites are yours and stay.
    """
    from skillopt.commands.clean import Trace, list_traces
    from skillopt.commands.clean import clean as run

    wanted = {
        Trace.WORKSPACES: workspaces or everything,
        Trace.RUNS: runs or everything,
        Trace.BRANCHES: branches,
    }
    kinds = {kind for kind, named in wanted.items() if named}
    found = list_traces(kinds or tuple(Trace))
    if not kinds or dry_run or all(one.kept for one in found.items):
        show(found, lambda result: _listed(result, asked=bool(kinds)), as_json=as_json)
        return
    if not yes:
        _confirm(found)
    show(run(kinds), _removed, as_json=as_json)


def _confirm(found: "Traces") -> None:
    """Ask on a terminal.

    Raises:
        UsageError: There is none to ask on.
        Exit: The answer is no.
    """
    if not _is_terminal():
        from skillopt.errors import UsageError

        raise UsageError("expected --yes where nobody can be asked, found none; see what would go with --dry-run")
    typer.echo(_listed(found, asked=True), err=True)
    if not typer.confirm("Remove this?", err=True):
        typer.echo("nothing was removed", err=True)
        raise typer.Exit


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _listed(found: "Traces", *, asked: bool) -> str:
    if not found.items:
        return "nothing to remove"
    lines = [_line(one) for one in found.items]
    if not asked:
        lines.append("nothing was removed; remove with --workspaces, --runs, --branches, or --all (no branches)")
    return "\n".join(lines)


def _removed(found: "Traces") -> str:
    gone = [one for one in found.items if not one.kept]
    lines = [_line(one) for one in found.items if one.kept]
    return "\n".join(
        [*lines, f"removed {', '.join(one.name for one in gone)}: {_bytes(sum(one.size or 0 for one in gone))}"]
    )


def _line(one: "Removable") -> str:
    size = "" if one.size is None else f", {_bytes(one.size)}"
    kept = f"; kept: {one.kept}" if one.kept else ""
    return escape_terminal(f"{one.kind:<10}  {one.name}{size}: {one.note}{kept}")


def _bytes(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < _KILO:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= _KILO
    return f"{size:.1f} GiB"
