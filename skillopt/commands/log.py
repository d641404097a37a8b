"""The command `log`: the versions of a skill and its draft as a list, or as a graph with what each gained.

Reads git, and the ledger for the error that is left; the configured target is asked for its identity where it can tell.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument, select
from skillopt.commands.output import SHORT, as_json_text
from skillopt.errors import SkilloptError
from skillopt.execution.drivers import identify_target
from skillopt.gate.headline import read_headline
from skillopt.gate.test_choice import ErrorBudget
from skillopt.project import Project, Selection, Target
from skillopt.runs.error_spent import error_budget
from skillopt.runs.history import ListedDraft, ListedVersion, ListedVersions, list_versions, trained_on
from skillopt.safety.escaping import escape_terminal
from skillopt.triggers.version import declined_descriptions, list_descriptions
from skillopt.versions.commit_message import ROLLBACK, Version
from skillopt.versions.decisions import PersonsWord
from skillopt.versions.edit_history import EditLine, NumberedEdit
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import Repository
from skillopt.versions.staleness import Fit, TargetName, compare_targets

__all__ = ["log"]

_WIDEST: Final = 110
"""Characters of an edit that are shown."""

_SIGNS: Final = {
    "accepted": "*",
    "taken": "+",
    "rollback": "<",
    "declined": "x",
    "undeclined": "<",
    "dropped": "-",
}
"""Signs of commits in the graph; where training started, it is `o`."""


def log(
    skill: SkillArgument = None,
    *,
    graph: Annotated[bool, typer.Option("--graph", help="Draw the line of versions, with what each gained.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List the versions of the skill, newest first, and its draft.

    Each with its grade, with the target it was trained on, and stale when another one is configured.
    """
    selection = select(skill)
    listed = list_versions(selection)
    if graph:
        rows = _graph(listed.versions)
        shown = {"skill": listed.skill, "branch": listed.branch, "versions": rows}
        typer.echo(as_json_text(shown) if as_json else _graph_text(listed, rows))
        return
    found = _Surroundings.of(selection, listed)
    typer.echo(as_json_text(_as_json(listed, found)) if as_json else "\n".join(_lines(listed, found)))


@dataclass(frozen=True, slots=True)
class _Surroundings:
    """What is told beside the versions: the configured target, the error left, edits to drop, and descriptions."""

    harness: str
    error: ErrorBudget | None
    edits: tuple[NumberedEdit, ...]
    descriptions: tuple[Version, ...]
    declined: Mapping[str, PersonsWord]

    @classmethod
    def of(cls, selection: Selection, listed: ListedVersions) -> "_Surroundings":
        """Look around a skill's versions."""
        project = selection.project()
        target, repository = project.target(selection), project.repository()
        return cls(
            _configured(target, project),
            _error(target, project, listed.versions),
            _edits(repository, target, listed.draft),
            list_descriptions(repository, target.name),
            declined_descriptions(repository, target.name),
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
    path, tip = repository.relative(target.folder), repository.branch_tip(target.name)
    line = EditLine.read(repository, target.name, path, tip, default_tip(repository)) if tip else EditLine(())
    if not line.edits and draft is not None:
        line = EditLine.read(repository, target.name, path, draft.version.sha, draft.version.parent)
    return line.edits


def _as_json(listed: ListedVersions, found: _Surroundings) -> dict[str, object]:
    trained = trained_on(listed.versions)
    versions = [
        asdict(one) | {"harness": trained[one.sha], "staleness": compare_targets(trained[one.sha], found.harness)}
        for one in listed.versions
    ]
    return {**asdict(listed), "versions": versions, **asdict(found)}


def _lines(listed: ListedVersions, found: _Surroundings) -> Iterator[str]:
    skill, trained = listed.skill, trained_on(listed.versions)
    yield f"branch {listed.branch}" if listed.versions else f"{skill}: no versions yet"
    yield from (_version(version, trained[version.sha], found.harness) for version in listed.versions)
    error = found.error
    if error is not None and error.spent:
        spent = f"runs on these val tasks spent {error.spent:.3f} of the error of {error.allowed:.2f} that they share"
        yield f"{spent}, {error.left:.3f} is left; fresh tasks bring more"
    if listed.draft is not None:
        yield from _draft(skill, listed.draft)
    if found.edits:
        yield f"edits that the default branch lacks; to refuse one: skillopt decline {skill} NUMBER"
    for one in found.edits:
        summary = escape_terminal(one.edit.summary)
        shown = summary if len(summary) <= _WIDEST else f"{summary[: _WIDEST - 1]}…"
        yield f"  {one.number:>3}  {'dropped: ' if one.dropped else ''}{shown}"
    if found.descriptions:
        yield f"branch skillopt-trigger/{skill}"
    yield from (_description(version, found.declined.get(version.sha)) for version in found.descriptions)


def _version(version: ListedVersion, trained: str, configured: str) -> str:
    stale, scores = compare_targets(trained, configured), escape_terminal(read_headline(dict(version.trailers)))
    target = f"trained on {TargetName.parse(trained)}" if trained else ""
    remark = f"stale: {stale.reason}" if stale.fit is Fit.STALE else stale.reason
    taken = f"taken by {version.trailer('Taken-By')}" if version.kind == "taken" else ""
    said = (version.shown, scores, taken, _declined(version.declined), remark or target)
    return "  ".join(filter(None, (version.sha[:SHORT], version.at, version.subject, *said)))


def _draft(skill: str, draft: ListedDraft) -> Iterator[str]:
    version = draft.version
    cells = (version.sha[:SHORT], version.at, escape_terminal(version.subject), draft.words)
    yield f"draft {'  '.join(cells)}"
    yield from (f"  a person must look at it first: {escape_terminal(mark)}" for mark in draft.marks)
    take = f"to make it a version: skillopt take {skill}"
    yield f"  {escape_terminal(draft.obstacle) or f'what it changes: skillopt diff {skill} draft; {take}'}"


def _description(version: Version, declined: PersonsWord | None) -> str:
    """Write a trained description with recall and false triggers on held-out requests."""
    recall, false = (
        " → ".join(escape_terminal(version.trailer(f"{name}-{when}")) for when in ("Before", "After"))
        for name in ("Recall", "False-Triggers")
    )
    said = (escape_terminal(version.subject), f"recall {recall}, false triggers {false}", _declined(declined))
    return "  ".join(filter(None, (version.sha[:SHORT], version.at, *said)))


def _declined(word: PersonsWord | None) -> str:
    """Return who declined it, and why; empty where nobody did."""
    return escape_terminal(f"declined{word.signature}") if word is not None else ""


@dataclass(frozen=True, slots=True)
class _Row:
    """A version and where it stands in the line."""

    version: ListedVersion
    kind: str
    restores: str
    undone: bool
    declined: bool


def _graph(versions: Sequence[ListedVersion]) -> list[_Row]:
    """Find what each rollback undid."""
    places = {version.sha: at for at, version in enumerate(versions)}
    undone: set[int] = set()
    for at, version in enumerate(versions):
        wanted = version.trailer(ROLLBACK)
        if wanted and at not in undone:
            # What it goes back to may be no version, but the text that training started from.
            undone.update(range(at + 1, places.get(wanted, len(versions))))
    return [
        _Row(one, one.kind, one.trailer(ROLLBACK), undone=at in undone, declined=one.declined is not None)
        for at, one in enumerate(versions)
    ]


def _graph_text(listed: ListedVersions, rows: Sequence[_Row]) -> str:
    """Draw the line of versions, newest first, with an arc from each rollback to what it goes back to."""
    if not rows:
        return f"{listed.skill}: no versions yet"
    arcs = _arcs(rows)
    lines = [f"branch {listed.branch}"]
    for row, arc in zip(rows, arcs, strict=True):
        version = row.version
        cells = [escape_terminal(version.sha[:SHORT]), version.at, escape_terminal(version.subject), *_numbers(row)]
        lines.append(f"{_SIGNS.get(row.kind, 'o')} {arc} {'  '.join(cells)}".replace("   ", "  "))
    legend = "* accepted, + a draft that was taken, < went back, o training started here"
    if any(row.kind in ("declined", "dropped") for row in rows):
        legend += ", x versions were declined, - edits were dropped"
    return "\n".join([*lines, f"{legend}; a bracket spans what a rollback undid" if any(arcs) else legend])


def _numbers(row: _Row) -> Iterator[str]:
    trailer = row.version.trailer
    if row.kind == "accepted":
        yield escape_terminal(read_headline(dict(row.version.trailers)))
        counts = escape_terminal(trailer("Wins-Ties-Losses"))
        yield f"{counts} better/equal/worse, confidence {escape_terminal(trailer('Confidence'))}"
    if trailer("Taken-By"):
        yield f"{escape_terminal(trailer('Grade'))}, taken by {escape_terminal(trailer('Taken-By'))}"
    if row.restores:
        yield f"as it was in {escape_terminal(row.restores[:SHORT])}"
    if row.declined:
        yield "declined"
    if row.undone:
        yield "undone"


def _arcs(rows: Sequence[_Row]) -> list[str]:
    """Return the drawing beside each row: `.` where an arc begins, `|` where it goes on, and a `'` where it ends."""
    places = {row.version.sha: at for at, row in enumerate(rows)}
    drawn = [""] * len(rows)
    for at, row in enumerate(rows):
        if not row.restores:
            continue
        end = places.get(row.restores, len(rows) - 1)
        column = max(len(text) for text in drawn[at : end + 1])
        for place in range(at, end + 1):
            sign = "." if place == at else "'" if place == end else "|"
            drawn[place] = drawn[place].ljust(column) + sign
    width = max(map(len, drawn))
    return [text.ljust(width) for text in drawn]
