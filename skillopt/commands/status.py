"""The command `status`: its options, and its result as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import format_usage, job_line, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.actions.status import StatusReport

__all__ = ["status"]

_INDENT = "\n  spent by the "


def status(
    *,
    skill: Annotated[str, typer.Option("--skill", help="Only runs of the skill with this name.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, help="Runs that are listed at most.")] = 100,
    as_json: JsonOption = False,
) -> None:
    """List the newest runs of this project."""
    from skillopt.actions.status import status as run

    show(run(skill=skill, most=limit), _text, as_json=as_json)


def _text(result: "StatusReport") -> str:
    from skillopt.safety.plurals import count_noun
    from skillopt.storage.jobs import JobState

    rows = [
        f"{row.run}  {row.started_at}  {row.skill}: {'gate, ' if row.kind == 'gate' else ''}{row.state}"
        f"{'' if row.kind == 'gate' else f', step {row.step}, ' + count_noun(row.versions, 'version')}"
        f"{_then(row.headline.words if row.headline and row.kind != 'gate' else '')}"
        f"{_then(f'draft {row.draft}' if row.draft and row.state != 'running' else '')}"
        f"{f' ({row.reason})' if row.reason else ''}"
        f"{_then(escape_terminal(row.declined))}"
        f"{''.join(f'{_INDENT}{role}: {format_usage(usage)}' for role, usage in row.spent.items())}"
        for row in result.runs
    ]
    under_way = [f"job {job_line(job)}" for job in result.jobs if job.state is JobState.RUNNING]
    counts = f"recorded: {result.rollouts} rollouts, {result.replies} replies"
    older = ["older runs are not listed; list more with --limit, or one skill's with --skill"] if result.more else []
    return "\n".join([*under_way, *(rows or ["no runs yet"]), *older, counts])


def _then(text: str) -> str:
    """Join what may be empty to what stands before it."""
    return f", {text}" if text else ""
