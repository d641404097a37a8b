"""Commit messages of versions: compose one with trailers, and parse a raw commit.

Text from models can forge neither a paragraph nor a trailer, nor control a terminal.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from skillopt.safety.hidden_unicode import without_hidden

__all__ = ["Version", "compose_message", "parse_commit", "parse_message", "single_line"]

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_TRAILER = re.compile(r"([A-Za-z0-9-]+): ?(.*)")
_COMMITTED = re.compile(r"^committer .*> (\d{1,11}) [+-]\d{4}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Version:
    """A version as it was committed: the commit, its message and its trailers."""

    sha: str
    parent: str
    subject: str
    body: str
    at: str
    trailers: tuple[tuple[str, str], ...]
    merged: str

    def trailer(self, key: str) -> str:
        """Return the value of a trailer, empty when there is none."""
        return dict(self.trailers).get(key, "")

    def values(self, key: str) -> tuple[str, ...]:
        """Return all values of a trailer, in their order."""
        return tuple(value for name, value in self.trailers if name == key)


def compose_message(subject: str, body: str, trailers: tuple[tuple[str, str], ...]) -> str:
    """Join subject, body and trailers to a message, each without control and hidden characters."""
    lines = "\n".join(f"{single_line(key)}: {single_line(value)}" for key, value in trailers)
    paragraphs = (single_line(subject), _CONTROL.sub("", without_hidden(body)).strip(), lines)
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph) + "\n"


def single_line(text: str) -> str:
    """Fold a text to one line, so that it can forge neither a paragraph nor a trailer."""
    return " ".join(without_hidden(_CONTROL.sub(" ", text)).split())


def parse_commit(sha: str, content: str) -> Version:
    """Read a raw commit object."""
    head, _, message = content.partition("\n\n")
    parents = [line.removeprefix("parent ") for line in head.splitlines() if line.startswith("parent ")]
    committed = _COMMITTED.search(head)
    parent, merged, *_ = [*parents, "", ""]
    return parse_message(sha, (parent, merged), int(committed[1]) if committed else 0, message)


def parse_message(sha: str, parents: tuple[str, str], seconds: int, message: str) -> Version:
    """Read the message of a commit."""
    at = datetime.fromtimestamp(seconds, UTC).isoformat()
    subject, *paragraphs = message.strip().split("\n\n")
    matches = [_TRAILER.fullmatch(line) for line in paragraphs[-1].split("\n")] if paragraphs else []
    trailers = tuple((match[1], match[2]) for match in matches if match) if all(matches) else ()
    body = "\n\n".join(paragraphs[:-1] if trailers else paragraphs)
    parent, merged = parents
    return Version(sha, parent, single_line(subject), body, at, trailers, merged)
