"""The commands `jobs`, `job` and `cancel`: their options, and their results as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import format_usage, job_line, show

if TYPE_CHECKING:
    from skillopt.commands.jobs import JobReport, Jobs

__all__ = ["cancel", "job", "jobs"]

_JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job, as `skillopt jobs` lists it.")]


def jobs(*, as_json: JsonOption = False) -> None:
    """List the newest jobs that agents started."""
    from skillopt.commands.jobs import jobs as run

    show(run(), _list_text, as_json=as_json)


def job(
    job_id: _JobArgument,
    *,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="Wait for its end, at most so long.")] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Show the state of a job, and what to do next."""
    from skillopt.commands.jobs import job as run

    show(run(job_id, wait=wait), _job_text, as_json=as_json)


def cancel(job_id: _JobArgument, *, as_json: JsonOption = False) -> None:
    """End a job; the answers it recorded are kept.

    The first time it waits for calls under way, which are paid for; a second time it drops them.
    """
    from skillopt.commands.jobs import cancel as run

    show(run(job_id), _job_text, as_json=as_json)


def _list_text(result: "Jobs") -> str:
    return "\n".join(map(job_line, result.jobs)) or "no jobs yet; agents start them through skillopt-mcp"


def _job_text(result: "JobReport") -> str:
    lines = [job_line(result.job), *([result.line] if result.line else []), *result.events]
    lines += [f"spent by the {role}: {format_usage(usage)}" for role, usage in result.spent.items()]
    output = result.job.output if result.job.exit_code is not None else ""
    lines += [part.rstrip() for part in (result.job.progress, output) if part.strip()]
    return "\n".join([*lines, f"next: {result.next_step}"])
