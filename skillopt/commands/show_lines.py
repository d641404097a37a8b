"""The option `--lines` of `show`: which version, run and tasks put each line of a skill here, from git."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import typer

from skillopt.commands.output import SHORT, as_json_text, list_tasks
from skillopt.project import Selection
from skillopt.runs.history import needed_lines, versions_of
from skillopt.runs.plan import read_version
from skillopt.safety.escaping import escape_terminal
from skillopt.skills.trained_files import SkillPlace
from skillopt.versions.commit_message import ROLLBACK, Version
from skillopt.versions.decisions import edits_of
from skillopt.versions.repository import Repository


def show_lines(selection: Selection, *, as_json: bool) -> None:
    """Show which version, run and tasks put each line of the newest version here."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    newest, name = versions_of(repository, target.name)[0].sha, target.name
    place, needed = target.place(repository), needed_lines(repository, target.name)
    files = [part.path for part in read_version(repository, name, newest, place).document.parts]
    sources = {file: _sources(repository, newest, f"{SkillPlace.parse(place).prefix}{file}") for file in files}
    lines = [_line(file, at, *found, needed) for file in files for at, found in enumerate(sources[file], 1)]
    if as_json:
        typer.echo(as_json_text({"skill": name, "version": newest, "lines": lines}))
    else:
        typer.echo(_table(lines))


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the newest version."""

    file: str
    number: int
    text: str
    commit: str
    version: bool
    run: str
    tasks: tuple[str, ...]
    reason: str
    needed_by: tuple[str, ...]


def _sources(repository: Repository, commit: str, path: str) -> list[tuple[Version, str]]:
    """Return the commit that brought each line; of a rollback, the one that brought it to the older version."""
    found: list[tuple[Version, str]] = []
    older: dict[str, list[tuple[Version, str]]] = {}
    for sha, number, text in repository.blame(commit, path):
        version = repository.commit(sha)
        again = version.trailer(ROLLBACK)
        if again and sha not in older:
            older[sha] = _sources(repository, again, path)
        found.append(older[sha][number - 1] if again else (version, text))
    return found


def _line(file: str, number: int, version: Version, text: str, needed: Mapping[str, tuple[str, ...]]) -> _Line:
    wanted = text.strip()
    edits = (edit for edit in edits_of(version) if wanted in map(str.strip, edit.content.splitlines()))
    edit = next(edits, None) if wanted else None
    tasks, reason = (edit.tasks, edit.rationale) if edit else ((), "")
    by_training = bool(version.trailer("Skill"))
    run, needed_by = version.trailer("Skillopt-Run"), needed.get(wanted, ())
    return _Line(
        file, number, text, version.sha, version=by_training, run=run, tasks=tasks, reason=reason, needed_by=needed_by
    )


def _tasks(line: _Line) -> str:
    """Return the tasks that an edit cites, else those that need the line."""
    return list_tasks(line.tasks) or (f"needed by {list_tasks(line.needed_by)}" if line.needed_by else "")


def _table(lines: Sequence[_Line]) -> str:
    """Write each line with where it comes from."""
    rows = [
        (line.commit[:SHORT], (escape_terminal(line.run) or "-") if line.version else "people", _tasks(line))
        for line in lines
    ]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    several = len({line.file for line in lines}) > 1
    places = [f"{line.file}:{line.number}" if several else f"{line.number:>4}" for line in lines]
    return "\n".join(
        f"{'  '.join(map(str.ljust, row, widths))}  {place} | {escape_terminal(line.text)}".rstrip()
        for row, place, line in zip(rows, places, lines, strict=True)
    )
