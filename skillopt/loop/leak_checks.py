"""Leaks of a patch as a whole: which edits to leave out so that what is left carries no protected text."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Final

from skillopt.loop.draft import Draft, Line
from skillopt.loop.edit_checks import Refusal, check_leaks
from skillopt.safety.leaks import ProtectedText
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Edit

__all__ = ["find_leaking_edits"]

_MOST_TOGETHER: Final = 2
"""Edits of which every set is tried; beyond, edits are kept in their order as long as they carry nothing together."""


def find_leaking_edits(
    protected: ProtectedText,
    first: SkillDocument,
    document: SkillDocument,
    edits: Sequence[Edit],
) -> list[Refusal]:
    """Find the fewest edits without which a document carries no protected text, each with the reason."""
    draft = Draft(Skill("", document))
    if check_leaks(protected, first, document):  # what is there already is no reason to refuse an edit
        first = _with_leaking_lines(protected, first, document)

    def problem(kept: Sequence[Edit]) -> str:
        return check_leaks(protected, first, draft.build(list(map(Line, kept))).document)

    if not problem(edits):  # all that any of them adds is in there
        return []
    alone = {edit.id: reason for edit in edits if (reason := problem([edit]))}
    clean = [edit for edit in edits if edit.id not in alone]
    reason = problem(clean)
    refused = [(edit, alone[edit.id]) for edit in edits if edit.id in alone]
    if not reason:
        return refused
    return [*refused, *((edit, f"together with others, {reason}") for edit in _carriers(clean, problem))]


def _with_leaking_lines(protected: ProtectedText, first: SkillDocument, document: SkillDocument) -> SkillDocument:
    """Add to what training began with the lines that leak already, and no other: pieces of other leaks count on."""
    old = set(first.text.splitlines())
    harmless: list[str] = []
    for line in document.text.splitlines():
        if line in old:
            continue
        after = SkillDocument("\n".join([first.text, *harmless, line]))
        if check_leaks(protected, first, after):
            first = SkillDocument(f"{first.text}\n{line}")
        else:
            harmless.append(line)
    return first


def _carriers(edits: Sequence[Edit], problem: Callable[[Sequence[Edit]], str]) -> list[Edit]:
    """Return the smallest set of edits that carries a leak, the last ones where several do."""
    for size in range(1, _MOST_TOGETHER + 1):
        for left_out in combinations(reversed(edits), size):
            if not problem([edit for edit in edits if edit not in left_out]):
                return [edit for edit in edits if edit in left_out]
    kept: list[Edit] = []
    for edit in edits:
        if not problem([*kept, edit]):
            kept.append(edit)
    return [edit for edit in edits if edit not in kept]
