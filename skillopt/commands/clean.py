"""The command `clean`: what the program has put into a project, with its size, and removing it."""

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
from skillopt.storage.locks import is_locked
from skillopt.versions.branches import DRAFT_BRANCHES, VERSION_BRANCHES, DraftBranch, list_branches, people_commits
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import find_skill_folder

_RUNS, _BRANCHES, _CACHE = "runs", "branches", "cache"

_NOTES: Final = {
    "ledger.db": "recorded answers, which would be paid for again, and the runs that reports are made of",
    "oracles.jsonl": "which tasks have a solution that passes, without which `suite check` runs them again",
    "handoff": "prompts that are handed off, with answers that were not read yet",
    "jobs": "what background jobs printed",
    "locks": "who trains what now",
    "trigger-basis": "what descriptions were trained on, without which the next night trains them again",
    "trigger-looks": "the error that trainings of descriptions spent, which the next ones would spend again",
}


@dataclass(frozen=True, slots=True)
class _Removable:
    """Something that can be removed; `kept` says why it is not."""

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
    cache: Annotated[
        bool, typer.Option("--cache", help="Remove Python packages of tasks, which all projects share.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List what skillopt stores in this project, with sizes, and remove what you name.

    Without an option nothing is removed. skillopt.toml, skills and suites are yours and stay.
    """
    root = Project.find(Path.cwd()).root
    kinds = {kind for kind, named in ((_RUNS, runs), (_BRANCHES, branches), (_CACHE, cache)) if named}
    found = [one for one in (*_state(root), *_branches(root), *_cached()) if one.kind in (kinds or {one.kind})]
    gone = [one for one in found if kinds and not one.kept]
    lines = list(map(_line, found)) or ["nothing to remove"]
    if gone:
        if not yes:
            if not can_ask():
                raise UsageError(
                    "expected --yes where nobody can be asked, found none; see what would go with `skillopt clean`"
                )
            typer.echo("\n".join(lines), err=True)
            if not typer.confirm("Remove this?", err=True):
                typer.echo("nothing was removed", err=True)
                raise typer.Exit
        _remove(root, gone)
        told = f"removed {', '.join(one.name for one in gone)}: {_bytes(sum(one.size or 0 for one in gone))}"
        lines = [*(_line(one) for one in found if one.kept), told]
    elif found and not kinds:
        lines.append("nothing was removed; remove with --runs, --branches or --cache")
    typer.echo(as_json_text({"items": found, "removed": bool(gone)}) if as_json else "\n".join(lines))


def _line(one: _Removable) -> str:
    size = "" if one.size is None else f", {_bytes(one.size)}"
    kept = f"; kept: {one.kept}" if one.kept else ""
    return escape_terminal(f"{one.kind:<10}  {one.name}{size}: {one.note}{kept}")


def _bytes(size: int) -> str:
    return f"{size / 1_000_000:.1f} MB"


def _remove(root: Path, gone: Sequence[_Removable]) -> None:
    """Remove what was listed, but nothing from under a process."""
    for lock in sorted((root / ".skillopt" / "locks").glob("*.lock")):
        if is_locked(root, lock.stem):
            raise BusyError(f"a process is training {lock.stem!r}; wait for it or end it, then run this again")
    for job in list_jobs(root):
        if job.state is JobState.RUNNING:
            raise BusyError(f"job {job.id} is running; wait for it, or end it with `skillopt jobs {job.id} --cancel`")
    for one in gone:
        if one.kind == _BRANCHES:
            Repository.find(root).move_branch(f"refs/heads/{one.name}", one.tip, None)
            continue
        path = root / one.name
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise UsageError(f"cannot remove {path}: {error.strerror or error}; make it writable") from error
    state = root / ".skillopt"
    if state.is_dir() and {path.name for path in state.iterdir()} <= {".gitignore"}:
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


def _cached() -> Iterator[_Removable]:
    """List what tasks with an image have left in the user's cache, for all projects."""
    if (folder := packages_folder()).is_dir():
        yield _Removable(_CACHE, str(folder), _size(folder), "Python packages of tasks, installed again when needed")


def _branches(root: Path) -> Iterator[_Removable]:
    """List the branches of versions and drafts."""
    try:
        repository = Repository.find(root)
    except RepositoryError:
        return
    head = repository.head()
    for name, tip in list_branches(repository):
        note = "a draft"
        if name.startswith(VERSION_BRANCHES):
            versions = repository.versions(name.removeprefix(VERSION_BRANCHES), tip)
            merged = "merged" if head and repository.contains(head, tip) else "not merged into what is checked out"
            note = f"{count_noun(len(versions), 'accepted version')}, {merged}"
        kept = _why_kept(repository, name, tip)
        yield _Removable(_BRANCHES, name.removeprefix("refs/heads/"), None, note, kept=kept, tip=tip)


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


def _size(path: Path) -> int:
    """Sum the bytes of a file or of all files below a folder; links are not followed."""
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum(_size(inside) for inside in path.iterdir())
