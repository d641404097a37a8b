"""Search sentences for orders; a sentence that forbids what was found holds none."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["first_in_sentences", "match_orders"]

_DRESS: Final = re.compile(r"[*_`~\u201c\u201d]+")
_BETWEEN_LETTERS: Final = re.compile(r"(?<=\w)_(?=\w)")
_END: Final = re.compile(r"[.!?](?=\s|$)")
_FORBIDS: Final = re.compile(
    r"\b(?:never|do not|don't|does not|doesn't|not|must not|mustn't|cannot|can't|shouldn't|avoid|refuse to|instead of"
    r"|rather than|no|nor|resist|whether|forbidden to|prevents?|stop)\b[^,;:\u2014]{0,40}$",
    re.IGNORECASE,
)


def first_in_sentences(pattern: LazyPattern, paragraph: str) -> Iterator[tuple[int, str]]:
    """Give of each sentence the first match that is not forbidden: where it starts, and the text to the sentence's end.

    >>> list(first_in_sentences(LazyPattern("shout"), "Do not shout. Then shout loudly. Stop."))
    [(19, 'shout loudly.')]

    Args:
        pattern: What is looked for.
        paragraph: Its lines joined by spaces.
    """
    plain = _DRESS.sub("", _BETWEEN_LETTERS.sub("-", paragraph.replace("\u2019", "'")))
    begin = 0
    for end in (*(match.end() for match in _END.finditer(plain)), len(plain)):
        for match in pattern.finditer(plain, begin, end):
            if not _FORBIDS.search(plain[max(begin, match.start() - 60) : match.start()]):
                yield match.start(), plain[match.start() : end].strip()
                break
        begin = end


def match_orders(pattern: LazyPattern, paragraph: str, kind: LintClass, what: str) -> Iterator[TextMatch]:
    """Give of each sentence the first match that is not forbidden, as a finding known by its words.

    Args:
        pattern: What is looked for.
        paragraph: Its lines joined by spaces.
        kind: The class of the findings.
        what: The words for them.
    """
    for start, text in first_in_sentences(pattern, paragraph):
        yield TextMatch(kind, text.lower(), start, text, what)
