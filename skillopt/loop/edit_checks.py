"""Checks of proposed edits, alone, together and for leaks: each refusal has a reason that the proposer can act on."""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from skillopt.errors import EditConflictError, EditError
from skillopt.loop.draft import Draft, Line
from skillopt.loop.memory import PeoplesRefusal, refused_by_people
from skillopt.safety.capabilities import find_piped_command
from skillopt.safety.leaks import LEAK_REASON, ProtectedText, find_leaks
from skillopt.safety.lint import lint_change
from skillopt.safety.text_classes import LintClass
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, Edit, Patch, apply_edits
from skillopt.skills.trained_files import is_script

_LONGEST_EDIT: Final = 20_000
"""Characters of any part of an edit, the size of a whole skill of average length."""

Refusal = tuple[Edit, str]
"""An edit and why it is not tried."""


def check_change(before: SkillDocument, after: SkillDocument, allow: Collection[LintClass]) -> str:
    """Return why a change may not be made, in one line; empty when it may."""
    found = [finding.message for finding in lint_change(before.text, after.text, frozenset(allow))]
    if LintClass.PROGRAM not in allow:  # a person may look at others; this one is not even run in rollouts
        known = set(before.text.splitlines())
        told = (part.text.splitlines() for part in after.parts if not is_script(part.path))
        new = (line for lines in told for line in lines if line not in known)
        found += [
            f"it adds a command whose input is run unread: {one[:120]!r}" for one in map(find_piped_command, new) if one
        ]
    return "; ".join(found)


def check_leaks(protected: ProtectedText, first: SkillDocument, after: SkillDocument) -> str:
    """Return what protected text a document has that the first one lacks, in one line; empty for none."""
    known = set(first.text.splitlines())
    added = "\n".join(line for line in after.text.splitlines() if line not in known)
    return LEAK_REASON if added and find_leaks(protected, added, first.text) else ""


def check_edits(
    document: SkillDocument,
    edits: Sequence[Edit],
    allow: Collection[LintClass],
    by_people: Sequence[PeoplesRefusal] = (),
    shell_problem: Callable[[str, str], str] | None = None,
) -> tuple[tuple[Change, ...], tuple[Refusal, ...]]:
    """Apply each edit alone; refuse what people refused, what cannot be applied, and what lint or a shell refuses."""
    sound, refused = list[Change](), list[Refusal]()
    for edit in edits:
        try:
            _check_size(edit)
            problem = refused_by_people(edit, by_people, document)
            alone = apply_edits(document, [edit])
            problem = problem or check_change(document, alone.document, allow)
            if shell_problem and not problem:
                known = {part.text for part in document.parts}
                new = (part for part in alone.document.parts if part.text not in known)
                problem = next(filter(None, (shell_problem(part.path, part.text) for part in new)), "")
        except EditError as error:
            problem = str(error).partition(": ")[2]  # without the edit's id, which tells its proposer nothing
        if problem:
            refused.append((edit, problem))
        else:
            sound.append(alone.changes[0])
    return tuple(sound), tuple(refused)


def join_edits(
    document: SkillDocument, ranked: Sequence[Change], allow: Collection[LintClass]
) -> tuple[Patch, tuple[Refusal, ...], tuple[Refusal, ...]]:
    """Apply edits together; return the patch, edits that together are refused, and rivals of better-ranked ones.

    A rival is sound and changes the same text as an edit of the patch, so that only one of them can be taken.
    """
    patch, refused, rivals = Patch(document, ()), list[Refusal](), list[Refusal]()
    for change in ranked:
        try:
            wider = apply_edits(document, [*(kept.edit for kept in patch.changes), change.edit])
        except EditConflictError:
            rivals.append((change.edit, "it changes the same text as another edit, which was tried first"))
            continue
        if problem := check_change(document, wider.document, allow):
            refused.append((change.edit, problem))
        else:
            patch = wider
    return patch, tuple(refused), tuple(rivals)


def _check_size(edit: Edit) -> None:
    """Refuse an edit too large to be looked at, before any pattern runs over it."""
    size = max(len(text) for text in (edit.content, edit.anchor, edit.section, edit.rationale))
    if size > _LONGEST_EDIT:
        raise EditError(
            f"edit {edit.id!r}: expected at most {_LONGEST_EDIT:,} characters, found {size:,}; a rule takes a few lines"
        )


def find_leaking_edits(
    protected: ProtectedText, first: SkillDocument, document: SkillDocument, edits: Sequence[Edit]
) -> list[Refusal]:
    """Find edits without which a document carries no protected text, later ones first, each with the reason."""
    draft, known, harmless = Draft(Skill("", document)), set(first.text.splitlines()), list[str]()
    for line in document.text.splitlines() if check_leaks(protected, first, document) else ():
        # What leaks already is no reason to refuse an edit; a piece of another leak is.
        if line in known:
            continue
        if check_leaks(protected, first, SkillDocument("\n".join([first.text, *harmless, line]))):
            first = SkillDocument(f"{first.text}\n{line}")
        else:
            harmless.append(line)

    def problem(kept: Sequence[Edit]) -> str:
        return check_leaks(protected, first, draft.build(list(map(Line, kept))).document)

    if not problem(edits):
        return []
    kept, refused = list[Edit](), list[Refusal]()
    for edit in edits:
        if reason := problem([*kept, edit]):
            refused.append((edit, reason if problem([edit]) else f"together with others, {reason}"))
        else:
            kept.append(edit)
    return refused
