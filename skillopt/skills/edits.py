"""Bounded edits of a skill body: add, delete, replace, rewrite of a section, applied all together or not at all.

Every edit is located in the document as it stood before the patch, so the order of a patch does not matter. Nothing is
guessed: an anchor that is missing or ambiguous is an error.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher, unified_diff
from enum import StrEnum
from functools import lru_cache
from itertools import pairwise
from typing import Final, assert_never

from skillopt.errors import EditConflictError, EditError, ProtectedTextError
from skillopt.skills.addresses import LIST_ITEM, find_anchor, find_section, fit_lines, line_end
from skillopt.skills.document import SkillDocument, estimate_tokens
from skillopt.skills.trained_files import FIRST_FILE, is_script, parse_file, split_text

_WORDS = re.compile(r"\s*\S+")
_NUMBERS = re.compile(r"(\d+)")
_HEADING = re.compile(r"#{1,6}[ \t]+(?P<title>[^\n]*?)[ \t]*#*[ \t]*(?:\n|\Z)")


class Op(StrEnum):
    """What an edit does to the body."""

    ADD = "add"
    DELETE = "delete"
    REPLACE = "replace"
    REWRITE = "rewrite"


@dataclass(frozen=True, slots=True)
class Edit:
    """One proposed change.

    Args:
        id: Unique in its run.
        op: What it does.
        anchor: Text that occurs exactly once in the body: what to delete or replace, or, for an
            `add`, what the new lines follow.
        section: Title or heading path (`Rules > Dates`) of a section. An `add` without anchor puts the new lines at
            its end, or at the end of the body where it is empty; a `rewrite` replaces its own text, which ends at the
            next heading of any level, so that sections inside it stay.
        content: The new text; empty for a `delete`.
        rationale: Why, in the proposer's words.
        tasks: Ids of the train tasks that motivated it.
        line_tasks: Those of them behind each block of the content (`blocks_of`), where the proposer said; else empty.
        file: Path of the file that it changes, where several are trained. Empty: the only one that has the anchor or
            the section, else the first. An `add` makes a new file; a `delete` without anchor deletes the whole file.
    """

    id: str
    op: Op
    anchor: str = ""
    section: str = ""
    content: str = ""
    rationale: str = ""
    tasks: tuple[str, ...] = ()
    line_tasks: tuple[tuple[str, ...], ...] = ()
    file: str = ""

    def __post_init__(self) -> None:
        """Refuse an edit that lacks what its operation needs."""
        if self.op in (Op.DELETE, Op.REPLACE) and not self.anchor.strip() and not self.deletes_file:
            raise self._error(f"{self.op} needs an anchor, the exact text it changes, found {self.anchor!r}")
        if self.op is Op.REWRITE and not self.section.strip():
            raise self._error(f"rewrite needs the section whose text it replaces, found {self.section!r}")
        if self.op is Op.DELETE and self.content:
            raise self._error(f"delete takes no content, found {self.content!r}; use replace to change text")
        if self.op is not Op.DELETE and not self.content.strip():
            raise self._error(f"{self.op} needs content, found {self.content!r}")
        if self.section and (self.anchor or self.op in (Op.DELETE, Op.REPLACE)):
            raise self._error(f"a section is for an add or a rewrite without anchor, found {self.section!r}")

    def _error(self, found: str) -> EditError:
        return EditError(f"edit {self.id!r}: {found}")

    @property
    def deletes_file(self) -> bool:
        """Whether it deletes a whole file."""
        return self.op is Op.DELETE and bool(self.file) and not self.anchor

    @property
    def summary(self) -> str:
        """Describe the edit on one line."""
        place = self.anchor or (f"section {self.section}" if self.section else "the end")
        match self.op:
            case Op.ADD:
                text = f"add after {place!r}: {self.content.strip()!r}"
            case Op.DELETE:
                text = f"delete {self.anchor!r}" if self.anchor else "delete the file"
            case Op.REPLACE:
                text = f"replace {self.anchor!r} by {self.content.strip()!r}"
            case Op.REWRITE:
                text = f"rewrite section {self.section!r}: {self.content.strip()!r}"
            case _:
                assert_never(self.op)
        return text if self.file in ("", FIRST_FILE) else f"{self.file}: {text}"


@dataclass(frozen=True, slots=True)
class Change:
    """An edit as it was applied."""

    edit: Edit
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
    edit: Edit
    start: int
    end: int
    new: str


def apply_edits(document: SkillDocument, edits: Sequence[Edit]) -> Patch:
    """Apply edits all together; the result does not depend on their order. Each change names the file of its edit."""
    if not document.trained:
        if strange := next((edit for edit in edits if edit.file not in ("", FIRST_FILE)), None):
            raise EditError(f"edit {strange.id!r}: only {FIRST_FILE} is trained, found the file {strange.file!r}")
        return _apply_to_file(document, edits)
    if edits and not document.parts:
        raise EditConflictError(f"edit {edits[0].id!r}: expected a file of {document.trained}, found none")
    placed = [replace(edit, file=edit.file or _file_of(document, edit)) for edit in edits]
    texts, changes = {part.path: part.text for part in document.parts}, dict[str, Change]()
    for path in dict.fromkeys(edit.file for edit in placed):
        patch = _apply_to_part(document, path, [edit for edit in placed if edit.file == path])
        texts[path] = patch.document.text
        changes |= {change.edit.id: change for change in patch.changes}
    # A file of which nothing is left is deleted; only the first one stays.
    gone = {edit.file for edit in placed if edit.file != document.parts[0].path and not texts[edit.file].strip()}
    after = document.with_files({path: text for path, text in texts.items() if path not in gone})
    return Patch(after, tuple(changes[edit.id] for edit in edits))


def _file_of(document: SkillDocument, edit: Edit) -> str:
    """Find the only file that has the anchor or the section of an edit; the first where none has, or several have."""
    wanted = edit.anchor.strip("\r\n") or (edit.section and f"# {edit.section.rpartition('> ')[2].lstrip('# ')}")
    found = [part.path for part in document.parts if wanted and wanted in part.text]
    return found[0] if len(found) == 1 else document.parts[0].path


def _apply_to_part(document: SkillDocument, path: str, edits: Sequence[Edit]) -> Patch:
    """Apply edits to one of several files, which they may make or delete."""
    known, before, first = [part.path for part in document.parts], document.file(path), edits[0]
    new = first.op is Op.ADD and not first.anchor and not first.section and document.place.trains(path)
    if path not in known and not new:
        makes = f"an add of a new file of {' or '.join(document.trained)}"
        raise EditConflictError(f"edit {first.id!r}: expected {', '.join(known)} or {makes}, found file {path!r}")
    if whole := next((edit for edit in edits if edit.deletes_file), None):
        if path == known[0] or len(edits) > 1 or before.regions:
            found = f"it is {path}, which stays" if path == known[0] else f"another edit changes {path}"
            found = f"{path} has text that people protected" if before.regions else found
            raise EditConflictError(f"edit {whole.id!r}: the file cannot be deleted: {found}")
        return Patch(SkillDocument(""), (Change(whole, *_difference(before.text, 0, len(before.text), "", path)),))
    patch = _apply_to_file(before, edits, path)
    if problem := parse_file(path, patch.document.text):
        raise EditError(f"edit {first.id!r}: {path}: {problem}")
    return patch


def _apply_to_file(document: SkillDocument, edits: Sequence[Edit], path: str = FIRST_FILE) -> Patch:
    splices = sorted(
        (_locate(document, edit) for edit in edits),
        key=lambda splice: (splice.start, splice.end, _by_number(splice.edit.id), splice.new),
    )
    _refuse_overlaps(splices)
    splices = _close_up(splices)
    text, position = "", 0
    for splice in splices:
        text += document.text[position : splice.start] + splice.new
        position = splice.end
    after = replace(document, text=text + document.text[position:])
    head = document.text[: document.body_start]
    if after.frontmatter != document.frontmatter or not after.text.startswith(head):
        raise ProtectedTextError("the edits would change where the frontmatter ends; start the body with no '---' line")
    if broken := _find_restructured_line(document, after, [(one.start, one.end, len(one.new)) for one in splices]):
        names = ", ".join(repr(edit.id) for edit in edits)
        raise EditConflictError(
            f"edit {names}: {broken}; close each code fence and HTML element that the new text opens, and leave alone "
            "what closes others"
        )
    made = {one.edit.id: _difference(document.text, one.start, one.end, one.new, path) for one in splices}
    return Patch(after, tuple(Change(edit, *made[edit.id]) for edit in edits))


def blocks_of(content: str) -> tuple[str, ...]:
    r"""Cut new text into its list items and paragraphs of the top level; text with a heading stays whole.

    >>> blocks_of("- One.\n  - Of it.\n- Two.")
    ('- One.\n  - Of it.', '- Two.')
    """
    text = "\n" + content.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    document = SkillDocument(text)  # the line end before it keeps a rule `---` from being taken for frontmatter
    starts: list[int] = []
    covered = 0
    for block in document.blocks:
        if block.start >= covered:
            starts.append(block.start)
            covered = block.end
    if document.sections or len(starts) < 2:  # noqa: PLR2004 - one block is the whole
        return (text.strip("\n"),)
    starts[0] = 0
    return tuple(text[start:end].strip("\n").rstrip() for start, end in zip(starts, [*starts[1:], None], strict=True))


def split_lines(edit: Edit) -> tuple[Edit, ...]:
    """Split an edit that brings several lines into one edit for each of them; one that cannot be split stays whole.

    An `add` becomes one `add` a line, a `replace` becomes a `replace` by the first line and an `add` for each other.
    The parts are named `s1e2.1`, `s1e2.2`, …; together they bring about what the whole did, and in the order given
    they can be applied one after the other, too: those with an anchor stand in reverse, each pushing down the ones
    before.
    """
    blocks = () if is_script(edit.file or FIRST_FILE) else blocks_of(edit.content)
    if len(blocks) < 2 or edit.op not in (Op.ADD, Op.REPLACE):  # noqa: PLR2004 - one line is the whole
        return (edit,)
    known = edit.line_tasks if len(edit.line_tasks) == len(blocks) else ((),) * len(blocks)
    parts = [
        replace(
            edit,
            id=f"{edit.id}.{number}",
            op=edit.op if number == 1 else Op.ADD,
            content=block,
            tasks=tasks or edit.tasks,
            line_tasks=(),
        )
        for number, (block, tasks) in enumerate(zip(blocks, known, strict=True), 1)
    ]
    return tuple(reversed(parts) if edit.anchor else parts)


def diff_documents(before: SkillDocument, after: SkillDocument, name: str = "SKILL.md", context: int = 2) -> str:
    """Show the difference of two documents as a unified diff, file by file."""
    old, new = ({part.path: part.text.splitlines() for part in split_text(one.text)} for one in (before, after))
    lines = list[str]()
    for path in dict.fromkeys((*old, *new)):
        shown = name if path == FIRST_FILE else path
        lines += unified_diff(old.get(path, []), new.get(path, []), f"a/{shown}", f"b/{shown}", lineterm="", n=context)
    return "\n".join(lines)


@lru_cache(maxsize=1024)
def _difference(text: str, start: int, end: int, new: str, path: str) -> tuple[int, str]:
    """Return the changed tokens, added plus removed, word by word, and the diff of one splice.

    A draft is built again and again of the same ones.
    """
    alone = SkillDocument(text[:start] + new + text[end:])
    was, now = _WORDS.findall(text[start:end]), _WORDS.findall(new)
    tokens = sum(
        estimate_tokens("".join(was[a:b])) + estimate_tokens("".join(now[c:d]))
        for tag, a, b, c, d in SequenceMatcher(None, was, now, autojunk=False).get_opcodes()
        if tag != "equal"
    )
    return tokens, diff_documents(SkillDocument(text), alone, path)


def _refuse_overlaps(splices: Sequence[_Splice]) -> None:
    """Refuse edits that touch the same text; two insertions at one point do not."""
    for first, second in pairwise(splices):
        inserts = first.start == first.end and second.start == second.end
        if second.start < first.end or (second.start == first.start and not inserts):
            one, other = sorted((first.edit, second.edit), key=lambda edit: edit.id)
            raise EditConflictError(
                f"edits {one.id!r} and {other.id!r} change the same text: {one.summary}; {other.summary}; keep one"
            )


def _close_up(splices: Sequence[_Splice]) -> list[_Splice]:
    """Let list items that are inserted at one place follow each other without a blank line."""
    closed = list(splices)
    for at, (first, second) in enumerate(pairwise(splices), 1):
        here = first.start == first.end == second.start == second.end
        if here and LIST_ITEM.match(first.new.lstrip("\r\n")) and LIST_ITEM.match(second.new.lstrip("\r\n")):
            newline = "\r\n" if "\r\n" in second.new else "\n"
            lead = "" if first.new.endswith(("\n", "\r")) else newline
            closed[at] = replace(second, new=lead + second.new.lstrip("\r\n"))
    return closed


def _by_number(name: str) -> tuple[tuple[int, str], ...]:
    """Order ids by the numbers in them, so that s1e10 comes after s1e9."""
    return tuple((int(part), "") if part.isdecimal() else (-1, part) for part in _NUMBERS.split(name))


def _locate(document: SkillDocument, edit: Edit) -> _Splice:
    """Find what an edit replaces, and by what; an add replaces nothing, behind an anchor or at a section's end."""
    content = edit.content.replace("\r\n", "\n").replace("\r", "\n").strip("\n")
    if edit.op is Op.ADD and edit.anchor:
        end = line_end(document, find_anchor(document, edit.anchor, edit.id)[1])
        splice = _Splice(edit, end, end, fit_lines(document, content, end))
    elif edit.op is Op.ADD:
        last = find_section(document, edit.section, edit.id).end if edit.section else len(document.text)
        end = max(document.body_start, len(document.text[:last].rstrip()))
        splice = _Splice(edit, end, end, fit_lines(document, content, end))
    elif edit.op is Op.REWRITE:
        splice = _rewriting(document, edit, content)
    else:
        start, end = find_anchor(document, edit.anchor, edit.id)
        line_start = max((at for at in document.line_starts if at <= start), default=0)
        last = line_end(document, end)
        fills = not document.text[line_start:start].strip() and not document.text[end:last].strip()
        if edit.op is Op.DELETE and fills:  # its line ending goes with it
            start = max(line_start, document.body_start)
            end = next((at for at in document.line_starts if at > last), len(document.text))
        splice = _Splice(edit, start, end, content)
    for region in document.regions:
        inside = region.start < splice.start < region.end
        if inside or (splice.start < region.end and region.start < splice.end):
            message = f"edit {edit.id!r}: {edit.summary} reaches into protected region {region.name!r}; leave it alone"
            raise ProtectedTextError(message)
    return _Splice(edit, splice.start, splice.end, splice.new.replace("\n", document.newline))


def _rewriting(document: SkillDocument, edit: Edit, content: str) -> _Splice:
    """Put a text in the place of a section's own one, with a blank line around it; the heading stays."""
    section = find_section(document, edit.section, edit.id)
    inner = (other.start for other in document.sections if section.start < other.start < section.end)
    start, end = section.body, min(inner, default=section.end)
    heading = _HEADING.match(content)
    if heading and heading["title"] == section.title:
        content = content[heading.end() :].strip("\n")
        if not content:
            raise EditError(f"edit {edit.id!r}: rewrite needs content below the heading, found the heading alone")
    below = "\n\n" if end < len(document.text) else "\n"
    lead = "\n" if document.text[:start].endswith(("\n", "\r")) else "\n\n"
    return _Splice(edit, start, end, f"{lead}{content}{below}")


_CLOSING: Final = re.compile(r"[ \t>]*(?:`{3,}|~{3,})\s*")
_SHOWN: Final = {
    "": "nothing that is shown",
    "fence": "code",
    "code_block": "code",
    "html_block": "raw HTML",
    "hr": "a rule",
    "paragraph": "text",
}


def _find_restructured_line(
    before: SkillDocument, after: SkillDocument, replaced: Sequence[tuple[int, int, int]]
) -> str:
    """Say which line outside of the edits is read as something else after them, or that code stays open; else empty."""
    old, new = _outline(before), _outline(after)
    old_code, new_code = _code(before), _code(after)
    same: dict[int, int] = {}
    for start, moved in _kept_lines(before, replaced):
        was, now = old.get(start, ""), new.get(start + moved, "")
        line = before.line_of(start)
        if was != now:
            return f"line {line} of the text, which is {_name(was)}, would become {_name(now)}"
        if start in old_code:
            block = new_code.get(start + moved, -1)
            if same.setdefault(old_code[start], block) != block:
                return f"line {line} of the text, which is code, would be cut off from the code above it"
    left_open = _open_code(after)
    if len(left_open) > len(_open_code(before)):
        return f"line {after.line_of(left_open[-1])} of the new text opens code that nothing closes; close it"
    return ""


@lru_cache(maxsize=64)
def _code(document: SkillDocument) -> dict[int, int]:
    """Say of each line of fenced code, by its offset, in which block it is: the offset of the block."""
    return {
        document.body_line(line): document.body_line(first)
        for kind, _, _, first, last in document.outline
        if kind == "fence"
        for line in range(first, last)
    }


@lru_cache(maxsize=64)
def _open_code(document: SkillDocument) -> tuple[int, ...]:
    """List the offsets of the blocks of code that end with the page, a list or a quotation, and not with a fence."""
    return tuple(
        document.body_line(first)
        for kind, _, _, first, last in document.outline
        if kind == "fence"
        if last - first == 1
        or not _CLOSING.fullmatch(document.text[document.body_line(last - 1) : document.body_line(last)])
    )


def _name(kind: str) -> str:
    quoted = " in a quotation" if kind.startswith("> ") else ""
    kind = kind.removeprefix("> ")
    return (_SHOWN.get(kind) or f"a heading ({kind})") + quoted


def _kept_lines(document: SkillDocument, replaced: Sequence[tuple[int, int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the start of each line that no edit touches and that is not blank, and by how much it moves."""
    pending, moved, touched = list(replaced), 0, -1
    for start, end in zip(document.line_starts, document.line_starts[1:], strict=False):
        here = moved
        while pending and pending[0][0] < end:
            first, last, size = pending.pop(0)
            moved += size - (last - first)
            if first == last == start:
                here = moved  # it stands before this line
            elif first < last or document.text[first:end].strip():
                touched = max(touched, last, start + 1)
        if start >= touched and start >= document.body_start and document.text[start:end].strip():
            yield start, here


@lru_cache(maxsize=64)
def _outline(document: SkillDocument) -> dict[int, str]:
    """Say of each body line, by its offset, what it is: code, raw HTML, text, a heading; in a quotation or not."""
    found: dict[int, str] = {}
    quotes = 0
    for kind, nesting, tag, first, last in document.outline:
        if kind == "blockquote":
            quotes += nesting
        elif first < last:
            name = tag if kind == "heading" else kind
            for line in range(first, last):
                found[document.body_line(line)] = f"> {name}" if quotes else name
    return found
