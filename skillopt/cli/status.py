"""The command `status`: its options, and its result as text."""

from typing import TYPE_CHECKING

from skillopt.cli.options import JsonOption
from skillopt.cli.output import format_usage, job_line, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.commands.status import StatusReport

__all__ = ["status"]

_INDENT = "\n  spent by the "


def status(*, as_json: JsonOption = False) -> None:
    """List the runs of this project."""
    from skillopt.commands.status import status as run

    show(run(), _text, as_json=as_json)


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
    return "\n".join([*under_way, *(rows or ["no runs yet"]), counts])


def _then(text: str) -> str:
    """Join what may be empty to what stands before it."""
    return f", {text}" if text else ""
