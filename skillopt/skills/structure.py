"""Check that edits leave the Markdown structure of all other text alone: no open fence or HTML swallows it."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from skillopt.skills.document import SkillDocument

_CLOSING: Final = re.compile(r"[ \t>]*(?:`{3,}|~{3,})\s*")
_WORDS: Final = {
    "": "nothing that is shown",
    "fence": "code",
    "code_block": "code",
    "html_block": "raw HTML",
    "hr": "a rule",
    "paragraph": "text",
}


def find_restructured_line(
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
    return (_WORDS.get(kind) or f"a heading ({kind})") + quoted


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
