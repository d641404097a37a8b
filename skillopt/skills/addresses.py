"""Find the place in a document that an edit names: an anchor's text, or a section by its title or heading path.

Nothing is guessed: what is missing or stands there twice is an error that says what was found.
"""

import re
from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache, partial
from typing import Final

from skillopt.errors import EditConflictError, ProtectedTextError
from skillopt.skills.document import Section, SkillDocument

_PATH = " > "


def find_anchor(document: SkillDocument, text: str, edit: str) -> tuple[int, int]:
    """Find the only place of a text in the body, as offsets."""
    anchor = text.strip("\r\n")
    if document.newline == "\r\n" and "\r\n" not in anchor:
        anchor = anchor.replace("\n", "\r\n")
    first = document.text.find(anchor, document.body_start)
    if first < 0:
        if anchor in document.text:
            raise ProtectedTextError(f"edit {edit!r}: {text!r} is in the frontmatter, which edits may not touch")
        hint = partial(_nearest, anchor, document)
        raise EditConflictError(f"edit {edit!r}: expected {text!r} exactly once in the body, found it nowhere; ", hint)
    again = document.text.find(anchor, first + 1)
    if again >= 0:
        lines = f"lines {document.line_of(first)} and {document.line_of(again)}"
        raise EditConflictError(f"edit {edit!r}: expected {text!r} exactly once, found it on {lines}; quote more text")
    return first, first + len(anchor)


def find_section(document: SkillDocument, address: str, edit: str) -> Section:
    """Find the only section with a title or, where several have the same, with a path such as `Rules > Dates`."""
    wanted = address.lstrip("# ").strip()
    paths = _paths(document)
    found, by_path = [section for section, path in paths if path[-1] == wanted], list[Section]()
    if len(found) != 1:
        parts = [part.lstrip("# ").strip() for part in wanted.split(_PATH.strip())]
        for section, path in paths if len(parts) > 1 else ():
            left = iter(path)  # the titles of the path, in order and ending with its last one
            if parts[-1] == path[-1] and all(part in left for part in parts):
                by_path.append(section)
        found = by_path or found
    if len(found) == 1:
        return found[0]
    counts = Counter(path[-1] for _, path in paths)
    titles = ", ".join(repr(path[-1] if counts[path[-1]] == 1 else _PATH.join(path)) for _, path in paths) or "none"
    raise EditConflictError(
        f"edit {edit!r}: expected one section {address!r}, found {len(found)}; the sections are {titles}"
    )


def line_end(document: SkillDocument, offset: int) -> int:
    """Find the end of the line on which an offset lies, its line ending not included."""
    ends = [at for mark in "\r\n" if (at := document.text.find(mark, offset)) >= 0]
    return min(ends, default=len(document.text))


@lru_cache(maxsize=16)
def _paths(document: SkillDocument) -> tuple[tuple[Section, tuple[str, ...]], ...]:
    """List the sections, each with the titles of the headings above it and its own; edits name them again and again."""
    found: list[tuple[Section, tuple[str, ...]]] = []
    for section in document.sections:
        above = [(other, path) for other, path in found if other.end >= section.end and other.level < section.level]
        found.append((section, (*(above[-1][1] if above else ()), section.title)))
    return tuple(found)


def _nearest(text: str, document: SkillDocument) -> str:
    """Name the most similar text of a document, or say that none is alike at all."""
    texts = [block.text for block in document.blocks]
    scored = ((SequenceMatcher(None, text[:2000], other[:2000]).ratio(), other) for other in texts)
    ratio, best = max(scored, default=(0.0, ""))
    alike = ratio > 0.3  # noqa: PLR2004 - below, the texts share little but letters
    return f"the nearest text is {best!r}" if alike else "the body has no text like it"


LIST_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_MARKER: Final = re.compile(r"[ \t]*(?:(?P<bullet>[-*+])|\d{1,9}[.)])[ \t]{1,4}")
_OTHER_BULLET: Final = re.compile(r"^[-*+](?=[ \t])", re.MULTILINE)


def fit_lines(document: SkillDocument, content: str, end: int) -> str:
    r"""Return what to insert at an offset that ends a line, with a blank line unless a list goes on.

    A list item becomes a sibling of the item above it. Anything else that comes into the middle of a list becomes a
    part of the item above it.
    """
    if not document.text[document.body_start : end].strip():
        lead = "" if document.text[:end].endswith(("\n", "\r")) or not document.text[:end].lstrip("\ufeff") else "\n"
        return f"{lead}{content}\n"
    if document.script:
        return f"\n{content}"
    above = [block for block in document.blocks if block.start < end <= block.end]  # the innermost comes last
    marker = _MARKER.match(above[-1].text) if above else None
    if marker is None:
        return f"\n\n{content}"
    own = _MARKER.match(content)
    if own and bool(own["bullet"]) == bool(marker["bullet"]):
        margin = marker[0][: len(marker[0]) - len(marker[0].lstrip())]
        fitted = _OTHER_BULLET.sub(marker["bullet"], content) if marker["bullet"] else content
        return "\n" + (fitted if content[:1].isspace() else _indent(fitted, margin))
    if content[:1].isspace() or not document.continues_list(end):
        return ("\n" if own else "\n\n") + content
    return ("\n" if own else "\n\n") + _indent(content, " " * len(marker[0].expandtabs(4)))


def _indent(content: str, margin: str) -> str:
    return "\n".join(margin + line if line else line for line in content.split("\n"))
