"""The command `clean`: what the program has put into a project, with its size, and removing it."""

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption
from skillopt.commands.output import as_json_text
from skillopt.commands.spending import can_ask
from skillopt.errors import BusyError, RepositoryError, UsageError
from skillopt.project import Project
from skillopt.safety.escaping import escape_terminal
from skillopt.safety.plurals import count_noun
from skillopt.sandbox.roots import packages_folder
from skillopt.storage.jobs import JobState, list_jobs
from skillopt.storage.ledger import Ledger, Prunable, prunable_answers, prune_answers
from skillopt.storage.locks import is_locked
from skillopt.storage.notes import is_unreported
from skillopt.versions.branches import (
    DRAFT_BRANCHES,
    VERSION_BRANCHES,
    DraftBranch,
    list_branches,
    people_commits,
)
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import find_skill_folder

_RUNS, _BRANCHES, _CACHE = "runs", "branches", "cache"
_KILO, _MEGA = 1024, 1_000_000
_MOST_DAYS = 36_500


@dataclass(frozen=True, slots=True)
class _Removable:
    """Something that can be removed."""

    kind: str
    name: str
    size: int | None
    note: str
    kept: str = ""
    tip: str = ""


def clean(
    *,
    runs: Annotated[bool, typer.Option("--runs", help="Remove runs, jobs, cached results and hand-offs.")] = False,
    branches: Annotated[
        bool,
        typer.Option(
            "--branches",
            help="Remove branches skillopt/* and skillopt-draft/*, accepted versions too.",
        ),
    ] = False,
    records: Annotated[bool, typer.Option("--records", help="Remove old cached results that no run needs.")] = False,
    cache: Annotated[
        bool, typer.Option("--cache", help="Remove Python packages of tasks, which all projects share.")
    ] = False,
    days: Annotated[
        int,
        typer.Option("--days", min=0, max=_MOST_DAYS, help="With --records, keep results of so many days."),
    ] = 90,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what skillopt stores in this project, with sizes, and remove what you name.

    Without an option nothing is removed. skillopt.toml, skills and suites are yours and stay. With --records, runs
    stay with their events, the rollouts that gates compared, and all answers of each skill's newest run and of skills
    with a run that can go on.
    """
    root = Project.find(Path.cwd()).root
    kinds = {kind for kind, named in ((_RUNS, runs), (_BRANCHES, branches), (_CACHE, cache)) if named}
    if records and kinds:
        raise typer.BadParameter("expected --records alone, found other kinds; remove these by another call")
    if records:
        _clean_records(root, days, dry_run=dry_run, yes=yes, as_json=as_json)
        return
    found = [one for one in (*_state(root), *_branches(root), *_cached()) if one.kind in (kinds or {one.kind})]
    remove = bool(kinds) and not dry_run and not all(one.kept for one in found)
    if remove:
        if not yes:
            _confirm(_listed(found, asked=True))
        _remove(root, found, kinds)
    if as_json:
        typer.echo(as_json_text({"items": found, "removed": remove}))
    else:
        typer.echo(_removed(found) if remove else _listed(found, asked=bool(kinds)))


def _confirm(listed: str) -> None:
    """Ask on a terminal."""
    if not can_ask():
        raise UsageError("expected --yes where nobody can be asked, found none; see what would go with --dry-run")
    typer.echo(listed, err=True)
    if not typer.confirm("Remove this?", err=True):
        typer.echo("nothing was removed", err=True)
        raise typer.Exit


def _listed(found: Sequence[_Removable], *, asked: bool) -> str:
    if not found:
        return "nothing to remove"
    hint = [] if asked else ["nothing was removed; remove with --records, --runs, --branches or --cache"]
    return "\n".join([*map(_line, found), *hint])


def _removed(found: Sequence[_Removable]) -> str:
    gone = [one for one in found if not one.kept]
    told = f"removed {', '.join(one.name for one in gone)}: {_bytes(sum(one.size or 0 for one in gone))}"
    return "\n".join([*(_line(one) for one in found if one.kept), told])


def _line(one: _Removable) -> str:
    size = "" if one.size is None else f", {_bytes(one.size)}"
    kept = f"; kept: {one.kept}" if one.kept else ""
    return escape_terminal(f"{one.kind:<10}  {one.name}{size}: {one.note}{kept}")


def _bytes(size: float) -> str:
    for unit in ("bytes", "KiB", "MiB"):
        if size < _KILO:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= _KILO
    return f"{size:.1f} GiB"


def _remove(root: Path, chosen: Sequence[_Removable], kinds: Collection[str]) -> None:
    """Remove what was listed and has no reason to be kept."""
    _refuse_while_busy(root)
    for one in (one for one in chosen if not one.kept):
        if one.kind == _BRANCHES:
            Repository.find(root).move_branch(f"refs/heads/{one.name}", one.tip, None)
        else:
            _remove_path(root / one.name)
    state = root / ".skillopt"
    if _RUNS in kinds and state.is_dir() and {path.name for path in state.iterdir()} <= {".gitignore"}:
        shutil.rmtree(state)


def _state(root: Path) -> Iterator[_Removable]:
    """List what stands in the state folder."""
    state = root / ".skillopt"
    if state.is_symlink():
        raise UsageError(f"expected {state} to be a folder, found a link; remove it by hand")
    for path in sorted(state.iterdir()) if state.is_dir() else ():
        if path.name != ".gitignore":
            note = _NOTES.get(path.name, "state of runs")
            yield _Removable(_RUNS, f".skillopt/{path.name}", _size(path), note)


_NOTES: Final = {
    "ledger.db": "recorded answers, which would be paid for again, and the runs that reports are made of",
    "oracles.jsonl": "which tasks have a solution that passes, without which `suite check` runs them again",
    "handoff": "prompts that are handed off, and their answers",
    "jobs": "what background jobs printed",
    "locks": "who trains what now",
    "trigger-basis": "what descriptions were trained on, without which the next night trains them again",
    "trigger-looks": "the error that trainings of descriptions spent, which the next ones would spend again",
}


def _cached() -> Iterator[_Removable]:
    """List what tasks with an image have left in the user's cache, for all projects."""
    if (folder := packages_folder()).is_dir():
        yield _Removable(_CACHE, str(folder), _size(folder), "Python packages of tasks, installed again when needed")


def _branches(root: Path) -> Iterator[_Removable]:
    """List the branches of versions, drafts and descriptions."""
    try:
        repository = Repository.find(root)
    except RepositoryError:
        return
    head = repository.head()
    for name, tip in list_branches(repository):
        shown = name.removeprefix("refs/heads/")
        kept = _why_kept(repository, name, tip)
        note = "a draft"
        merged = "merged" if head and repository.contains(head, tip) else "not merged into what is checked out"
        if name.startswith(VERSION_BRANCHES):
            versions = repository.versions(name.removeprefix(VERSION_BRANCHES), tip)
            note = f"{count_noun(len(versions), 'accepted version')}, {merged}"
        yield _Removable(_BRANCHES, shown, None, note, kept=kept, tip=tip)


def _why_kept(repository: Repository, name: str, tip: str) -> str:
    """Return why a branch is not removed, empty when it can be: it holds only what training and its commands wrote."""
    if place := repository.checked_out_in(name):
        return f"it is checked out in {place}"
    kinds = (VERSION_BRANCHES, DRAFT_BRANCHES)
    skill = name.removeprefix(next(kind for kind in kinds if name.startswith(kind)))
    ignored = [f"--exclude={kind.removeprefix('refs/heads/')}*" for kind in kinds]
    theirs = people_commits(repository, skill, tip, "--not", *ignored, "--branches", *filter(None, [repository.head()]))
    if not theirs and name.startswith(DRAFT_BRANCHES):
        draft = DraftBranch(repository, skill, find_skill_folder(repository, tip, skill) or ".")
        theirs = [] if draft.is_ours(tip) else [tip]
    return f"a person has committed there ({theirs[0][:10]}); remove it with git branch -D" if theirs else ""


def _refuse_while_busy(root: Path) -> None:
    """Refuse to take anything away from under a process."""
    for lock in sorted((root / ".skillopt" / "locks").glob("*.lock")):
        if is_locked(root, lock.stem):
            raise BusyError(f"a process is training {lock.stem!r}; wait for it or end it, then run this again")
    for job in list_jobs(root):
        if job.state is JobState.RUNNING:
            raise BusyError(f"job {job.id} is running; wait for it, or end it with `skillopt jobs {job.id} --cancel`")


def _remove_path(path: Path) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot remove {path}: {error.strerror or error}; make it writable") from error


def _size(path: Path) -> int:
    """Sum the bytes of a file or of all files below a folder; links are not followed."""
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum(_size(inside) for inside in path.iterdir())


def _clean_records(root: Path, days: int, *, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove or count answers older than some days; those of runs that can resume or are a skill's newest stay."""
    before = (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    with closing(Ledger.open(root, read_only=True)) as ledger:
        runs, path = _kept(root, ledger, before), ledger.path
    found = prunable_answers(path, before, runs)
    if not dry_run:
        if not yes:
            _confirm(_records_text(found, days, removed=False))
        _refuse_while_busy(root)
        found = prune_answers(path, before, runs)
    said = {"days": days, "answers": found, "kept_runs": len(runs), "removed": not dry_run}
    typer.echo(as_json_text(said) if as_json else _records_text(found, days, removed=not dry_run))


def _records_text(answers: Prunable, days: int, *, removed: bool) -> str:
    what = (
        f"{count_noun(answers.rollouts, 'rollout')}, {answers.replies} replies and "
        f"{count_noun(answers.failures, 'failed rollout')} older than {count_noun(days, 'day')}"
    )
    before, after = (size / _MEGA for size in answers.size)
    if not removed:
        return f"would remove {what} from a ledger of {before:.1f} MB; nothing was removed"
    return f"removed {what}: the ledger had {before:.1f} MB, has {after:.1f} MB"


def _kept(root: Path, ledger: Ledger, before: str) -> list[str]:
    """List the ids of the runs all of whose answers stay."""
    runs = ledger.runs()
    # A run that goes on asks for what earlier runs of its skill paid for, too.
    going_on = {run.skill for run in runs if run.state != "finished" or is_unreported(root, run.id)}
    newest = {run.skill: run.id for run in reversed(runs) if run.kind != "gate"}
    return [
        run.id
        for run in runs
        if max(run.started_at, run.ended_at) >= before or run.skill in going_on or newest.get(run.skill) == run.id
    ]
