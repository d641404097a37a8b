"""The command `status`: how far the newest runs in the ledger are, what it holds in all, and the jobs under way."""

from contextlib import closing, suppress
from pathlib import Path
from typing import Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import as_json_text, fold_lines, format_usage, job_line
from skillopt.errors import SkilloptError
from skillopt.project import Project, Selection
from skillopt.runs.plan import is_new_text
from skillopt.runs.recorded import RunStatus, run_status
from skillopt.safety.escaping import count_noun
from skillopt.storage.jobs import JobState, list_jobs
from skillopt.storage.ledger import Ledger

_MOST_RUNS = 100
"""Newest runs that are listed: each is read from the ledger, and more than a few screens nobody reads."""


def status(
    skill: Annotated[str, typer.Argument(help="Only runs of the skill with this name.")] = "",
    *,
    as_json: JsonOption = False,
) -> None:
    """List the newest runs of this project."""
    project = Project.find(Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        counts, found = ledger.counts(), ledger.runs(skill, _MOST_RUNS + 1)
        runs = [run_status(project.root, ledger, one) for one in found[:_MOST_RUNS]]
    jobs, more = list_jobs(project.root), len(found) > _MOST_RUNS
    newer = list(filter(None, (_new_upstream(project, name) for name in dict.fromkeys(one.skill for one in found))))
    if as_json:
        said = {"runs": runs, "rollouts": counts["rollout"], "replies": counts["reply"], "jobs": jobs, "more": more}
        typer.echo(as_json_text(said | {"new_upstream": newer}))
        return
    under_way = [f"job {job_line(job)}" for job in jobs if job.state is JobState.RUNNING]
    older = ["older runs are not listed; `skillopt status SKILL` lists those of one skill"] if more else []
    recorded = f"recorded: {counts['rollout']} rollouts, {counts['reply']} replies"
    lines = [*under_way, *(map(_line, runs) if runs else ["no runs yet"]), *older, *newer, recorded]
    typer.echo(fold_lines("\n".join(lines)))


def _new_upstream(project: Project, skill: str) -> str:
    """Say that the folder of a skill has a text that its branch does not know; empty where it has none."""
    with suppress(SkilloptError):  # the skill may be gone by now
        target, repository = project.target(Selection(skill, folder=project.root)), project.repository()
        if repository.versions(target.name) and is_new_text(target, repository, target.skill()):
            place = repository.relative(target.folder)
            return f"{skill}: {place} has a new text; git merge it into skillopt/{skill} to keep what was learned"
    return ""


def _line(row: RunStatus) -> str:
    parts = [f"{row.run}  {row.started_at}  {row.skill}: {'gate, ' if row.kind == 'gate' else ''}{row.state}"]
    if row.kind != "gate":
        parts += [f"step {row.step}", count_noun(row.versions, "version")]
        parts += [row.headline.words] if row.headline else []
    parts += [f"draft {row.draft}"] if row.draft and row.state != "running" else []
    line = f"{', '.join(parts)}{f' ({row.reason})' if row.reason else ''}"
    return "\n".join(
        [line, *(f"  spent by the {role}: {format_usage(usage, role)}" for role, usage in row.spent.items())]
    )
