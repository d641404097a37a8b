"""Markdown tables of a run's edits: accepted ones, those that wait, and what became of the others.

Edits that were not taken are grouped by the same kind of reason.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from skillopt.reports.edit_views import EditView, EliminationView, Fate
from skillopt.reports.length_limits import LengthLimits, list_names, more_line, quote_text
from skillopt.reports.view import RunView
from skillopt.safety.plurals import count_noun

__all__ = ["draft_edits", "edits_not_taken", "taken_edits"]

_MOST_KINDS: Final = 10
"""Kinds of reason that are listed; every refusal can have words of its own."""


def taken_edits(view: RunView, limits: LengthLimits) -> str:
    """List the edits that were taken."""
    edits = [edit for edit in view.edits if edit.fate is Fate.ACCEPTED]
    guided = [version for version in view.accepted if version.kind != "edits"]
    lines = [
        f"Version {version.number} renews the durable guidance (slow update); no edit is behind it."
        for version in guided
    ]
    if not edits:
        return "\n\n".join(lines or ["No edit was taken."])
    return "\n\n".join([_table(edits, view, limits), *lines])


def draft_edits(view: RunView, limits: LengthLimits) -> str:
    """List the edits that wait in the draft; empty when none does."""
    names = view.draft.edits if view.draft else ()
    edits = [edit for edit in view.edits if edit.id in names]
    return _table(edits, view, limits) if edits else ""


def _table(edits: Sequence[EditView], view: RunView, limits: LengthLimits) -> str:
    rows = [
        f"| {number} | {_change(edit, limits)} | {quote_text(edit.rationale, limits)} "
        f"| {list_names(edit.tasks, limits)} | {_without(edit.elimination)} "
        f"| +{edit.tokens_added} -{edit.tokens_removed} |"
        for number, edit in enumerate(edits[: limits.edits], 1)
    ]
    head = ["| | edit | why, in the proposer's words | train tasks behind it | left out | tokens |", "|" + "---|" * 6]
    note = (
        "Left out: mean score without the edit → with it, on train tasks it cites; `—` where earlier runs had told. "
        "Tokens are estimates."
    )
    return "\n".join([*head, *rows]) + more_line(len(edits) - len(rows), "edit", view.run) + f"\n\n{note}"


def edits_not_taken(view: RunView, limits: LengthLimits) -> str:
    """Count the edits that were not taken by why, and list them, folded away; empty when there are none."""
    waiting = view.draft.edits if view.draft else ()
    others = [edit for edit in view.edits if edit.fate is not Fate.ACCEPTED and edit.id not in waiting]
    if not others:
        return ""
    fates = Counter(edit.fate for edit in others)
    summary = ", ".join(f"{fates[fate]} {fate.value}" for fate in Fate if fates[fate])
    head = ["| steps | edit | fate | reason |", "|" + "---|" * 4]
    # The same edit comes again and again, and falls for the same reason.
    steps: dict[str, list[int]] = defaultdict(list)
    for edit in others:
        steps[f"{_change(edit, limits)} | {edit.fate.value} | {quote_text(edit.reason, limits)}"].append(edit.step)
    rows = [f"| {', '.join(map(str, at))} | {row} |" for row, at in steps.items()]
    left = sum(map(len, list(steps.values())[limits.refused :]))
    table = "\n".join([*head, *rows[: limits.refused]]) if limits.refused else ""
    text = f"{table}{more_line(left, 'edit', view.run)}".strip()
    folded = (
        f"<details><summary>{count_noun(len(others), 'edit')} not taken: {summary}</summary>\n\n{text}\n\n</details>"
    )
    return f"{_kinds(others, limits)}\n\n{folded}"


def _kinds(others: Sequence[EditView], limits: LengthLimits) -> str:
    """Count edits by fate and kind of reason, the most frequent first."""
    kinds = Counter((edit.fate, _kind(edit)) for edit in others).most_common()
    rows = [f"| {number} | {fate.value} | {quote_text(kind, limits)} |" for (fate, kind), number in kinds[:_MOST_KINDS]]
    rest = kinds[_MOST_KINDS:]
    if rest:
        rows.append(f"| {sum(number for _, number in rest)} | | {count_noun(len(rest), 'more reason')} |")
    return "\n".join(["| edits | fate | reason |", "|" + "---|" * 3, *rows])


def _kind(edit: EditView) -> str:
    """Return the kind of a reason: elimination and gate put numbers first, then what follows from them."""
    if edit.fate is Fate.JOINED:
        return "it was in no candidate that met a gate"
    return edit.reason if edit.fate in (Fate.REFUSED, Fate.UNMOVED) else edit.reason.rpartition(": ")[2]


def _change(edit: EditView, limits: LengthLimits) -> str:
    place = f" in {quote_text(edit.section, limits)}" if edit.section else ""
    shown = {
        **dict.fromkeys(("add", "rewrite"), quote_text(edit.after, limits)),
        "delete": quote_text(edit.before, limits),
    }.get(edit.op, f"{quote_text(edit.before, limits)} by {quote_text(edit.after, limits)}")
    return f"{edit.op}{place}: {shown}"


def _without(found: EliminationView | None) -> str:
    """Show the score without an edit and with it, as far as that was run."""
    if found is None or found.without is None:
        return "—"
    with_it = "" if found.with_it is None else f" → {found.with_it:.2f}"
    return f"{found.without:.2f}{with_it} on {count_noun(found.tasks, 'task')}"
