"""Hidden marks of comments and issues, and the titles of drafts: what forges keep in text."""

import re
from typing import Final

__all__ = ["DRAFT_TITLE", "mark_of", "marked", "split_title"]

DRAFT_TITLE: Final = "Draft: "
"""What the title of a draft begins with, where a forge has no other sign of one."""

_MARK: Final = re.compile(r"<!-- skillopt: (?P<topic>[\w-]+) -->\r?\n")


def marked(topic: str, body: str) -> str:
    """Write the topic of a text above it, where people do not see it.

    >>> mark_of(marked("news", "All is well."))
    ('news', 'All is well.')
    """
    return f"<!-- skillopt: {topic} -->\n{body}"


def mark_of(text: str | None) -> tuple[str, str]:
    """Read topic and text; the topic is empty for a text without a mark.

    >>> mark_of("All is well.")
    ('', 'All is well.')
    """
    found = _MARK.match(text or "")
    return (found["topic"], (text or "")[found.end() :]) if found else ("", text or "")


def split_title(title: str) -> tuple[bool, str]:
    """Return whether a title is that of a draft, and give it without the sign.

    >>> split_title("Draft: rows: unproven")
    (True, 'rows: unproven')
    """
    return title.startswith(DRAFT_TITLE), title.removeprefix(DRAFT_TITLE)
