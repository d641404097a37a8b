"""The command `jobs`: the jobs that agents started, one of them, or its end."""

from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import as_json_text, format_usage, job_line, show
from skillopt.project import Project
from skillopt.runs.jobs import progress_line, report_job
from skillopt.storage.jobs import cancel_job, list_jobs, wait_for_job


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
    root = Project.find(Path.cwd()).root
    if job_id is None:
        if cancel or wait:
            raise typer.BadParameter("expected the id of a job with --cancel and --wait; `skillopt jobs` lists them")
        found = list_jobs(root)
        listed = "\n".join(map(job_line, found)) or "no jobs yet; agents start them through skillopt-mcp"
        typer.echo(as_json_text({"jobs": found}) if as_json else listed)
        return
    result = report_job(root, cancel_job(root, job_id) if cancel else wait_for_job(root, job_id, wait))
    lines = [job_line(result.job), *filter(None, [progress_line(result.job)]), *result.events]
    lines += [f"spent by the {role}: {format_usage(usage, role)}" for role, usage in result.spent.items()]
    output = result.job.output if result.job.exit_code is not None else ""
    lines += [part.rstrip() for part in (result.job.progress, output) if part.strip()]
    lines.append(f"next: {result.next_step}")
    show(result, lambda _: "\n".join(lines), as_json=as_json)
