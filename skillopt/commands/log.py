"""The command `log`: the versions of a skill, newest first, and its draft, as git has them."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument
from skillopt.commands.output import SHORT, as_json_text, fold_lines
from skillopt.errors import SkilloptError
from skillopt.execution.drivers import identify_target
from skillopt.figures import read_headline
from skillopt.gate.error_budget import ErrorBudget
from skillopt.project import Project, Selection, Target
from skillopt.runs.history import ListedDraft, ListedVersions, list_versions, shown_of
from skillopt.runs.recorded import error_budget
from skillopt.runs.run import grade_of
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.versions.commit_message import TAKEN, Version, commit_kind, single_line, target_words, why_stale
from skillopt.versions.decisions import EditLine, NumberedEdit, PersonsWord
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import Repository

_WIDEST: Final = 110
"""Characters of an edit that are shown."""


def log(skill: SkillArgument = None, *, as_json: JsonOption = False) -> None:
    """List the versions of the skill, newest first, and its draft.

    Each has its grade and the target that it was trained on; it is stale if another target is configured.
    """
    selection = Selection(skill)
    listed = list_versions(selection)
    found = _Surroundings.of(selection, listed)
    typer.echo(as_json_text(_as_json(listed, found)) if as_json else fold_lines("\n".join(_lines(listed, found))))


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What is told beside the versions: the configured target, the error left, and edits to drop."""

    harness: str
    error: ErrorBudget | None
    edits: tuple[NumberedEdit, ...]

    @classmethod
    def of(cls, selection: Selection, listed: ListedVersions) -> "_Surroundings":
        """Look around a skill's versions."""
        project = selection.project()
        target, repository = project.target(selection), project.repository()
        return cls(
            _configured(target, project),
            _error(target, project, listed.versions),
            _edits(repository, target, listed.draft),
        )


def _configured(target: Target, project: Project) -> str:
    """Ask the configured target who it is; the default of a setting that nobody chose claims nothing."""
    if "harness" not in target.settings.model_fields_set:
        return ""
    try:
        return identify_target(target.settings, target.suite(), project.root)
    except (SkilloptError, OSError):  # its program, its login or a place for its files is missing
        return ""


def _error(target: Target, project: Project, versions: Sequence[Version]) -> ErrorBudget | None:
    if target.suite_path is None:
        return None
    try:
        suite = target.suite()
    except SkilloptError:  # it is not here, or cannot be read
        return None
    return error_budget(project.root, versions, suite, target.name, 1.0 - target.settings.confidence)


def _edits(repository: Repository, target: Target, draft: ListedDraft | None) -> tuple[NumberedEdit, ...]:
    """Number the edits of the versions that the default branch lacks; of the draft where there are none."""
    path, tip = target.place(repository), repository.branch_tip(target.name)
    line = EditLine.read(repository, target.name, path, tip, default_tip(repository)) if tip else EditLine(())
    if not line.edits and draft is not None:
        line = EditLine.read(repository, target.name, path, draft.version.sha, draft.version.parent)
    return line.edits


def _as_json(listed: ListedVersions, found: _Surroundings) -> dict[str, object]:
    versions = [
        asdict(one)
        | {"kind": commit_kind(one), "grade": grade_of(one.trailers), "declined": listed.declined.get(one.sha)}
        | {"harness": _trained_on(one), "stale": why_stale(_trained_on(one), found.harness)}
        for one in listed.versions
    ]
    return {**asdict(listed), "versions": versions, **asdict(found)}


def _lines(listed: ListedVersions, found: _Surroundings) -> Iterator[str]:
    skill = listed.skill
    yield f"branch {listed.branch}" if listed.versions else f"{skill}: no versions yet"
    yield from (_version(version, listed.declined.get(version.sha), found.harness) for version in listed.versions)
    error = found.error
    if error is not None and error.spent:
        spent = f"error budget of these val tasks: {error.spent:.3f} of {error.allowed:g} used"
        yield f"{spent}, {error.left:.3f} left; new tasks add more"
    if listed.draft is not None:
        yield from _draft(skill, listed.draft)
    if found.edits:
        yield f"edits that are not on the default branch; to refuse one: skillopt decline {skill} NUMBER"
    for one in found.edits:
        shown = truncate(escape_terminal(one.edit.summary), _WIDEST)
        yield f"  {one.number:>3}  {'dropped: ' if one.dropped else 'replaced: ' if one.replaced else ''}{shown}"


def _trained_on(version: Version) -> str:
    """Return the identity of the target that a version was trained on; empty where it is unknown."""
    return single_line(version.trailer("Harness"))


def _version(version: Version, declined: PersonsWord | None, configured: str) -> str:
    trained = _trained_on(version)
    stale, scores = why_stale(trained, configured), escape_terminal(read_headline(dict(version.trailers)))
    remark = f"stale: {stale}" if stale else f"trained on {target_words(trained)}" if trained else ""
    taken = f"taken by {version.trailer(TAKEN)}" if version.trailer(TAKEN) else ""
    said = (shown_of(version), scores, taken, _declined(declined), remark)
    return "  ".join(filter(None, (version.sha[:SHORT], version.at, version.subject, *said)))


def _draft(skill: str, draft: ListedDraft) -> Iterator[str]:
    version = draft.version
    cells = (version.sha[:SHORT], version.at, escape_terminal(version.subject), draft.words)
    yield f"draft {'  '.join(cells)}"
    yield from (f"  a person must look at it first: {escape_terminal(mark)}" for mark in draft.marks)
    take = f"to make it a version: skillopt take {skill}"
    ways = f"what it changes: skillopt diff {skill} draft; {take if draft.offered else 'kept, not offered'}"
    yield f"  {escape_terminal(draft.obstacle) or ways}"


def _declined(word: PersonsWord | None) -> str:
    """Return who declined it, and why; empty where nobody did."""
    return escape_terminal(f"declined{word.signature}") if word is not None else ""
