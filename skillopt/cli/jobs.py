"""The commands for jobs, which run in processes of their own: `jobs`, `job`, `cancel`."""

from typing import Annotated

import typer

from skillopt.cli.options import JsonOption
from skillopt.cli.output import show

__all__ = ["cancel", "job", "jobs"]

_JobArgument = Annotated[str, typer.Argument(metavar="JOB", help="Id of the job, as `skillopt jobs` lists it.")]


def jobs(*, as_json: JsonOption = False) -> None:
    """List the newest jobs that agents started."""
    from skillopt.commands.jobs import jobs as run

    show(run(), as_json=as_json)


def job(
    job_id: _JobArgument,
    *,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="Wait for its end, so long at most.")] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Show how a job is, and what to do next."""
    from skillopt.commands.jobs import job as run

    show(run(job_id, wait=wait), as_json=as_json)


def cancel(job_id: _JobArgument, *, as_json: JsonOption = False) -> None:
    """End a job; what it was answered is kept.

    The first time it waits for calls under way, which are paid for; a second time it drops them.
    """
    from skillopt.commands.jobs import cancel as run

    show(run(job_id), as_json=as_json)
