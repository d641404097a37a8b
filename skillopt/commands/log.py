"""The command `log`: its options, and its result as text."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from skillopt.commands.options import JsonOption, SkillArgument, select
from skillopt.commands.output import SHORT, show
from skillopt.safety.escaping import escape_terminal

if TYPE_CHECKING:
    from skillopt.actions.log import Graphed, GraphedVersion, Logged, LoggedDraft, LoggedVersion
    from skillopt.versions.decisions import PersonsWord

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
    if graph:
        from skillopt.actions.log import graph as draw

        show(draw(select(skill)), _graph_text, as_json=as_json)
        return
    from skillopt.actions.log import log as run

    show(run(select(skill)), _text, as_json=as_json)


def _text(result: "Logged") -> str:
    versions = [f"branch {result.branch}", *map(_version, result.versions)]
    if not result.versions:
        versions = [f"{result.skill}: no versions yet"]
    error = result.error
    if error is not None and error.spent:
        spent = f"runs on these val tasks spent {error.spent:.3f} of the error of {error.allowed:.2f} that they share"
        versions.append(f"{spent}, {error.left:.3f} is left; fresh tasks bring more")
    draft = () if result.draft is None else _draft(result.skill, result.draft)
    return "\n".join([*versions, *draft, *_edits(result), *_descriptions(result)])


def _descriptions(result: "Logged") -> Iterator[str]:
    """List the descriptions, which have a branch of their own, with recall and false triggers on held-out requests."""
    if result.descriptions:
        yield f"branch skillopt-trigger/{result.skill}"
    for version in result.descriptions:
        recall, false = (
            " → ".join(escape_terminal(version.trailer(f"{name}-{when}")) for when in ("Before", "After"))
            for name in ("Recall", "False-Triggers")
        )
        said = f"recall {recall}, false triggers {false}"
        declined = _declined(result.declined.get(version.sha))
        yield "  ".join(
            filter(None, (version.sha[:SHORT], version.at, escape_terminal(version.subject), said, declined))
        )


def _edits(result: "Logged") -> Iterator[str]:
    """List the edits that can be dropped, each with its number."""
    if result.edits:
        yield f"edits that the default branch lacks; to refuse one: skillopt decline {result.skill} NUMBER"
    for one in result.edits:
        summary = escape_terminal(one.edit.summary)
        shown = summary if len(summary) <= _WIDEST else f"{summary[: _WIDEST - 1]}…"
        yield f"  {one.number:>3}  {'dropped: ' if one.dropped else ''}{shown}"


def _draft(skill: str, draft: "LoggedDraft") -> Iterator[str]:
    version = draft.version
    cells = (version.sha[:SHORT], version.at, escape_terminal(version.subject), draft.words)
    yield f"draft {'  '.join(cells)}"
    yield from (f"  a person must look at it first: {escape_terminal(mark)}" for mark in draft.marks)
    take = f"to make it a version: skillopt take {skill}"
    yield f"  {escape_terminal(draft.obstacle) or f'what it changes: skillopt diff {skill} draft; {take}'}"


def _version(version: "LoggedVersion") -> str:
    from skillopt.gate.headline import read_headline
    from skillopt.versions.staleness import Fit, TargetName

    stale, scores = version.staleness, escape_terminal(read_headline(dict(version.trailers)))
    target = f"trained on {TargetName.parse(version.harness)}" if version.harness else ""
    remark = f"stale: {stale.reason}" if stale.fit is Fit.STALE else stale.reason
    taken = f"taken by {version.trailer('Taken-By')}" if version.kind == "taken" else ""
    said = (version.shown, scores, taken, _declined(version.declined), remark or target)
    return "  ".join(filter(None, (version.sha[:SHORT], version.at, version.subject, *said)))


def _declined(word: "PersonsWord | None") -> str:
    """Return who declined it, and why; empty where nobody did."""
    return escape_terminal(f"declined{word.signature}") if word is not None else ""


def _graph_text(result: "Graphed") -> str:
    """Draw the line of versions, newest first, with an arc from each rollback to what it goes back to."""
    if not result.versions:
        return f"{result.skill}: no versions yet"
    arcs = _arcs(result.versions)
    lines = [f"branch {result.branch}"]
    for row, arc in zip(result.versions, arcs, strict=True):
        version = row.version
        cells = [escape_terminal(version.sha[:SHORT]), version.at, escape_terminal(version.subject), *_numbers(row)]
        lines.append(f"{_SIGNS.get(row.kind, 'o')} {arc} {'  '.join(cells)}".replace("   ", "  "))
    legend = "* accepted, + a draft that was taken, < went back, o training started here"
    if any(row.kind in ("declined", "dropped") for row in result.versions):
        legend += ", x versions were declined, - edits were dropped"
    return "\n".join([*lines, f"{legend}; a bracket spans what a rollback undid" if any(arcs) else legend])


def _numbers(row: "GraphedVersion") -> Iterator[str]:
    from skillopt.gate.headline import read_headline

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


def _arcs(rows: Sequence["GraphedVersion"]) -> list[str]:
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
