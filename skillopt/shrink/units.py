"""Cut a document into units that can be left out: list items, paragraphs, table rows, code blocks, quotations.

A heading, the head of a table, and the own line of an item with items below it go with the last unit below them.
Frontmatter, protected regions, raw HTML and scripts are no units.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from skillopt.skills.document import SkillDocument, estimate_tokens
from skillopt.skills.edits import Edit, Op

_RULE: Final = re.compile(r"[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
"""The line below the head of a table."""

_WORD: Final = re.compile(r"[^\W_]{3,}")
_BLOCKS: Final = frozenset(("fence", "code_block"))
_LEAST_ROWS: Final = 3
"""Lines of a table that has rows: head, rule and a row."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A part of a document that can be left out whole.

    `start` and `end` are offsets in the text, the line ending not included; `line` is 1-based.
    """

    file: str
    text: str
    line: int
    start: int
    end: int
    heading: tuple[str, int]
    """The file and the offset of its section's heading; no offset where it stands above the first one."""

    @property
    def tokens(self) -> int:
        """Estimate what it costs."""
        return estimate_tokens(self.text)


@dataclass(frozen=True, slots=True)
class _Span:
    start: int
    end: int


def find_units(document: SkillDocument) -> tuple[Unit, ...]:
    """List the units of all Markdown files of a document in their order; no two overlap."""
    return tuple(unit for part in document.parts for unit in _units_of(document.file(part.path), part.path))


def _units_of(document: SkillDocument, file: str) -> tuple[Unit, ...]:
    spans = sorted({*_items(document), *_other_blocks(document)}, key=lambda span: (span.start, -span.end))
    found: list[Unit] = []
    sections = document.sections[::-1]
    for span in spans:
        text = document.text[span.start : span.end].rstrip()
        free, end = not found or span.start >= found[-1].end, span.start + len(text)
        protected = any(region.start < end and span.start < region.end for region in document.regions)
        if text.strip() and free and not protected:
            section = next((one for one in sections if one.start <= span.start), None)  # the innermost
            heading = (file, section.start if section else -1)
            found.append(Unit(file, text, document.line_of(span.start), span.start, end=end, heading=heading))
    return tuple(found)


def _items(document: SkillDocument) -> Iterator[_Span]:
    """Yield list items without items below them, and paragraphs of the top level, of tables each row."""
    blocks = document.blocks
    for at, block in enumerate(blocks):
        holds_items = at + 1 < len(blocks) and blocks[at + 1].start < block.end
        if holds_items:
            continue
        rows = _rows(document, block.start, block.end)
        yield from rows or [_Span(block.start, block.end)]


def _rows(document: SkillDocument, start: int, end: int) -> list[_Span]:
    lines, at = list[_Span](), start
    for line in document.text[start:end].splitlines(keepends=True):
        lines.append(_Span(at, at + len(line.rstrip("\r\n"))))
        at += len(line)
    is_table = len(lines) >= _LEAST_ROWS and "|" in document.text[lines[0].start : lines[0].end]
    return lines[2:] if is_table and _RULE.fullmatch(document.text[lines[1].start : lines[1].end]) else []


def _other_blocks(document: SkillDocument) -> Iterator[_Span]:
    """Yield code blocks and quotations that stand in no list item."""
    inside = [(block.start, block.end) for block in document.blocks]
    until = at = furthest = 0
    for kind, nesting, _, first, last in document.outline:
        opens = kind == "blockquote" and nesting == 1
        if not opens and kind not in _BLOCKS:
            continue
        start, end = document.body_line(first), document.body_line(last)
        while at < len(inside) and inside[at][0] <= start:
            furthest, at = max(furthest, inside[at][1]), at + 1
        if start >= until and start >= furthest:
            until = end
            yield _Span(start, end)


def _covers(document: SkillDocument) -> Iterator[tuple[int, int, int]]:
    """Yield what goes when nothing below it is left: its start, its end, and where what is below it ends."""
    for section in document.sections[1:]:  # the first heading is the title
        yield section.start, section.body, section.end
    blocks = document.blocks
    for at, block in enumerate(blocks):
        if at + 1 < len(blocks) and blocks[at + 1].start < block.end:
            yield block.start, blocks[at + 1].start, block.end
        elif rows := _rows(document, block.start, block.end):
            yield block.start, rows[0].start, block.end


def without_units(document: SkillDocument, gone: Collection[Unit]) -> SkillDocument:
    """Return a document without some of its units, without headings and files that held only these."""
    texts = {part.path: _text_without(document.file(part.path), _of_file(gone, part.path)) for part in document.parts}
    empty = [path for path, text in texts.items() if _goes_whole(document, path, text)]
    return document.with_files({path: text for path, text in texts.items() if path not in empty})


def _of_file(units: Iterable[Unit], path: str) -> list[Unit]:
    return [unit for unit in units if unit.file == path]


def _goes_whole(document: SkillDocument, path: str, text: str) -> bool:
    """Return whether a file beside the first one has lost all its text, its title aside."""
    rest = SkillDocument(text)
    return path != document.parts[0].path and text != document.file(path).text and not (rest.blocks or rest.regions)


def _text_without(document: SkillDocument, gone: Iterable[Unit]) -> str:
    parts, position = list[str](), 0
    for start, end in _removed(document, gone):
        parts.append(document.text[position:start])
        position = end
    return "".join([*parts, document.text[position:]])


def _removed(document: SkillDocument, gone: Iterable[Unit]) -> list[tuple[int, int]]:
    """Return the spans that go, whole lines each, with the blank lines after them where some stand before."""
    spans = sorted((unit.start, _line_after(document, unit.end)) for unit in gone)
    if not spans:
        return []
    merged = _joined(spans)
    for start, body, end in sorted(_covers(document), reverse=True):
        at = next((at for at, span in enumerate(merged) if span[0] >= body), None)
        if at is not None and _is_blank(document.text, merged, body, end):
            merged = _joined(sorted([*merged, (start, min(body, merged[at][0]))]))
    closed = []
    for start, end in _joined(merged, document.text):
        before = document.text[document.body_start : start]
        after = len(document.text) - len(document.text[end:].lstrip("\r\n"))
        opens = not before.strip() or before.endswith(("\n\n", "\r\n\r\n"))
        closed.append((start, after if opens and before else end))
    return closed


def _line_after(document: SkillDocument, offset: int) -> int:
    text = document.text
    for ending in ("\r\n", "\n", "\r"):
        if text.startswith(ending, offset):
            return offset + len(ending)
    newline = text.find("\n", offset)
    return len(text) if newline < 0 else newline + 1


def _joined(spans: Sequence[tuple[int, int]], text: str = "") -> list[tuple[int, int]]:
    """Join spans that touch, and with a text also those with nothing but blanks between them."""
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and (start <= found[-1][1] or (text and not text[found[-1][1] : start].strip())):
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _is_blank(text: str, spans: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Return whether nothing but blanks is left of a range without some spans, of which it holds one."""
    at, held = start, False
    for first, last in spans:
        if last <= start or first >= end:
            continue
        if text[at:first].strip():
            return False
        at, held = max(at, last), True
    return held and not text[at:end].strip()


def deletions(document: SkillDocument, gone: Collection[Unit], reason: str = "") -> tuple[Edit, ...]:
    """Write what goes as edits, one for each run of lines, or for a whole file."""
    edits: list[Edit] = []
    for part in document.parts:
        own, one = _of_file(gone, part.path), document.file(part.path)
        named = part.path if document.trained else ""
        if own and _goes_whole(document, part.path, _text_without(one, own)):
            edits.append(Edit("", Op.DELETE, file=part.path))
        else:
            edits += (replace(edit, file=named) for edit in _deletions_of(one, own))
    return tuple(replace(edit, id=f"d{number}", rationale=reason) for number, edit in enumerate(edits, 1))


def _deletions_of(document: SkillDocument, gone: Collection[Unit]) -> Iterator[Edit]:
    """Yield an edit for each run of lines; an anchor that stands twice takes in lines before it."""
    for start, end in _removed(document, gone):
        first, text = start, document.text
        while text.count(text[first:end].strip("\r\n"), document.body_start) > 1 and first > document.body_start:
            first = max(text.rfind("\n", 0, first - 1) + 1, document.body_start)
        content = text[first:start].strip("\r\n")
        op, anchor = (Op.REPLACE if content.strip() else Op.DELETE), text[first:end].strip("\r\n")
        yield Edit("d", op, anchor, "", content=content if op is Op.REPLACE else "")


def plain_words(text: str) -> frozenset[str]:
    """Return the words of a text, without endings of the plural."""
    return frozenset(word.removesuffix("s") for word in _WORD.findall(text.casefold()))
