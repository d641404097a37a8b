"""Versions and edits for a page: word-by-word changes, each version with its edits and its gate."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from skillopt.reports.edit_views import EditView, Fate
from skillopt.reports.html.line_diff import DiffLine, compare_lines, count_words
from skillopt.reports.view import GateView, RunView, VersionView
from skillopt.skills.word_diff import Piece, PieceKind

__all__ = ["MOST_EDITS", "MOST_VERSIONS", "EditCard", "VersionCard", "show_edit", "show_versions", "unaccepted_edits"]

MOST_VERSIONS: Final = 24
MOST_EDITS: Final = 200
_MOST_TEXT: Final = 4000
_MOST_SKILL: Final = 200_000
_MOST_LINES: Final = 600
"""Of one comparison."""


@dataclass(frozen=True, slots=True)
class EditCard:
    """An edit and the words that it changes."""

    view: EditView
    lines: tuple[DiffLine, ...]


@dataclass(frozen=True, slots=True)
class VersionCard:
    """A version, its change against the one before, and how many words came and went and tokens in all."""

    view: VersionView
    gate: GateView | None
    edits: tuple[EditCard, ...]
    more_edits: int
    lines: tuple[DiffLine, ...]
    more_lines: int
    words: tuple[int, int]
    tokens: int


def show_versions(view: RunView) -> tuple[VersionCard, ...]:
    """Show the newest versions, newest first."""
    edits = {edit.id: edit for edit in view.edits}
    gates = {gate.number: gate for gate in view.gates}
    shown = []
    for before, after in list(pairwise(view.versions))[-MOST_VERSIONS:]:
        mine = [edits[name] for name in after.edits if name in edits]
        lines = _compared(before.text, after.text)
        shown.append(
            VersionCard(
                after,
                gates.get(after.gate) if after.gate is not None else None,
                tuple(show_edit(edit) for edit in mine[:MOST_EDITS]),
                max(0, len(mine) - MOST_EDITS),
                lines[:_MOST_LINES],
                max(0, len(lines) - _MOST_LINES),
                count_words(lines),
                after.tokens - before.tokens,
            )
        )
    return tuple(reversed(shown))


def show_edit(edit: EditView) -> EditCard:
    """Show what an edit takes away and brings."""
    before, after = edit.before.strip("\n"), edit.after.strip("\n")
    if len(before) + len(after) > _MOST_TEXT:
        parts = ((PieceKind.GONE, before), (PieceKind.NEW, after))
        texts = ((kind, text, text[: _MOST_TEXT // 2]) for kind, text in parts if text)
        return EditCard(edit, tuple(DiffLine((Piece(kind, _shortened(text, kept)),)) for kind, text, kept in texts))
    return EditCard(edit, compare_lines(before, after, context=10_000))


def unaccepted_edits(edits: Iterable[EditView]) -> list[EditView]:
    """List the edits that are in no version, newest first; those that came furthest before the others of their step."""
    order = list(Fate)
    return sorted((edit for edit in edits if edit.version is None), key=lambda one: (-one.step, -order.index(one.fate)))


def _compared(before: str, after: str) -> tuple[DiffLine, ...]:
    if len(before) + len(after) > _MOST_SKILL:
        return (
            DiffLine((Piece(PieceKind.SAME, "These texts are too long to be compared here; see `skillopt diff`."),)),
        )
    return compare_lines(before, after)


def _shortened(text: str, kept: str) -> str:
    return text if len(kept) == len(text) else f"{kept} … {len(text) - len(kept):,} characters more"
