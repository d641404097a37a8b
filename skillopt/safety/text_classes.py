"""The classes of text that a change may not add, or that a person must look at first."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class LintClass(StrEnum):
    """A class of text that edits may not add."""

    HIDDEN_UNICODE = "hidden-unicode"
    HIDDEN_TEXT = "hidden-text"
    HTML_COMMENT = "html-comment"
    COMMAND_SUBSTITUTION = "command-substitution"
    URL = "url"
    PERMISSION_KEY = "permission-key"
    CREDENTIAL = "credential"
    LONG_LINE = "long-line"
    LONG_TEXT = "long-text"
    PROGRAM = "program"
    REMOVED_RULE = "removed-rule"
    FRONTMATTER = "frontmatter"
    REVIEWER = "reviewer"
    REFUSED = "refused-before"
    SCRIPT = "script"


LONGEST_TEXT: Final = 200_000  # ten edits of the most characters that one may have
LONGEST_LINE: Final = 10_000
"""Characters that are read, ten times a long paragraph; what is longer is refused for its length."""


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A match in a whole text. Two matches of one kind and key are the same thing to a reader.

    The line is 1-based; an offset in the text, or 0, until it is known. `never`: no setting allows it.
    """

    kind: LintClass
    key: str
    line: int
    text: str
    what: str
    never: bool = False
