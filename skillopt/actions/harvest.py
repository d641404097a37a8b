"""The user action `harvest`: make candidates for tasks of past sessions, and leave them for a person to review."""

import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Final

from skillopt.actions.candidates import candidates_path, dropped_candidates, waiting_candidates
from skillopt.actions.past_sessions import ReadSessions, read_sessions
from skillopt.errors import SuiteError, UsageError
from skillopt.execution.masking import environment_masking
from skillopt.harvest.candidates import Candidate, grouped_requests, make_candidates, without_twins
from skillopt.harvest.near_copies import near_copies
from skillopt.harvest.own_names import OwnNames
from skillopt.harvest.redaction import FindSecrets, Redaction
from skillopt.harvest.requests import Request, failure_key, repeated_failures
from skillopt.harvest.secret_scanner import secret_scanner
from skillopt.harvest.settings import HarvestSettings, read_harvest_settings
from skillopt.project import CONFIG, Project, Selection, Target
from skillopt.safety.plurals import count_noun
from skillopt.storage.locks import review_lock
from skillopt.suites.config_lines import put_file
from skillopt.suites.review_file import render_candidates
from skillopt.suites.suite_file import tasks_in
from skillopt.tasks import File, Task
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import commit_at, files_at, worktree_roots

__all__ = ["HarvestOptions", "Harvested", "HarvestedCandidate", "HarvestedSkill", "UnskilledRequest", "harvest"]

_LEAST: Final = 2
_MOST_UNSKILLED: Final = 10
_LONGEST: Final = 200


@dataclass(frozen=True, slots=True)
class HarvestOptions:
    """What to harvest."""

    count: int = 20
    places: tuple[Path, ...] = ()
    headless: bool = False
    unskilled: bool = False


@dataclass(frozen=True, slots=True)
class HarvestedCandidate:
    """A candidate: the id that it will have as a task, and why it is worth a look."""

    id: str
    why: str


@dataclass(frozen=True, slots=True)
class HarvestedSkill:
    """The candidates of a skill."""

    skill: str
    review: str
    candidates: tuple[HarvestedCandidate, ...]
    left_out: tuple[tuple[str, str], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class UnskilledRequest:
    """A request that came again without any skill of this project in use: its redacted words, and how often."""

    text: str
    times: int


@dataclass(frozen=True, slots=True)
class Harvested:
    """What past sessions gave."""

    logs: int
    sessions: int
    left_out: Mapping[str, int]
    requests: int
    corrected: int
    skipped_lines: int
    links: int
    skills: tuple[HarvestedSkill, ...]
    unskilled: tuple[UnskilledRequest, ...]
    failures: tuple[tuple[str, int], ...]


def harvest(selection: Selection, options: HarvestOptions, notice: Callable[[str], None]) -> Harvested:
    """Read the past sessions of this repository, and write candidates for tasks; nothing becomes a task by this.

    All is read and written on this machine only, and secrets and personal data are taken out before.
    """
    project = selection.project()
    settings = _opted_in(project)
    targets = _targets(project, selection)
    for target in targets:
        _expect_reviewed(project, target.name)
    repository = project.repository()
    with secret_scanner() as find:
        read = read_sessions(
            worktree_roots(repository), settings, options.places, headless=options.headless, notice=notice
        )
        work = _Work(project, repository, find, read)
        unskilled = selection.name if options.unskilled else None
        skills = tuple(work.harvest(target, options.count, unskilled=unskilled is not None) for target in targets)
        return work.result(skills)


def _opted_in(project: Project) -> HarvestSettings:
    settings = read_harvest_settings(CONFIG, project.harvest)
    if not settings.enabled:
        raise UsageError(
            f"expected the consent of this project to read your past sessions, found none in {project.config}; add the "
            "lines `[harvest]` and `enabled = true` (what is read and kept: `skillopt docs suite-format`)"
        )
    return settings


def _targets(project: Project, selection: Selection) -> list[Target]:
    names = [selection.name] if selection.name is not None else sorted(project.skill_names().values())
    return [project.target(Selection(name, selection.flags, selection.suite, selection.folder)) for name in names]


def _expect_reviewed(project: Project, skill: str) -> None:
    waiting = waiting_candidates(project, skill)
    if waiting:
        raise UsageError(
            f"{candidates_path(project, skill)}: {len(waiting)} candidates wait for you there; tick those to keep and "
            f"run `skillopt harvest {skill} --accept` or delete the file"
        )


class _Work:
    """Makes candidates of what was read; everything that leaves it is redacted."""

    def __init__(self, project: Project, repository: Repository, find: FindSecrets, read: ReadSessions) -> None:
        self._project, self._repository, self._read = project, repository, read
        self._often = repeated_failures(read.requests)
        # One for all: what is recognised in one place is gone from all, whichever request named it.
        self._redaction = Redaction(find, environment_masking().secrets, _own_names(repository))
        for one in read.requests:
            self._redaction.learn(one.text, *one.corrections, *one.failures)
        self._roots = worktree_roots(repository)
        self._known = {*project.skill_names().values(), *(PurePosixPath(path).name for path in project.skill_names())}

    def harvest(self, target: Target, count: int, *, unskilled: bool) -> HarvestedSkill:
        """Write the candidates of one skill."""
        own = {target.name, target.folder.name}
        requests = [
            one
            for one in self._read.requests
            if own & _named(one.skills) or (unskilled and not self._known & _named(one.skills))
        ]
        files_of = partial(self._files_of, closed=self._closed(target))
        groups = grouped_requests(requests)
        made = make_candidates(groups, self._often, files_of, self._redaction)
        dropped = dropped_candidates(self._project, target.name)
        kept, left_out = without_twins(made, _tasks(target), count, dropped)
        review = candidates_path(self._project, target.name)
        if kept:
            with review_lock(self._project.root):
                _expect_reviewed(self._project, target.name)
                put_file(review, self._text(target.name, kept, left_out))
        rows = tuple(HarvestedCandidate(one.task.id, one.why) for one in kept)
        more = len(groups) - len(kept) - len(left_out)
        return HarvestedSkill(target.name, str(review) if kept else "", rows, tuple(left_out), more)

    def result(self, skills: tuple[HarvestedSkill, ...]) -> Harvested:
        """Count it all."""
        read, tally = self._read, self._read.tally
        return Harvested(
            tally.files,
            read.sessions,
            dict(read.left_out),
            len(read.requests),
            sum(bool(one.corrections) for one in read.requests),
            tally.long + tally.broken,
            tally.links,
            skills,
            tuple(self._unskilled()),
            tuple(self._failures()),
        )

    def _text(self, skill: str, kept: Sequence[Candidate], left_out: Sequence[tuple[str, str]]) -> str:
        intro = (
            f"{count_noun(len(kept), 'candidate')} from {count_noun(self._read.sessions, 'past session')} on this "
            "machine; secrets and personal data were taken out, as far as they were found."
        )
        return render_candidates(skill, [(one.task, one.why) for one in kept], left_out, intro)

    def _failures(self) -> Iterator[tuple[str, int]]:
        """Return the repeated failures as they may be shown: redacted first, for a key hides from the scanner."""
        said = {failure_key(line): line for one in self._read.requests for line in one.failures}
        for key, times in self._often.items():
            yield failure_key(self._redaction.text(said[key])), times

    def _unskilled(self) -> Iterator[UnskilledRequest]:
        bare = [one for one in self._read.requests if not self._known & _named(one.skills)]
        groups = sorted(near_copies([one.text for one in bare]), key=len, reverse=True)
        for group in groups[:_MOST_UNSKILLED]:
            if len(group) >= _LEAST:
                text = self._redaction.text(bare[group[0]].text)
                yield UnskilledRequest(" ".join(text.split())[:_LONGEST], len(group))

    def _closed(self, target: Target) -> tuple[str, ...]:
        """List the folders whose files are no input of a task: the skill itself, and the tasks."""
        places = [target.folder, self._project.root / "suites", *([target.suite_path] if target.suite_path else [])]
        root = self._project.root.resolve()
        return tuple(
            path.resolve().relative_to(root).as_posix() for path in places if path.resolve().is_relative_to(root)
        )

    def _files_of(self, request: Request, closed: tuple[str, ...]) -> tuple[str, tuple[File, ...]]:
        commit = commit_at(self._repository, request.started, request.branch, request.commit)
        if not commit:
            return "", ()
        return commit, files_at(self._repository, commit, _in_repository(request, self._roots), closed)


def _own_names(repository: Repository) -> OwnNames:
    """Return the names of whoever harvests, as git, the environment and the machine know them."""
    accounts = (os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME"))
    home = "" if str(Path.home()) == "/root" else str(Path.home())
    return OwnNames(*repository.configured_user, tuple(filter(None, accounts)), home, platform.node())


def _tasks(target: Target) -> tuple[Task, ...]:
    """Return the tasks that are there, in whatever format."""
    if target.suite_path is None:
        return ()
    try:
        return tasks_in(target.suite_path)
    except SuiteError:
        return tuple(task for _, task in target.suite().splits)


def _named(skills: Iterable[str]) -> set[str]:
    """Return names of skills without the plugin that brings them."""
    return {name.rpartition(":")[2] for name in skills}


def _in_repository(request: Request, roots: Sequence[str]) -> Iterator[str]:
    """Return paths as the repository has them; what lies outside is left out."""
    for path in request.paths:
        whole = os.path.normpath(Path(request.cwd) / path)
        for root in roots:
            if whole.startswith(root + os.sep):
                yield whole[len(root) + 1 :].replace(os.sep, "/")
                break
