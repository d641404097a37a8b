"""Find words of two scripts whose letters look alike: they pass for a name or host that the skill has."""

from collections.abc import Iterator
from typing import Final

from skillopt.safety.lazy_patterns import LazyPattern
from skillopt.safety.text_classes import LintClass, TextMatch

__all__ = ["find_mixed_letters"]

_ALIKE: Final = r"[\u0400-\u052f\u0531-\u0587\u13a0-\u13f5\u03b1\u03bd\u03bf\u03c1]"
_MIXED: Final = LazyPattern(rf"(?<=[A-Za-z]){_ALIKE}(?=[A-Za-z])|(?<![^\W]){_ALIKE}(?=[a-z]{{2}})(?![\u03b1-\u03c9])")


def find_mixed_letters(line: str) -> Iterator[TextMatch]:
    """Find letters of another script inside Latin words.

    >>> [found.text for found in find_mixed_letters("See ex\u0430mple.com.")]
    ['See ex\u0430mple.com.']

    Args:
        line: As written.
    """
    for match in _MIXED.finditer(line):
        text = line[max(match.start() - 20, 0) : match.end() + 20]
        yield TextMatch(LintClass.ENCODED_TEXT, text, 0, text, "a word with letters of two scripts, in")
