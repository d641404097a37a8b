"""The command `blame`: which version, run and tasks put each line of a skill here, from git and the ledger."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated

import typer

from skillopt.commands.options import JsonOption, SkillArgument, select
from skillopt.commands.output import SHORT, as_json_text, list_tasks
from skillopt.project import Selection
from skillopt.runs.lineage import TextState, texts_of
from skillopt.runs.version_record import RecordedVersion, recorded_versions
from skillopt.safety.escaping import escape_terminal
from skillopt.versions.commit_message import ROLLBACK

__all__ = ["blame"]


def blame(
    skill: SkillArgument = None,
    *,
    find: Annotated[str, typer.Option(metavar="TEXT", help="Only lines that hold this text.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Show which version, run and tasks put each line here.

    The lines are those of the newest version.
    """
    name, version, lines = _blame(select(skill))
    lines = [line for line in lines if find.casefold() in line.text.casefold()]
    if as_json:
        typer.echo(as_json_text({"skill": name, "version": version, "lines": lines}))
    elif lines:
        typer.echo(_table(lines))
    else:
        typer.echo(f"{name} {version[:SHORT]}: no such line")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the newest version."""

    number: int
    text: str
    commit: str
    version: bool
    run: str
    tasks: tuple[str, ...]
    reason: str


def _blame(selection: Selection) -> tuple[str, str, list[_Line]]:
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    states = texts_of(repository, target)
    recorded = recorded_versions(project.root, [state.version for state in states if state.version])
    sources: dict[str, list[TextState]] = {}
    known: list[TextState] = []
    before: list[str] = []
    for state in states:
        lines = state.skill.document.text.splitlines()
        known = _sources(before, known, state, sources)
        sources[state.commit], before = known, lines
    pairs = enumerate(zip(before, known, strict=True), 1)
    return target.name, states[-1].commit, [_line(at, text, source, recorded) for at, (text, source) in pairs]


def _sources(
    old: Sequence[str], known: Sequence[TextState], state: TextState, earlier: Mapping[str, list[TextState]]
) -> list[TextState]:
    """Return the state in which each line of a text came in; going back to a version brings back its lines."""
    again = state.version.trailer(ROLLBACK) if state.version else ""
    new = state.skill.document.text.splitlines()
    if again in earlier and len(earlier[again]) == len(new):
        return earlier[again]
    found = [state] * len(new)
    for start, at, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        found[at : at + size] = known[start : start + size]
    return found


def _line(number: int, text: str, source: TextState, recorded: Mapping[str, RecordedVersion]) -> _Line:
    run = source.version.trailer("Skillopt-Run") if source.version else ""
    held, wanted = recorded.get(source.commit), text.strip()
    edits = [one.change.edit for one in held.edits] if held else []
    edit = next((edit for edit in edits if wanted and wanted in map(str.strip, edit.content.splitlines())), None)
    tasks, reason = (edit.tasks, edit.rationale) if edit else ((), "")
    return _Line(number, text, source.commit, source.version is not None, run, tasks, reason)


def _table(lines: Sequence[_Line]) -> str:
    """Write each line with where it comes from."""
    rows = [
        (
            line.commit[:SHORT],
            (escape_terminal(line.run) or "rollback") if line.version else "people",
            list_tasks(line.tasks),
        )
        for line in lines
    ]
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    return "\n".join(
        f"{'  '.join(map(str.ljust, row, widths))}  {line.number:>4} | {escape_terminal(line.text)}".rstrip()
        for row, line in zip(rows, lines, strict=True)
    )
