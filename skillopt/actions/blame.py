"""Find which version, run and tasks put each line of a skill here, for the command `blame`.

Read from git, and from the ledger for the tasks where it holds them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from skillopt.project import Selection
from skillopt.runs.lineage import TextState, texts_of
from skillopt.runs.version_record import RecordedVersion, recorded_versions
from skillopt.versions.commit_message import ROLLBACK, Version

__all__ = ["Blamed", "BlamedLine", "blame"]


@dataclass(frozen=True, slots=True)
class BlamedLine:
    """A line of the newest version."""

    number: int
    text: str
    commit: str
    version: bool
    run: str
    tasks: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Blamed:
    """The lines of a skill as its newest version has them."""

    skill: str
    version: str
    lines: tuple[BlamedLine, ...]


def blame(selection: Selection, find: str = "") -> Blamed:
    """Return where each line of the newest version comes from."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    states = texts_of(repository, target)
    recorded = recorded_versions(project.root, [state.version for state in states if state.version])
    sources: dict[str, list[TextState]] = {}
    known: list[TextState] = []
    before: TextState | None = None
    for state in states:
        known = _sources(before, known, state, sources)
        sources[state.commit] = known
        before = state
    newest = states[-1]
    lines = newest.skill.document.text.splitlines()
    blamed = (_line(at, text, source, recorded) for at, (text, source) in enumerate(zip(lines, known, strict=True), 1))
    wanted = tuple(line for line in blamed if find.casefold() in line.text.casefold())
    return Blamed(target.name, newest.commit, wanted)


def _sources(
    before: TextState | None, known: Sequence[TextState], state: TextState, earlier: dict[str, list[TextState]]
) -> list[TextState]:
    """Return the state in which each line of a text came in; going back to a version brings back its lines."""
    again = state.version.trailer(ROLLBACK) if state.version else ""
    if again in earlier and len(earlier[again]) == len(state.skill.document.text.splitlines()):
        return earlier[again]
    new = state.skill.document.text.splitlines()
    old = before.skill.document.text.splitlines() if before else []
    found = [state] * len(new)
    for start, at, size in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        found[at : at + size] = known[start : start + size]
    return found


def _line(number: int, text: str, source: TextState, recorded: dict[str, RecordedVersion]) -> BlamedLine:
    version: Version | None = source.version
    run = version.trailer("Skillopt-Run") if version else ""
    held = recorded.get(source.commit)
    wanted = text.strip()
    edits = [one.change.edit for one in held.edits] if held else []
    edit = next((edit for edit in edits if wanted and wanted in map(str.strip, edit.content.splitlines())), None)
    tasks, reason = (edit.tasks, edit.rationale) if edit else ((), "")
    return BlamedLine(number, text, source.commit, version is not None, run, tasks, reason)
