"""Edits of a run as blocks: what was taken, what was not and why, and the text that a shrinking run went through."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from shlex import quote
from typing import Final

from skillopt.gate.grades import grade_words
from skillopt.reports.blocks import (
    Details,
    Diff,
    Paragraph,
    ReportBlock,
    Table,
    cited,
    difference_blocks,
    list_names,
    paragraphs,
)
from skillopt.reports.view import Ablation, EditView, Fate, RunView
from skillopt.safety.capabilities import capability_difference
from skillopt.safety.plurals import count_noun
from skillopt.skills.trained_files import split_text

_MOST_VERSIONS: Final = 24
_LONGEST_DIFF: Final = 200_000


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """How long a report may be: characters of a text, and rows of a table or names in a list."""

    text: int = 1000
    rows: int = 1_000_000


def show_changes(view: RunView) -> list[ReportBlock]:
    """Show what each version changes, folded away."""
    pairs = list(pairwise(view.versions))
    return [
        Details(
            f"What version {after.number} changes in {name_files(before.text)}",
            [
                *paragraphs(f"What was shown of it: {grade_words(after.grading)}." if after.grading else ""),
                *difference_blocks(capability_difference(before.text, after.text)),
                Diff(before.text, after.text)
                if len(before.text) + len(after.text) <= _LONGEST_DIFF
                else Paragraph("These texts are too long to be compared here; see `skillopt diff`."),
            ],
        )
        for before, after in pairs[-_MOST_VERSIONS:]
    ]


def name_files(text: str) -> str:
    """Name the files that a text is made of."""
    return " + ".join(part.path for part in split_text(text))


def list_taken_edits(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    """List the edits of the versions that were accepted."""
    edits = [edit for edit in view.edits if edit.fate is Fate.ACCEPTED]
    guided = [
        f"Version {version.number} renews the durable guidance (slow update); no edit is behind it."
        for version in view.accepted
        if version.kind == "slow update"
    ]
    if not edits:
        return paragraphs(*(guided or ["No edit was taken."]))
    return [*_edit_table(edits, view, limits), *paragraphs(*guided)]


def list_draft_edits(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    """List the edits of the draft."""
    names = view.draft.edits if view.draft else ()
    edits = [edit for edit in view.edits if edit.id in names]
    return _edit_table(edits, view, limits) if edits else []


def _edit_table(edits: Sequence[EditView], view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    rows = [
        (
            str(number),
            _edit(edit, limits),
            cited(edit.rationale, limits.text) or "—",
            list_names(edit.tasks, limits.rows),
            _left_out(edit.ablation),
            f"+{edit.tokens_added} -{edit.tokens_removed}",
        )
        for number, edit in enumerate(edits[: limits.rows], 1)
    ]
    columns = "", "edit", "why, in the proposer's words", "train tasks behind it", "ablation", "tokens"
    note = (
        "Ablation: how many runs without the edit, on train tasks it cites, make a mistake that the edit removes; "
        "`—` where earlier runs decided. Tokens are estimates."
    )
    return [Table(columns, rows), *paragraphs(more_line(len(edits) - len(rows), "edit", view.run), note)]


def _edit(edit: EditView, limits: ReportLimits) -> str:
    before, after = (cited(text, limits.text) or "—" for text in (edit.before, edit.after))
    place = f" in {cited(edit.section, limits.text)}" if edit.section else ""
    shown = {"add": after, "rewrite": after, "delete": before}.get(edit.op, f"{before} by {after}")
    return f"{edit.op}{place}: {shown}"


def _left_out(found: Ablation | None) -> str:
    """Show how many runs without an edit fail, as far as that was run."""
    if found is None or not found.runs:
        return "—"
    return f"{found.failed}/{found.runs} runs fail, {count_noun(found.tasks, 'task')}"


def edits_not_taken(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    """Count the edits that were not taken by why, and list them, folded away; empty when there are none."""
    waiting = view.draft.edits if view.draft else ()
    others = [edit for edit in view.edits if edit.fate is not Fate.ACCEPTED and edit.id not in waiting]
    if not others:
        return []
    fates = Counter(edit.fate for edit in others)
    summary = ", ".join(f"{fates[fate]} {fate.value}" for fate in Fate if fates[fate])
    # The same edit comes again and again, and falls for the same reason.
    steps: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for edit in others:
        row = _edit(edit, limits), edit.fate.value, cited(edit.reason, limits.text) or "—"
        steps[row].append(str(edit.step))
    rows = [(", ".join(at), *row) for row, at in steps.items()]
    left = sum(map(len, list(steps.values())[limits.rows :]))
    table = Table(("steps", "edit", "fate", "reason"), rows[: limits.rows])
    folded = [table, *paragraphs(more_line(left, "edit", view.run))]
    return [Details(f"{count_noun(len(others), 'edit')} not taken: {summary}", folded)]


def more_line(left: int, what: str, run: str) -> str:
    """Count the rows left out and name the command that lists all; empty when none were."""
    if left <= 0:
        return ""
    return f"{count_noun(left, what)} more, left out for length: `skillopt report {quote(run)}` lists all."


def list_units(view: RunView, limits: ReportLimits) -> list[ReportBlock]:
    """List what a shortened text was made of: each unit with the tasks that need it; empty for other runs."""
    if not view.units:
        return []
    rows = [
        (
            str(one.line),
            cited(one.text, limits.text),
            str(one.tokens),
            "stays" if one.kept else "deleted",
            list_names(one.tasks, limits.rows) if one.tasks else cited(one.reason),
        )
        for one in view.units[: limits.rows]
    ]
    more = more_line(len(view.units) - len(rows), "unit", view.run)
    return [Table(("line", "text", "tokens", "outcome", "tasks that need it"), rows), *paragraphs(more)]
