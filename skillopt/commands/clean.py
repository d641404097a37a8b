"""The command `clean`: its options, and its result as text."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.actions.clean import Removable, Traces
    from skillopt.actions.prune import Pruned

__all__ = ["clean"]

_KILO, _MEGA = 1024, 1_000_000
_MOST_DAYS = 36_500


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
    records: Annotated[
        bool, typer.Option("--records", help="Remove old recorded answers that no run, version or draft needs.")
    ] = False,
    days: Annotated[
        int,
        typer.Option("--days", min=0, max=_MOST_DAYS, help="With --records, answers of the last so many days stay."),
    ] = 90,
    everything: Annotated[bool, typer.Option("--all", help="All of it but the branches.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what skillopt has left in this project, with sizes, and remove what you name.

    Without an option nothing is removed. skillopt.toml, skills and suites are yours and stay. With --records, runs
    stay with their events, the rollouts that gates compared, and all answers of runs that can go on, that brought a
    version or a draft, and of each skill's newest run.
    """
    from skillopt.actions.clean import Trace, list_traces
    from skillopt.actions.clean import clean as run

    wanted = {
        Trace.WORKSPACES: workspaces or everything,
        Trace.RUNS: runs or everything,
        Trace.BRANCHES: branches,
    }
    if records:
        if any(wanted.values()):
            raise typer.BadParameter("expected --records alone, found other kinds; remove these by another call")
        _clean_records(days, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    kinds = {kind for kind, named in wanted.items() if named}
    found = list_traces(kinds or tuple(Trace))
    if not kinds or dry_run or all(one.kept for one in found.items):
        show(found, lambda result: _listed(result, asked=bool(kinds)), as_json=as_json)
        return
    if not yes:
        _confirm(_listed(found, asked=True))
    show(run(kinds), _removed, as_json=as_json)


def _clean_records(days: int, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove old recorded answers, or count them."""
    from skillopt.actions.prune import prune

    if not (dry_run or yes):
        _confirm(_records_text(prune(days, dry_run=True)))
    show(prune(days, dry_run=dry_run), _records_text, as_json=as_json)


def _records_text(found: "Pruned") -> str:
    from skillopt.safety.plurals import count_noun

    answers = found.answers
    what = (
        f"{count_noun(answers.rollouts, 'rollout')}, {answers.replies} replies and "
        f"{count_noun(answers.failures, 'failed rollout')} older than {count_noun(found.days, 'day')}"
    )
    before, after = (size / _MEGA for size in answers.size)
    if not found.removed:
        return f"would remove {what} from a ledger of {before:.1f} MB; nothing was removed"
    return f"removed {what}: the ledger had {before:.1f} MB, has {after:.1f} MB"


def _confirm(listed: str) -> None:
    """Ask on a terminal."""
    if not _is_terminal():
        from skillopt.errors import UsageError

        raise UsageError("expected --yes where nobody can be asked, found none; see what would go with --dry-run")
    typer.echo(listed, err=True)
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
        lines.append(
            "nothing was removed; remove with --workspaces, --records, --runs, --branches, or --all (no branches)"
        )
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
