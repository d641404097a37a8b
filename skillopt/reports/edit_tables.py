"""The edits of a run as Markdown: those that were taken, and what became of the others.

Owns the tables, and which edits were not taken for the same kind of reason. Does not own the other parts of a report
(sections) or how much they may say (room).
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from skillopt.reports.length_limits import Room, count, more, names, said
from skillopt.reports.view import EditView, Fate, RunView, ScreenView

__all__ = ["not_taken", "taken"]

_MOST_KINDS: Final = 10
"""Kinds of reason that are listed; every refusal can have words of its own."""


def taken(view: RunView, room: Room) -> str:
    """List the edits that were taken."""
    edits = [edit for edit in view.edits if edit.fate is Fate.ACCEPTED]
    guided = [version for version in view.accepted if version.kind != "edits"]
    lines = [
        f"Version {version.number} renews the durable guidance (slow update); no edit is behind it."
        for version in guided
    ]
    if not edits:
        return "\n\n".join(lines or ["No edit was taken."])
    rows = [
        f"| {number} | {_change(edit, room)} | {said(edit.rationale, room)} | {names(edit.tasks, room)} "
        f"| {_alone(edit.screen)} | +{edit.tokens_added} -{edit.tokens_removed} |"
        for number, edit in enumerate(edits[: room.edits], 1)
    ]
    head = ["| | edit | why, in the proposer's words | train tasks behind it | alone | tokens |", "|" + "---|" * 6]
    note = "Alone: mean score without the edit → with it, on train tasks it cites. Tokens are estimates."
    return "\n\n".join(["\n".join([*head, *rows]) + more(len(edits) - len(rows), "edit", view.run), note, *lines])


def not_taken(view: RunView, room: Room) -> str:
    """Count the edits that were not taken by why, and list them, folded away; empty when there are none."""
    others = [edit for edit in view.edits if edit.fate is not Fate.ACCEPTED]
    if not others:
        return ""
    fates = Counter(edit.fate for edit in others)
    told = ", ".join(f"{fates[fate]} {fate.value}" for fate in Fate if fates[fate])
    head = ["| steps | edit | fate | reason |", "|" + "---|" * 4]
    # The same edit comes again and again, and falls for the same reason.
    steps: dict[str, list[int]] = defaultdict(list)
    for edit in others:
        steps[f"{_change(edit, room)} | {edit.fate.value} | {said(edit.reason, room)}"].append(edit.step)
    rows = [f"| {', '.join(map(str, at))} | {row} |" for row, at in steps.items()]
    left = sum(map(len, list(steps.values())[room.refused :]))
    table = "\n".join([*head, *rows[: room.refused]]) if room.refused else ""
    text = f"{table}{more(left, 'edit', view.run)}".strip()
    folded = f"<details><summary>{count(len(others), 'edit')} not taken: {told}</summary>\n\n{text}\n\n</details>"
    return f"{_kinds(others, room)}\n\n{folded}"


def _kinds(others: Sequence[EditView], room: Room) -> str:
    """Count edits by fate and kind of reason, the most frequent first."""
    kinds = Counter((edit.fate, _kind(edit)) for edit in others).most_common()
    rows = [f"| {number} | {fate.value} | {said(kind, room)} |" for (fate, kind), number in kinds[:_MOST_KINDS]]
    rest = kinds[_MOST_KINDS:]
    if rest:
        rows.append(f"| {sum(number for _, number in rest)} | | {count(len(rest), 'more reason')} |")
    return "\n".join(["| edits | fate | reason |", "|" + "---|" * 3, *rows])


def _kind(edit: EditView) -> str:
    """Give what a reason has in common with others: screen and gate say numbers first, then what follows from them."""
    if edit.fate is Fate.JOINED:
        return "it was in no candidate that met a gate"
    return edit.reason if edit.fate is Fate.REFUSED else edit.reason.rpartition(": ")[2]


def _change(edit: EditView, room: Room) -> str:
    place = f" in {said(edit.section, room)}" if edit.section else ""
    shown = {
        "add": said(edit.after, room),
        "delete": said(edit.before, room),
    }.get(edit.op, f"{said(edit.before, room)} by {said(edit.after, room)}")
    return f"{edit.op}{place}: {shown}"


def _alone(screen: ScreenView | None) -> str:
    """Say what an edit came to alone."""
    if screen is None:
        return "—"
    return f"{screen.before:.2f} → {screen.after:.2f} on {count(screen.tasks, 'task')}"
