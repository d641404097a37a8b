"""The user action `clean`: what the program has put into a project and beside it, with its size, and removing it."""

import shutil
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from skillopt.errors import BusyError, RepositoryError, UsageError
from skillopt.project import Project
from skillopt.storage.jobs import JobState, list_jobs
from skillopt.storage.locks import is_locked
from skillopt.versions.draft_branch import (
    DESCRIPTION_BRANCHES,
    DRAFT_BRANCHES,
    VERSION_BRANCHES,
    DraftBranch,
    list_branches,
    people_commits,
)
from skillopt.versions.removals import REMOVAL_BRANCH, RemovalBranch
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import find_skill_folder

__all__ = ["Removable", "Trace", "Traces", "clean", "list_traces", "refuse_while_busy"]

_WORKSPACES: Final = "handoff"


class Trace(StrEnum):
    """What the program leaves behind, by kind."""

    WORKSPACES = "workspaces"
    RUNS = "runs"
    BRANCHES = "branches"


@dataclass(frozen=True, slots=True)
class Removable:
    """Something that can be removed."""

    kind: Trace
    name: str
    size: int | None
    note: str
    kept: str = ""
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Traces:
    """What there is, or what was removed: all of it that has no reason to be kept."""

    items: tuple[Removable, ...]
    removed: bool = False


def list_traces(kinds: Collection[Trace] = tuple(Trace), folder: Path | None = None) -> Traces:
    """List all that the program has put into a project: its state and its branches."""
    root = Project.find(folder or Path.cwd()).root
    found = (*_state(root), *_branches(root))
    return Traces(tuple(one for one in found if one.kind in kinds))


def clean(kinds: Collection[Trace], folder: Path | None = None) -> Traces:
    """Remove kinds of things; give what was removed, and what was kept with its reason."""
    root = Project.find(folder or Path.cwd()).root
    chosen = list_traces(kinds, root)
    refuse_while_busy(root)
    remove: dict[Trace, Callable[[Path, Removable], None]] = {
        Trace.WORKSPACES: _remove_path,
        Trace.RUNS: _remove_path,
        Trace.BRANCHES: _remove_branch,
    }
    for one in chosen.items:
        if not one.kept:
            remove[one.kind](root, one)
    state = root / ".skillopt"
    if Trace.RUNS in kinds and state.is_dir() and {path.name for path in state.iterdir()} <= {".gitignore"}:
        shutil.rmtree(state)
    return Traces(chosen.items, removed=True)


def _state(root: Path) -> Iterator[Removable]:
    """List what stands in the state folder."""
    state = root / ".skillopt"
    if state.is_symlink():
        raise UsageError(f"expected {state} to be a folder, found a link; remove it by hand")
    for path in sorted(state.iterdir()) if state.is_dir() else ():
        shown = f".skillopt/{path.name}"
        if path.name == _WORKSPACES:
            note = "tasks and prompts that are handed off, with answers that were not read yet"
            yield Removable(Trace.WORKSPACES, shown, _size(path), note)
        elif path.name != ".gitignore":
            yield Removable(Trace.RUNS, shown, _size(path), _NOTES.get(path.name, "state of runs"))


_NOTES: Final = {
    "ledger.db": "recorded answers, which would be paid for again, and the runs that reports are made of",
    "jobs": "what background jobs printed",
    "locks": "who trains what now",
    "trigger-basis": "what descriptions were trained on, without which the next night trains them again",
    "trigger-looks": "the error that trainings of descriptions spent, which the next ones would spend again",
}


def _branches(root: Path) -> Iterator[Removable]:
    """List the branches of versions, of drafts, of descriptions and of proposed removals."""
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
            count = len(repository.versions(name.removeprefix(VERSION_BRANCHES), tip))
            note = f"{count} accepted {'version' if count == 1 else 'versions'}, {merged}"
        if name.startswith(DESCRIPTION_BRANCHES):
            note = f"accepted descriptions, {merged}"
        yield Removable(Trace.BRANCHES, shown, None, note, kept, tip)
    removals = RemovalBranch(repository)
    if removals.tip:
        place = repository.checked_out_in(f"refs/heads/{REMOVAL_BRANCH}")
        kept = f"it is checked out in {place}" if place else ""
        if not removals.is_ours(removals.tip):
            kept = f"a person has committed there ({removals.tip[:10]}); remove it with git branch -D"
        yield Removable(Trace.BRANCHES, REMOVAL_BRANCH, None, "proposed removals of skills", kept, removals.tip)


def _why_kept(repository: Repository, name: str, tip: str) -> str:
    """Return why a branch is not removed, empty when it can be: it holds only what training and its commands wrote."""
    if place := repository.checked_out_in(name):
        return f"it is checked out in {place}"
    skill = name.removeprefix(VERSION_BRANCHES).removeprefix(DRAFT_BRANCHES).removeprefix(DESCRIPTION_BRANCHES)
    theirs = people_commits(repository, skill, tip)
    if not theirs and name.startswith(DRAFT_BRANCHES):
        draft = DraftBranch(repository, skill, find_skill_folder(repository, tip, skill) or ".")
        theirs = () if draft.is_ours(tip) else (tip,)
    return f"a person has committed there ({theirs[0][:10]}); remove it with git branch -D" if theirs else ""


def refuse_while_busy(root: Path) -> None:
    """Refuse to take anything away from under a process."""
    for lock in sorted((root / ".skillopt" / "locks").glob("*.lock")):
        if is_locked(root, lock.stem):
            raise BusyError(f"a process is training {lock.stem!r}; wait for it or end it, then run this again")
    for job in list_jobs(root):
        if job.state is JobState.RUNNING:
            raise BusyError(f"job {job.id} is running; wait for it, or end it with `skillopt jobs {job.id} --cancel`")


def _remove_path(root: Path, one: Removable) -> None:
    path = root / one.name
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot remove {path}: {error.strerror or error}; make it writable") from error


def _remove_branch(root: Path, one: Removable) -> None:
    repository = Repository.find(root)
    if problem := repository.move_branch(f"refs/heads/{one.name}", one.tip, None):
        raise RepositoryError(f"{problem}; mend that and run this again")


def _size(path: Path) -> int:
    """Sum the bytes of a file or of all files below a folder; links are not followed."""
    if path.is_symlink() or not path.is_dir():
        return path.lstat().st_size
    return sum(_size(inside) for inside in path.iterdir())
