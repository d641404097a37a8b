"""Find lines that make a tool put another file in their place: nobody who reads the skill sees what it says."""

import re
from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_includes"]

_INCLUDE: Final = LazyPattern(
    r"(?:\A|(?<=[\s(\"':>]))@(?:[\w.-]{1,60}/){0,8}[\w.-]{1,60}\.(?:md|mdc|mdx|txt|ya?ml|json|toml|env|ini|cfg|sh|py)"
    r"(?![\w/@])"
    r"|(?<![\w@/])@(?:include|import)\b[ \t]+[\"'`<(]?[\w./~]+\.\w"
    r"|\{\{[ \t]{0,3}(?:>|#?(?:include|import|embed|file|read|transclude)\b)|\{%[ \t]{0,3}(?:include|import|extends)\b"
    r"|(?<![\w!])!(?:include|INC|import)\b[ \t(]|(?<!\w)#(?:file|folder|codebase|include|import)[:"
    r" \t]+[\"'<]?[\w.~/]+[./]"
    r"|<<<[ \t]{0,3}@|-{1,4}8<-{1,4}|::[ \t]{0,2}(?:include|literalinclude)\b|!\[\[|\binclude::",
    re.IGNORECASE,
)


def find_includes(line: str) -> Iterator[TextMatch]:
    """Find the first inclusion of another file on a line.

    >>> [found.text for found in find_includes("See @notes/rules.md first.")]
    ['@notes/rules.md first.']

    Args:
        line: A line as a reader takes it, without the mark of a list.
    """
    match = _INCLUDE.search(line)
    if match:
        text = line[match.start() :].strip()
        yield TextMatch(LintClass.SENSITIVE_PATH, text, 0, text, "another file put in its place:")
