"""The command `status`: how far the newest runs in the ledger are, what it holds in all, and the jobs under way."""

from contextlib import closing, suppress
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import as_json_text, fold_lines, format_usage, job_line
from skillopt.errors import SkilloptError
from skillopt.project import Project, Selection
from skillopt.runs.plan import is_new_text
from skillopt.runs.recorded import RunStatus, run_status
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun
from skillopt.storage.jobs import JobState, list_jobs
from skillopt.storage.ledger import Ledger
from skillopt.storage.notes import read_looks, trained_descriptions
from skillopt.versions.decisions import declined_runs

_INDENT = "\n  spent by the "
_MOST_RUNS = 100


def status(
    skill: Annotated[str, typer.Argument(help="Only runs of the skill with this name.")] = "",
    *,
    as_json: JsonOption = False,
) -> None:
    """List the newest runs of this project."""
    project = Project.find(Path.cwd())
    with closing(Ledger.open(project.root, read_only=True)) as ledger:
        counts, found = ledger.counts(), ledger.runs(skill, _MOST_RUNS + 1)
        declined = declined_runs(project.repository, [record.skill for record in found[:_MOST_RUNS]])
        runs = [run_status(project.root, ledger, one, declined.get(one.id, "")) for one in found[:_MOST_RUNS]]
    jobs, more = list_jobs(project.root), len(found) > _MOST_RUNS
    newer = list(filter(None, (_new_upstream(project, name) for name in dict.fromkeys(one.skill for one in found))))
    described = [_description(project, name) for name in trained_descriptions(project.root) if skill in ("", name)]
    if as_json:
        said = {"runs": runs, "rollouts": counts.rollouts, "replies": counts.replies, "jobs": jobs, "more": more}
        typer.echo(as_json_text(said | {"new_upstream": newer, "descriptions": described}))
        return
    under_way = [f"job {job_line(job)}" for job in jobs if job.state is JobState.RUNNING]
    older = ["older runs are not listed; `skillopt status SKILL` lists those of one skill"] if more else []
    recorded = f"recorded: {counts.rollouts} rollouts, {counts.replies} replies"
    lines = [*under_way, *(map(_line, runs) if runs else ["no runs yet"]), *older, *newer, *described, recorded]
    typer.echo(fold_lines("\n".join(lines)))


def _new_upstream(project: Project, skill: str) -> str:
    """Say that the folder of a skill has a text that its branch does not know; empty where it has none."""
    with suppress(SkilloptError):  # the skill may be gone by now
        target, repository = project.target(Selection(skill, folder=project.root)), project.repository()
        if repository.versions(target.name) and is_new_text(target, repository, target.skill()):
            path = quote(repository.relative(target.folder))
            return f"{skill}: {path} has a new text; skillopt update {skill} --onto {path} keeps what was learned"
    return ""


def _description(project: Project, skill: str) -> str:
    """Say how often the description of a skill was trained, and what the last training gave."""
    looks = read_looks(project.root, skill)
    ended = "accepted" if looks and looks[-1].accepted else "not accepted"
    return f"{skill}: description trained {count_noun(len(looks), 'time')}, the last one {ended}"


def _line(row: RunStatus) -> str:
    gate = row.kind == "gate"
    return (
        f"{row.run}  {row.started_at}  {row.skill}: {'gate, ' if gate else ''}{row.state}"
        f"{'' if gate else f', step {row.step}, ' + count_noun(row.versions, 'version')}"
        f"{_then(row.headline.words if row.headline and not gate else '')}"
        f"{_then(f'draft {row.draft}' if row.draft and row.state != 'running' else '')}"
        f"{f' ({row.reason})' if row.reason else ''}"
        f"{_then(escape_terminal(row.declined))}"
        f"{''.join(f'{_INDENT}{role}: {format_usage(usage, role)}' for role, usage in row.spent.items())}"
    )


def _then(text: str) -> str:
    """Join what may be empty to what stands before it."""
    return f", {text}" if text else ""
