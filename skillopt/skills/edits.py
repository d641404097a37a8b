"""Bounded edits of a skill body: add, delete, replace, applied all together or not at all.

Every edit is located in the document as it stood before the patch, so the order of a patch does not matter. Nothing is
guessed: an anchor that is missing or ambiguous is an error.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

from skillopt.errors import EditConflictError, EditError, ProtectedTextError
from skillopt.skills.document import Block, Section, SkillDocument, estimate_tokens

__all__ = ["Change", "Edit", "Op", "Patch", "apply_edits", "changed_tokens", "diff_documents"]

_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_WORDS = re.compile(r"\s*\S+")


class Op(StrEnum):
    """What an edit does to the body."""

    ADD = "add"
    DELETE = "delete"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Edit:
    """One proposed change.

    Args:
        id: Unique in its run.
        op: What it does.
        anchor: Text that occurs exactly once in the body: what to delete or replace, or, for an
            `add`, what the new lines follow.
        section: For an `add` without anchor: title of the section at whose end the new lines go;
            empty for the end of the body.
        content: The new text; empty for a `delete`.
        rationale: Why, in the proposer's words.
        tasks: Ids of the train tasks that motivated it.
    """

    id: str
    op: Op
    anchor: str = ""
    section: str = ""
    content: str = ""
    rationale: str = ""
    tasks: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an edit that lacks what its operation needs.

        Raises:
            EditError: A part is missing or does not belong.
        """
        if self.op is not Op.ADD and not self.anchor.strip():
            raise self._error(f"{self.op} needs an anchor, the exact text it changes, found {self.anchor!r}")
        if self.op is Op.DELETE and self.content:
            raise self._error(f"delete takes no content, found {self.content!r}; use replace to change text")
        if self.op is not Op.DELETE and not self.content.strip():
            raise self._error(f"{self.op} needs content, found {self.content!r}")
        if self.section and (self.anchor or self.op is not Op.ADD):
            raise self._error(f"a section is for an add without anchor, found {self.section!r} beside an anchor")

    def _error(self, found: str) -> EditError:
        return EditError(f"edit {self.id!r}: {found}")

    @property
    def summary(self) -> str:
        """Describe the edit on one line."""
        place = self.anchor or (f"section {self.section}" if self.section else "the end")
        match self.op:
            case Op.ADD:
                text = f"add after {place!r}: {self.content.strip()!r}"
            case Op.DELETE:
                text = f"delete {self.anchor!r}"
            case Op.REPLACE:
                text = f"replace {self.anchor!r} by {self.content.strip()!r}"
            case _:
                assert_never(self.op)
        return text


@dataclass(frozen=True, slots=True)
class Change:
    """An edit as it was applied.

    Args:
        edit: The edit.
        start: First byte of the new text in the new document.
        end: Byte after the new text.
        tokens: Estimated tokens added plus removed.
        diff: Unified diff of this edit alone against the document before the patch.
    """

    edit: Edit
    start: int
    end: int
    tokens: int
    diff: str


@dataclass(frozen=True, slots=True)
class Patch:
    """What applying edits gave: the new document and one change per edit, in the order given."""

    document: SkillDocument
    changes: tuple[Change, ...]

    @property
    def tokens(self) -> int:
        """Sum the changed tokens."""
        return sum(change.tokens for change in self.changes)


@dataclass(frozen=True, slots=True)
class _Splice:
    """Replace text[start:end] by new."""

    edit: Edit
    start: int
    end: int
    new: str


def apply_edits(document: SkillDocument, edits: Sequence[Edit]) -> Patch:
    """Apply edits all together; the result does not depend on their order.

    Args:
        document: The document that every anchor refers to.
        edits: Edits with distinct ids.

    Returns:
        The new document and where each edit landed.

    Raises:
        EditConflictError: An anchor or section is not there exactly once, or two edits overlap.
        ProtectedTextError: An edit reaches into frontmatter or a protected region.
    """
    splices = sorted(
        (_locate(document, edit) for edit in edits), key=lambda splice: (splice.start, splice.end, splice.new)
    )
    _refuse_overlaps(splices)
    text, position, ranges = "", 0, {}
    for splice in splices:
        text += document.text[position : splice.start]
        ranges[splice.edit.id] = (len(text), len(text) + len(splice.new))
        text += splice.new
        position = splice.end
    after = SkillDocument(text + document.text[position:])
    head = document.text[: document.body_start]
    if after.frontmatter != document.frontmatter or not after.text.startswith(head):
        raise ProtectedTextError("the edits would change where the frontmatter ends; start the body with no '---' line")
    by_id = {splice.edit.id: splice for splice in splices}
    return Patch(after, tuple(_change(document, after, by_id[edit.id], ranges[edit.id]) for edit in edits))


def changed_tokens(before: str, after: str) -> int:
    """Estimate the tokens that differ between two texts, added plus removed, word by word."""
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    return sum(
        estimate_tokens("".join(old[a:b])) + estimate_tokens("".join(new[c:d]))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    )


def diff_documents(before: SkillDocument, after: SkillDocument, name: str = "SKILL.md", context: int = 2) -> str:
    """Show the difference of two documents as a unified diff."""
    old, new = before.text.splitlines(), after.text.splitlines()
    return "\n".join(unified_diff(old, new, f"a/{name}", f"b/{name}", lineterm="", n=context))


def _change(before: SkillDocument, after: SkillDocument, splice: _Splice, span: tuple[int, int]) -> Change:
    alone = SkillDocument(before.text[: splice.start] + splice.new + before.text[splice.end :])
    return Change(
        splice.edit,
        after.byte_offset(span[0]),
        after.byte_offset(span[1]),
        changed_tokens(before.text[splice.start : splice.end], splice.new),
        diff_documents(before, alone),
    )


def _refuse_overlaps(splices: Sequence[_Splice]) -> None:
    """Refuse edits that touch the same text; two insertions at one point do not."""
    for first, second in pairwise(splices):
        inserts = first.start == first.end and second.start == second.end
        if second.start < first.end or (second.start == first.start and not inserts):
            one, other = sorted((first.edit, second.edit), key=lambda edit: edit.id)
            message = (
                f"edits {one.id!r} and {other.id!r} change the same text: {one.summary}; {other.summary}; keep one"
            )
            raise EditConflictError(message)


def _locate(document: SkillDocument, edit: Edit) -> _Splice:
    """Find what an edit replaces and by what."""
    content = edit.content.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if edit.op is Op.ADD:
        splice = _insertion(document, edit, content)
    else:
        start, end = _find(document, edit)
        splice = _deletion(document, edit, start, end) if edit.op is Op.DELETE else _Splice(edit, start, end, content)
    for region in document.regions:
        inside = region.start < splice.start < region.end
        if inside or (splice.start < region.end and region.start < splice.end):
            message = f"edit {edit.id!r}: {edit.summary} reaches into protected region {region.name!r}; leave it alone"
            raise ProtectedTextError(message)
    return _Splice(edit, splice.start, splice.end, splice.new.replace("\n", document.newline))


def _find(document: SkillDocument, edit: Edit) -> tuple[int, int]:
    """Find the only place of an edit's anchor."""
    anchor = edit.anchor.strip("\r\n")
    if document.newline == "\r\n" and "\r\n" not in anchor:
        anchor = anchor.replace("\n", "\r\n")
    first = document.text.find(anchor, document.body_start)
    if first < 0:
        if anchor in document.text:
            message = f"edit {edit.id!r}: {edit.anchor!r} is in the frontmatter, which edits may not touch"
            raise ProtectedTextError(message)
        raise EditConflictError(_missing(document, edit, anchor))
    again = document.text.find(anchor, first + 1)
    if again >= 0:
        lines = f"lines {document.line_of(first)} and {document.line_of(again)}"
        message = f"edit {edit.id!r}: expected {edit.anchor!r} exactly once, found it on {lines}; quote more text"
        raise EditConflictError(message)
    return first, first + len(anchor)


def _missing(document: SkillDocument, edit: Edit, anchor: str) -> str:
    nearest = _nearest(anchor, (block.text for block in document.blocks))
    hint = f"the nearest text is {nearest!r}" if nearest else "the body has no text like it"
    return f"edit {edit.id!r}: expected {edit.anchor!r} exactly once in the body, found it nowhere; {hint}"


def _nearest(text: str, others: Iterable[str]) -> str:
    """Give the most similar of some texts, empty when none is alike at all."""
    scored = ((SequenceMatcher(None, text[:2000], other[:2000]).ratio(), other) for other in others)
    ratio, best = max(scored, default=(0.0, ""))
    return best if ratio > 0.3 else ""  # noqa: PLR2004 - below, the texts share little but letters


def _insertion(document: SkillDocument, edit: Edit, content: str) -> _Splice:
    """Place new lines after an anchor's last line, or after the last text of a section or the body."""
    if edit.anchor:
        return _joined(document, edit, content, _line_end(document, _find(document, edit)[1]))
    last = _section(document, edit).end if edit.section else len(document.text)
    end = max(document.body_start, len(document.text[:last].rstrip()))
    return _joined(document, edit, content, end)


def _joined(document: SkillDocument, edit: Edit, content: str, end: int) -> _Splice:
    """Insert at `end`, which ends a line, with a blank line unless a list goes on."""
    if not document.text[document.body_start : end].strip():
        lead = "" if document.text[:end].endswith(("\n", "\r")) or not document.text[:end].lstrip("\ufeff") else "\n"
        return _Splice(edit, end, end, f"{lead}{content}\n")
    listed = _LIST_ITEM.match(content) and _LIST_ITEM.match(_block_ending_at(document, end))
    return _Splice(edit, end, end, ("\n" if listed else "\n\n") + content)


def _deletion(document: SkillDocument, edit: Edit, start: int, end: int) -> _Splice:
    """Delete an anchor, and its line ending when it fills its lines."""
    line_start = max((at for at in document.line_starts if at <= start), default=0)
    line_end = _line_end(document, end)
    if not document.text[line_start:start].strip() and not document.text[end:line_end].strip():
        after = (at for at in document.line_starts if at > line_end)
        return _Splice(edit, max(line_start, document.body_start), next(after, len(document.text)), "")
    return _Splice(edit, start, end, "")


def _section(document: SkillDocument, edit: Edit) -> Section:
    """Find the only section with the wanted title."""
    wanted = edit.section.lstrip("# ").strip()
    found = [section for section in document.sections if section.title == wanted]
    if len(found) == 1:
        return found[0]
    titles = ", ".join(repr(section.title) for section in document.sections) or "none"
    message = f"edit {edit.id!r}: expected one section {edit.section!r}, found {len(found)}; the sections are {titles}"
    raise EditConflictError(message)


def _block_ending_at(document: SkillDocument, end: int) -> str:
    """Give the innermost list item or paragraph that an offset lies in, empty when there is none."""
    blocks: list[Block] = [block for block in document.blocks if block.start < end <= block.end]
    return blocks[-1].text if blocks else ""


def _line_end(document: SkillDocument, offset: int) -> int:
    """Find the end of the line on which an offset lies, its line ending not included."""
    ends = [at for mark in "\r\n" if (at := document.text.find(mark, offset)) >= 0]
    return min(ends, default=len(document.text))
