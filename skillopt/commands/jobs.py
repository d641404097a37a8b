"""The command `jobs`: its options, and its results as text."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import format_usage, job_line, show

if TYPE_CHECKING:
    from skillopt.actions.jobs import JobReport, Jobs

__all__ = ["jobs"]


def jobs(
    job_id: Annotated[str | None, typer.Argument(metavar="[JOB]", help="Id of a job; all when left out.")] = None,
    *,
    wait: Annotated[float, typer.Option("--wait", metavar="SECONDS", help="Wait for its end, at most so long.")] = 0.0,
    cancel: Annotated[bool, typer.Option("--cancel", help="End it; the answers it recorded are kept.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the newest jobs that agents started, or show one and what to do next.

    The first --cancel waits for calls under way, which are paid for; a second one drops them.
    """
    from skillopt.actions import jobs as actions

    if job_id is None:
        if cancel or wait:
            raise typer.BadParameter("expected the id of a job with --cancel and --wait; `skillopt jobs` lists them")
        show(actions.jobs(), _list_text, as_json=as_json)
        return
    show(actions.cancel(job_id) if cancel else actions.job(job_id, wait=wait), _job_text, as_json=as_json)


def _list_text(result: "Jobs") -> str:
    return "\n".join(map(job_line, result.jobs)) or "no jobs yet; agents start them through skillopt-mcp"


def _job_text(result: "JobReport") -> str:
    lines = [job_line(result.job), *([result.line] if result.line else []), *result.events]
    lines += [f"spent by the {role}: {format_usage(usage)}" for role, usage in result.spent.items()]
    output = result.job.output if result.job.exit_code is not None else ""
    lines += [part.rstrip() for part in (result.job.progress, output) if part.strip()]
    return "\n".join([*lines, f"next: {result.next_step}"])
