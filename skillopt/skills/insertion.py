"""Fit new lines into the place where they go, at the indentation of what stands above, so that no list is split."""

import re
from typing import Final

from skillopt.skills.addresses import block_ending_at
from skillopt.skills.document import SkillDocument

__all__ = ["LIST_ITEM", "fit_lines"]

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
    above = block_ending_at(document, end)
    marker = _MARKER.match(above.text) if above else None
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
