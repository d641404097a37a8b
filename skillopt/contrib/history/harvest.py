"""The command `harvest`: candidates for tasks from past sessions and merged changes, for a person to review."""

import json
import os
import platform
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, TypeAlias

import typer

from skillopt.commands.options import JsonOption, QuietOption
from skillopt.commands.output import interruptible, show
from skillopt.commands.write_tasks import accept_tasks, accepted_text, expect_reviewed, how_to_accept
from skillopt.contrib.history.candidates import grouped_requests, make_candidate, without_twins
from skillopt.contrib.history.change_prompts import without_frame
from skillopt.contrib.history.claude_sessions import ClaudeSessions
from skillopt.contrib.history.codex_sessions import CodexSessions
from skillopt.contrib.history.commit_checks import find_test_command
from skillopt.contrib.history.commits import CommitHarvest
from skillopt.contrib.history.own_names import OwnNames
from skillopt.contrib.history.past_session import LineTally, PastSession, SessionKind, find_logs, read_log
from skillopt.contrib.history.redaction import FindSecrets, Redaction, secret_scanner
from skillopt.contrib.history.requests import Request, repeated_failures, session_requests
from skillopt.errors import UsageError
from skillopt.execution.masking import environment_masking
from skillopt.execution.threads import ThreadExecutor
from skillopt.project import Project, Selection, Target
from skillopt.safety.escaping import count_noun, escape_terminal
from skillopt.sandbox.bubblewrap import unboxed_checks
from skillopt.skills.trained_files import SkillPlace
from skillopt.storage.locks import review_lock
from skillopt.suites.config_lines import put_file
from skillopt.suites.near_copies import word_digests
from skillopt.suites.review_file import Decision, put_candidates, read_candidates, remove
from skillopt.suites.suite_file import tasks_in
from skillopt.suites.writing import task_entry
from skillopt.tasks import File
from skillopt.versions.repository import Repository
from skillopt.versions.revisions import commit_at, files_at, worktree_roots

_SessionLogs: TypeAlias = ClaudeSessions | CodexSessions
_READERS: Final[Mapping[str, type[_SessionLogs]]] = {"claude-code": ClaudeSessions, "codex": CodexSessions}

_ELSEWHERE: Final = "in other folders"
_NEWEST: Final = 90 * 86_400
"""Seconds within which a session must have been written to."""
_MOST_REQUESTS: Final = 3_000  # the newest; each is compared with all others
_NOTICE: Final = 200
"""Logs after which it is said how far it is."""


@dataclass(slots=True)
class _ReadSessions:
    """What was read."""

    requests: list[Request] = field(default_factory=list)
    sessions: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    tally: LineTally = field(default_factory=LineTally)


def harvest(
    skill: Annotated[
        str | None, typer.Argument(help="Name in skillopt.toml, or a skill folder; all skills when left out.")
    ] = None,
    ids: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="IDS",
            help="With --accept or --drop: which candidates, or `all`; with --commits: a branch or range.",
        ),
    ] = None,
    *,
    count: Annotated[int, typer.Option("--count", "-n", min=1, max=200, help="Most candidates of a skill.")] = 20,
    accept: Annotated[
        bool, typer.Option("--accept", help="Make candidates tasks: those decided as `keep`, or those named.")
    ] = False,
    drop: Annotated[bool, typer.Option("--drop", help="Throw candidates away; they are not offered again.")] = False,
    places: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="PATH",
            help="A folder or file of sessions instead of the clients' own.",
        ),
    ] = None,
    headless: Annotated[bool, typer.Option("--headless", help="Take sessions without a person, too.")] = False,
    without_skill: Annotated[
        bool, typer.Option("--without-skill", help="Take requests for which no skill was in use, too.")
    ] = False,
    commits: Annotated[
        bool, typer.Option("--commits", help="Take merged changes that carry tests instead of sessions, newest first.")
    ] = False,
    test: Annotated[
        str,
        typer.Option(
            "--test",
            metavar="COMMAND",
            help="With --commits: what runs the tests, as in `node --test {tests}`; else pytest of a venv.",
        ),
    ] = "",
    quiet: QuietOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make candidates for tasks from your past sessions in this repository, or from its history, for you to review.

    Reads what Claude Code and Codex keep on this machine, of the clients that `harvest` in skillopt.toml names; with
    --commits, merged changes whose tests fail before them and pass with them. Nothing leaves the machine; secrets and
    personal data are taken out before anything is written. Nothing becomes a task before you say so with --accept.
    Ends with 1 when there is no candidate.
    """
    _expect_fitting(skill, ids or (), decides=(accept, drop, commits), without_skill=without_skill)
    if drop or accept:
        _decide(Selection(skill), ids or (), drop=drop, as_json=as_json)
        return
    with interruptible():
        if commits:
            found = _harvest_commits(skill, ids or (), count, test, quiet=quiet)
        else:
            found = _harvest(Selection(skill), places or (), count, (headless, without_skill), quiet=quiet)
    show(found, lambda one: "\n".join(_change_lines(one) if commits else _lines(one)), as_json=as_json)
    if not any(one["candidates"] for one in found.get("skills", (found,))):
        raise typer.Exit(1)


def _decide(selection: Selection, ids: Sequence[str], *, drop: bool, as_json: bool) -> None:
    """Make candidates tasks, or throw them away, and say so."""
    project = selection.project()
    name = project.target(selection).name
    if drop:
        dropped, waiting = _drop_candidates(project, name, ids)
        result = {"skill": selection.name, "dropped": dropped, "waiting": waiting}
        show(result, lambda _: f"{len(dropped)} dropped, {waiting} wait", as_json=as_json)
        return
    review = _candidates_path(project, name)
    if decided := [entry.id for entry in read_candidates(review) if entry.decision is Decision.DROP]:
        _drop_candidates(project, name, decided)
    accepted = accept_tasks(selection, ids, review=review, command="harvest")
    show(accepted, accepted_text, as_json=as_json)


def _expect_fitting(
    skill: str | None, ids: Sequence[str], *, decides: tuple[bool, bool, bool], without_skill: bool
) -> None:
    """Refuse options that do not fit together."""
    accept, drop, commits = decides
    if sum(decides) > 1:
        raise UsageError("expected one of --accept, --drop and --commits, found two; leave one out")
    if skill is None and (accept or drop or without_skill):
        raise UsageError("expected the name of a skill with --accept, --drop or --without-skill, found none; name one")
    if commits and (without_skill or len(ids) > 1):
        raise UsageError(f"expected one branch or range with --commits, found {', '.join(ids)}; leave the others out")
    if ids and not any(decides):
        raise UsageError(f"expected --accept or --drop with ids, found {', '.join(ids)} without; add one of them")


def _harvest_commits(skill: str | None, ids: Sequence[str], count: int, test: str, *, quiet: bool) -> dict[str, Any]:
    """Check merged changes by their own tests, on this machine only, and write candidates for tasks."""
    if skill is not None and ".." in skill and not ids:
        ids = [skill]
        skill = None
    selection, wanted = Selection(skill), next(iter(ids), "HEAD")
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    place = SkillPlace(".", target.trained)
    trained = place.trained if place.free else ()
    command = find_test_command(repository.root, test, target.settings.sandbox)

    def notice(text: str) -> None:
        if not quiet:
            typer.echo(text, err=True)

    if warning := unboxed_checks(target.settings.sandbox):
        notice(warning)
    known = tasks_in(target.suite_path)
    prompts = [word_digests(without_frame(task.prompt)) for task in known]
    with secret_scanner() as find, review_lock(project.root):
        harvest = CommitHarvest(
            repository,
            command,
            (*trained, *(one for one in _closed(project, target) if one != ".")),
            _candidates_path(project, target.name),
            redaction=_redaction(find, repository),
            known=[*prompts, *_dropped_candidates(project, target.name)],
            run=ThreadExecutor(target.settings.workers, notice).run,
            notice=notice,
        )
        found = harvest.harvest(target.name, wanted, count)
    return {
        **asdict(found),
        "skill": target.name,
        "review": str(_candidates_path(project, target.name)) if found.candidates else "",
        "candidates": [{"id": name, "why": why} for name, why in found.candidates],
        "left_out": dict(found.left_out.most_common()),
    }


def _change_lines(result: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"{count_noun(len(result['candidates']), 'candidate')} from "
        f"{count_noun(result['with_tests'], 'merged change')} with tests, of {count_noun(result['looked'], 'commit')}"
    )
    yield from (f"  {escape_terminal(one['id'])}: {one['why']}" for one in result["candidates"])
    yield from (f"  left out {number}: {escape_terminal(reason)}" for reason, number in result["left_out"].items())
    if result["shallow"]:
        yield "this clone has only a part of the history: `git fetch --unshallow` brings the rest"
    if result["beyond"]:
        yield f"older commits: skillopt harvest {result['skill']} --commits {result['beyond']}"
    elif result["more"]:
        yield "older changes were not looked at: the same command goes on with them"
    if result["review"]:
        yield how_to_accept(result, "harvest")


def _lines(result: Mapping[str, Any]) -> Iterator[str]:
    total = sum(len(one["candidates"]) for one in result["skills"])
    yield (
        f"{count_noun(total, 'candidate')} from {count_noun(result['requests'], 'request')} in "
        f"{count_noun(result['sessions'], 'session')} of this repository, {result['corrected']} of them corrected"
    )
    if result["left_out"]:
        yield "left out: " + ", ".join(f"{number} {reason}" for reason, number in sorted(result["left_out"].items()))
    if result["without_skill"]:
        requests = count_noun(result["without_skill"], "request")
        yield f"{requests} without a skill in use left out: skillopt harvest SKILL --without-skill takes them"
    if result["skipped_lines"] or result["links"]:
        yield f"not read: {count_noun(result['skipped_lines'], 'line')}, {count_noun(result['links'], 'link')}"
    for one in result["skills"]:
        yield from _skill_lines(one)
    yield from [how_to_accept(one, "harvest") for one in result["skills"] if one["review"]][:1]


def _skill_lines(one: Mapping[str, Any]) -> Iterator[str]:
    if one["candidates"] or one["left_out"]:
        yield f"{one['skill']}: {count_noun(len(one['candidates']), 'candidate')}, {len(one['left_out'])} left out"
    for each in one["candidates"]:
        yield f"  {escape_terminal(each['id'])}: {each['why']}"
    for name, reason in one["left_out"]:
        yield f"  not {escape_terminal(name)}: {escape_terminal(reason)}"
    if one["more"]:
        yield f"  {count_noun(one['more'], 'more request')} not looked at: these are enough; take more with -n"


def _harvest(
    selection: Selection, places: Sequence[Path], count: int, takes: tuple[bool, bool], *, quiet: bool
) -> dict[str, Any]:
    """Read the past sessions of this repository, on this machine only, and write candidates, redacted, for tasks."""
    project = selection.project()
    clients = project.settings().harvest
    if not clients:
        raise UsageError(
            f"expected the consent of this project to read your past sessions, found none in {project.config}; add the "
            'line `harvest = ["claude-code", "codex"]` at its top (what is read and kept: `skillopt docs history`)'
        )
    names = [selection.name] if selection.name is not None else sorted(project.skill_names().values())
    targets = [project.target(Selection(name)) for name in names]
    for target in targets:
        _expect_reviewed(project, target.name)
    (headless, unskilled), repository = takes, project.repository()
    with secret_scanner() as find:
        read = _read_sessions(worktree_roots(repository), clients, places, headless=headless, quiet=quiet)
        work = _Work(project, repository, find, read)
        found = work.result(tuple(work.harvest(target, count, unskilled=unskilled) for target in targets))
        return {**found, "without_skill": 0} if unskilled else found


def _expect_reviewed(project: Project, skill: str) -> None:
    expect_reviewed(_candidates_path(project, skill), skill, "harvest", "candidates")


class _Work:
    """Makes candidates of what was read; everything that leaves it is redacted."""

    def __init__(self, project: Project, repository: Repository, find: FindSecrets, read: _ReadSessions) -> None:
        self._project, self._repository, self._read = project, repository, read
        self._often = repeated_failures(read.requests)
        # One for all: what is recognised in one place is gone from all, whichever request named it.
        self._redaction = _redaction(find, repository)
        for one in read.requests:
            self._redaction.learn(one.text, *one.corrections, *one.failures)
        self._roots = worktree_roots(repository)
        self._known = {*project.skill_names().values(), *(PurePosixPath(path).name for path in project.skill_names())}

    def harvest(self, target: Target, count: int, *, unskilled: bool) -> dict[str, Any]:
        """Write the candidates of one skill."""
        own = {target.name, target.folder.name}
        requests = [
            one
            for one in self._read.requests
            if own & _named(one.skills) or (unskilled and not self._known & _named(one.skills))
        ]
        files_of = partial(self._files_of, closed=_closed(self._project, target))
        groups = grouped_requests(requests)
        made = (make_candidate(group, self._often, files_of, self._redaction) for group in groups)
        dropped = _dropped_candidates(self._project, target.name)
        known = tasks_in(target.suite_path)
        kept, left_out = without_twins(made, known, count, dropped)
        review = _candidates_path(self._project, target.name)
        if kept:
            with review_lock(self._project.root):
                _expect_reviewed(self._project, target.name)
                entries = ((task_entry(one.task), one.why, ()) for one in kept)
                put_candidates(review, (target.name, "harvest"), entries)
        return {
            "skill": target.name,
            "review": str(review) if kept else "",
            "candidates": [{"id": one.task.id, "why": one.why} for one in kept],
            "left_out": left_out,
            "more": len(groups) - len(kept) - len(left_out),
        }

    def result(self, skills: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Count it all."""
        read, tally = self._read, self._read.tally
        return {
            "logs": tally.files,
            "sessions": read.sessions,
            "left_out": dict(read.left_out),
            "requests": len(read.requests),
            "corrected": sum(bool(one.corrections) for one in read.requests),
            "skipped_lines": tally.long + tally.broken,
            "links": tally.links,
            "skills": skills,
            "without_skill": sum(not self._known & _named(one.skills) for one in read.requests),
        }

    def _files_of(self, request: Request, closed: tuple[str, ...]) -> tuple[str, tuple[File, ...]]:
        commit = commit_at(self._repository, request.started, request.branch, request.commit)
        if not commit:
            return "", ()
        return commit, files_at(self._repository, commit, _in_repository(request, self._roots), closed)


def _closed(project: Project, target: Target) -> tuple[str, ...]:
    """List the folders whose files are no input of a task: the skill itself, and the tasks."""
    places = [target.folder, project.root / "suites", *([target.suite_path] if target.suite_path else [])]
    root = project.root.resolve()
    return tuple(path.resolve().relative_to(root).as_posix() for path in places if path.resolve().is_relative_to(root))


def _redaction(find: FindSecrets, repository: Repository) -> Redaction:
    """Redact secrets, and the names of whoever harvests, as git, the environment and the machine know them."""
    accounts = (os.environ.get(name, "") for name in ("USER", "LOGNAME", "USERNAME"))
    home = "" if str(Path.home()) == "/root" else str(Path.home())
    own = OwnNames(*repository.configured_user, tuple(filter(None, accounts)), home, platform.node())
    return Redaction(find, environment_masking().secrets, own)


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


def _candidates_path(project: Project, skill: str) -> Path:
    """Return the folder in which the candidates of a skill wait."""
    return project.root / ".skillopt" / "harvest" / skill


def _drop_candidates(project: Project, skill: str, ids: Collection[str]) -> tuple[tuple[str, ...], int]:
    """Take candidates out, those named or `all`, remember their words against copies, and count those that wait."""
    with review_lock(project.root):
        waiting = {entry.id: entry for entry in read_candidates(_candidates_path(project, skill))}
        names = tuple(waiting) if list(ids) == ["all"] else tuple(ids)
        if not names:
            raise UsageError("expected the ids of candidates, or `all`, with --drop, found none; name some")
        if strangers := [name for name in names if name not in waiting]:
            hint = f"see `skillopt harvest {skill}`"
            raise UsageError(f"expected the id of a candidate of {skill}, found {strangers[0]!r}; {hint}")
        found = [waiting[name] for name in names]
        gone = {*_dropped_candidates(project, skill), *(word_digests(without_frame(entry.prompt)) for entry in found)}
        put_file(_dropped_path(project, skill), json.dumps(sorted(sorted(words) for words in gone)) + "\n")
        remove(found)
        return names, len(waiting) - len(found)


def _dropped_candidates(project: Project, skill: str) -> tuple[frozenset[str], ...]:
    """Return the word digests of what a person has dropped; the words themselves are not kept."""
    try:
        found = json.loads(_dropped_path(project, skill).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        found = []
    rows = found if isinstance(found, list) else []
    return tuple(frozenset(map(str, row)) for row in rows if isinstance(row, list))


def _dropped_path(project: Project, skill: str) -> Path:
    return _candidates_path(project, skill).with_name(f"{skill}.dropped.json")


def _read_sessions(
    roots: Sequence[str], clients: Sequence[str], places: Sequence[Path], *, headless: bool, quiet: bool
) -> _ReadSessions:
    """Read the sessions of a repository on this machine: those of people, in its folders, and no others."""
    kinds = {SessionKind.PERSON, *((SessionKind.HEADLESS,) if headless else ())}
    folders = tuple(dict.fromkeys(path for root in roots for path in (root, os.path.realpath(root))))
    read, within = _ReadSessions(), partial(_is_within, roots=folders)

    def wanted(folder: str, kind: SessionKind) -> bool:
        return kind in kinds and within(folder)

    found = _found(read, folders, clients, places)
    for logs, path in sorted(found, key=lambda pair: (-_written(pair[1]), str(pair[1]))):
        session = logs.read(read_log(path, read.tally), read.tally, wanted)
        reason = _why_not(session, within, kinds)
        if reason:
            read.left_out[reason] += 1
            continue
        read.sessions += 1
        if len(read.requests) < _MOST_REQUESTS:
            read.requests += session_requests(session)
        if read.tally.files % _NOTICE == 0 and not quiet:
            typer.echo(f"{read.tally.files} logs read", err=True)
    return read


def _is_within(folder: str, roots: Sequence[str]) -> bool:
    """Return whether a folder is in one of some others, but for our own state."""
    plain = os.path.normpath(folder)
    return any(
        f"{plain}{os.sep}".startswith(root.rstrip(os.sep) + os.sep)
        and not plain.startswith(str(Path(root) / ".skillopt"))
        for root in roots
    )


def _why_not(session: PastSession, within: Callable[[str], bool], kinds: set[SessionKind]) -> str:
    if not session.cwd or not within(session.cwd):
        return _ELSEWHERE
    if session.kind not in kinds:
        return session.kind.value
    return "" if session.turns else "empty"


def _found(
    read: _ReadSessions, roots: tuple[str, ...], clients: Sequence[str], places: Sequence[Path]
) -> Iterator[tuple[_SessionLogs, Path]]:
    readers = [_READERS[client](os.environ, Path.home()) for client in clients]
    if not places:
        yield from ((logs, path) for logs in readers for path in _recent(read, logs, roots))
    for place in places:
        if not place.exists():
            raise UsageError(f"expected a folder or file of sessions, found nothing at {place}; correct --from")
        for path in [place] if place.is_file() else find_logs(place, read.tally):
            codex = path.name.startswith("rollout-") or "codex" in path.name
            yield from [(logs, path) for logs in readers if (logs.client == "codex") == codex][:1]


def _recent(read: _ReadSessions, logs: _SessionLogs, roots: tuple[str, ...]) -> Iterator[Path]:
    since = time.time() - _NEWEST
    for path in find_logs(logs.folder, read.tally):
        if not logs.may_hold(path, roots):
            read.left_out[_ELSEWHERE] += 1
        elif _written(path) < since:
            read.left_out["older"] += 1
        else:
            yield path


def _written(path: Path) -> float:
    try:
        return path.stat(follow_symlinks=False).st_mtime
    except OSError:
        return 0.0
