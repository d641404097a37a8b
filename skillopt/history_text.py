"""The history of a skill as text for a terminal: the graph, a version, words that changed, blame, bisection.

Owns the words and the layout; every text from a repository is shown inert. Does not own what is told (commands).
"""

import re
from collections.abc import Iterator, Sequence
from textwrap import indent
from typing import Final

from skillopt.commands.bisect import Bisected
from skillopt.commands.blame import Blamed, BlamedLine
from skillopt.commands.diff import WordDiffed
from skillopt.commands.log import Graphed, GraphedVersion
from skillopt.commands.recorded_version import RecordedEdit
from skillopt.commands.show import ShownVersion
from skillopt.inert import plain, plain_lines
from skillopt.word_diff import PieceKind

__all__ = ["render_bisected", "render_blamed", "render_graph", "render_version", "render_words"]

_SHORT: Final = 10
_COMMIT: Final = re.compile(r"[0-9a-f]{40,64}")
_MOST_TASKS: Final = 6
_SIGNS: Final = {"accepted": "*", "rollback": "<", "start": "o"}
_MARKS: Final = {PieceKind.GONE: ("[-", "-]", "31"), PieceKind.NEW: ("{+", "+}", "32")}


def render_graph(result: Graphed) -> str:
    """Draw the line of versions, newest first, with an arc from each rollback to what it goes back to."""
    if not result.versions:
        return f"{result.skill}: no versions yet"
    arcs = _arcs(result.versions)
    lines = [f"branch {result.branch}"]
    for row, arc in zip(result.versions, arcs, strict=True):
        version = row.version
        told = [plain(version.sha[:_SHORT]), version.at, plain(version.subject), *_numbers(row)]
        lines.append(f"{_SIGNS[row.kind]} {arc} {'  '.join(told)}".replace("   ", "  "))
    legend = "* accepted, < went back, o training started here"
    return "\n".join([*lines, f"{legend}; a bracket spans what a rollback undid" if any(arcs) else legend])


def _numbers(row: GraphedVersion) -> Iterator[str]:
    trailer = row.version.trailer
    if row.gain is not None:
        counts = plain(trailer("Wins-Ties-Losses"))
        expected = f", expect {plain(trailer('Val-Expected'))}" if trailer("Val-Expected") else ""
        yield f"val {plain(trailer('Val-Before'))} -> {plain(trailer('Val-After'))} ({row.gain:+.3f}){expected}"
        yield f"{counts} better/equal/worse, confidence {plain(trailer('Confidence'))}"
    if row.restores:
        yield f"as it was in {plain(row.restores[:_SHORT])}"
    if row.undone:
        yield "undone"


def _arcs(rows: Sequence[GraphedVersion]) -> list[str]:
    """Give the drawing beside each row: `.` where an arc begins, `|` where it goes on, and a `'` where it ends."""
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


def render_version(result: ShownVersion) -> str:
    """Render a version: message, numbers, edits with what is recorded of each, and the difference."""
    version = result.version
    parts = [f"{result.skill} {version.sha}\n{version.at}  {plain(version.subject)}"]
    recorded = result.recorded
    # What the edits are is told below with more beside it; the last paragraph is the result.
    body = version.body if recorded is None else version.body.rpartition("\n\n")[2]
    if body:
        parts.append(indent(plain_lines(body), "  "))
    parts.append("\n".join(f"{plain(key)}: {plain(value)}" for key, value in version.trailers))
    if recorded is not None:
        parts += [_edit(number, edit) for number, edit in enumerate(recorded.edits, 1)]
        for told, tasks in (("fixed", recorded.verdict.fixed), ("broke", recorded.verdict.broken)):
            if tasks:
                parts.append(f"{told} on val: {_listed(tasks)}")
    elif result.kind == "accepted":
        parts.append("the ledger here holds nothing of its run; this is what its commit says")
    return "\n\n".join([*parts, plain_lines(result.diff) or "no text changed"])


def _edit(number: int, recorded: RecordedEdit) -> str:
    change, screened = recorded.change, recorded.screened
    lines = [f"edit {number}, about {change.tokens} tokens: {plain(change.edit.summary)}"]
    lines.append(f"  why: {plain(change.edit.rationale) or 'no reason was given'}")
    if change.edit.tasks:
        lines.append(f"  motivated by train tasks {_listed(change.edit.tasks)}")
    if screened is not None:
        tried = f"{screened.before:.3f} -> {screened.after:.3f} on {screened.tasks} train tasks"
        lines.append(f"  alone: {tried}: {plain(screened.reason)}")
    return "\n".join(lines)


def render_words(result: WordDiffed, *, colour: bool) -> str:
    """Render a difference word by word: in colours, or as `[-gone-]{+new+}`."""
    lines = []
    for file in result.files:
        lines.append(f"--- {plain(file.path)}, {_named(result.before)} -> {_named(result.after)}")
        for hunk in file.hunks:
            text = "".join(_piece(piece.kind, piece.text, colour=colour) for piece in hunk.pieces)
            lines += [f"@@ line {hunk.before} -> {hunk.after} @@", text.removesuffix("\n")]
    same = f"{result.skill}: {_named(result.before)} and {_named(result.after)} are the same"
    return "\n".join(lines) or same


def _named(version: str) -> str:
    """Shorten a commit; what the user typed otherwise stays as it is."""
    return version[:_SHORT] if _COMMIT.fullmatch(version) else plain(version)


def _piece(kind: PieceKind, text: str, *, colour: bool) -> str:
    """Mark a piece line by line, so that no mark spans a line end."""
    shown = "\n".join(plain_lines(line) for line in text.split("\n"))
    if kind is PieceKind.SAME:
        return shown
    left, right, code = _MARKS[kind]
    if colour:
        left, right = f"\x1b[{code}m", "\x1b[0m"
    return "\n".join(f"{left}{line}{right}" if line else "" for line in shown.split("\n"))


def render_blamed(result: Blamed) -> str:
    """Render each line with where it comes from."""
    rows = [(*_source(line), str(line.number), plain(line.text)) for line in result.lines]
    if not rows:
        return f"{result.skill} {result.version[:_SHORT]}: no such line"
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    lines = []
    for *cells, number, text in rows:
        left = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
        lines.append(f"{left}  {number.rjust(4)} | {text}".rstrip())
    return "\n".join(lines)


def _source(line: BlamedLine) -> tuple[str, str, str]:
    run = plain(line.run) if line.version else "people"
    return line.commit[:_SHORT], run or "rollback", _listed(line.tasks)


def render_bisected(result: Bisected) -> str:
    """Render what a search found and what it rests on."""
    lines = [f"{result.skill}, task {plain(result.task)}, {result.texts} texts: {plain(result.reason)}"]
    for text in result.measured:
        mark = "<- broke it" if text.commit == result.culprit else ""
        score = f"passed {text.passed} of {text.trials}, score {text.score:.3f}"
        lines.append("  ".join(filter(None, (text.commit[:_SHORT], score, plain(text.subject), mark))))
    lines.append(f"asked: {result.rollouts} rollouts, {result.paid_rollouts} newly run")
    if result.culprit:
        lines.append(f"look further: skillopt show {result.culprit[:_SHORT]}")
    elif result.shown:
        lines.append("more trials may tell: --trials, or a higher --max-rollouts")
    return "\n".join(lines)


def _listed(tasks: Sequence[str]) -> str:
    more = f", … {len(tasks) - _MOST_TASKS} more" if len(tasks) > _MOST_TASKS else ""
    return f"{', '.join(plain(task) for task in tasks[:_MOST_TASKS])}{more}"
