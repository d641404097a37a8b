"""Messages of commits: compose and parse them, so that text from models forges no trailer and controls no terminal."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from skillopt.gate.grades import GRADE
from skillopt.safety.disguised_text import without_hidden

NEEDS_A_PERSON: Final = "Needs-A-Person"
"""Trailer of a draft, one for each thing in it that a person must look at before it becomes a version."""

_ACTIVE = re.compile(r"([@#]|\bGH-|/(?:issues|pull)/)(?=\w)", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")
_TRAILER = re.compile(r"([A-Za-z0-9-]+): ?(.*)")
_AUTHOR = re.compile(r"^author (.*) <", re.MULTILINE)
_COMMITTED = re.compile(r"^committer .*> (\d{1,11}) [+-]\d{4}$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Version:
    """A version as it was committed; the author's name is untrusted."""

    sha: str
    parent: str
    subject: str
    body: str
    at: str
    trailers: tuple[tuple[str, str], ...]
    merged: str
    author: str

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


def disarm(text: str) -> str:
    """Break up what a forge would turn into a mention or a link: names, issue numbers, addresses of issues."""
    return _ACTIVE.sub(r"\1 ", text)


def single_line(text: str) -> str:
    """Fold a text to one line, so that it can forge neither a paragraph nor a trailer."""
    return " ".join(without_hidden(_CONTROL.sub(" ", text)).split())


def parse_commit(sha: str, content: str) -> Version:
    """Read a raw commit object."""
    head, _, message = content.partition("\n\n")
    parents = [line.removeprefix("parent ") for line in head.splitlines() if line.startswith("parent ")]
    committed, author = _COMMITTED.search(head), _AUTHOR.search(head)
    at = datetime.fromtimestamp(int(committed[1]) if committed else 0, UTC).isoformat()
    subject, *paragraphs = message.strip().split("\n\n")
    matches = [_TRAILER.fullmatch(line) for line in paragraphs[-1].split("\n")] if paragraphs else []
    trailers = tuple((match[1], match[2]) for match in matches if match) if all(matches) else ()
    body = "\n\n".join(paragraphs[:-1] if trailers else paragraphs)
    parent, merged, *_ = [*parents, "", ""]
    return Version(
        sha,
        parent,
        single_line(subject),
        body,
        at,
        trailers=trailers,
        merged=merged,
        author=author[1] if author else "",
    )


ACCEPTED: Final = "Val-After"
TAKEN: Final = "Taken-By"
ROLLBACK: Final = "Rollback-To"
"""Trailers of a version: one that the gate accepted, a draft that a person took, and an older one again."""

DECLINED: Final = "Declined"
UNDECLINED: Final = "Undeclined"
"""Trailers with a version or draft that people refused, or had refused and want after all; there is one for each."""

DROPPED: Final = "Dropped-Edit"
DROPPED_BY: Final = "Dropped-By"
"""Trailers with the key of each edit that people refused, and with who did; the draft without them has the latter."""

DESCRIPTION: Final = "description"
"""Value of the trailer `Kind` of a commit that changes the description alone, and the id of its edit."""

_KINDS: Final = (
    (DECLINED, "declined"),
    (UNDECLINED, "undeclined"),
    (DROPPED, "dropped"),
    (ACCEPTED, "accepted"),
    (TAKEN, "taken"),
    (ROLLBACK, "rollback"),
    (GRADE, "draft"),
)


def commit_kind(version: Version) -> str:
    """Return what a commit is: a decision, a version, a `draft`, the `start` of training, or one of `people`."""
    none = "start" if version.trailer("Skill") else "people"
    return next((kind for trailer, kind in _KINDS if version.trailer(trailer)), none)


_VALUES = re.compile(r" (?=\w+=)")
_VERSION = re.compile(r"\d\S*")


def _target_parts(identity: str) -> tuple[str, str, str]:
    """Split an identity into driver, the client's version perhaps, and model; modes and limits are left out.

    >>> _target_parts("codex 0.169.0 model=large mode=forced")
    ('codex', '0.169.0', 'large')
    """
    head, *pairs = _VALUES.split(" ".join(identity.split()))
    model = dict(pair.split("=", 1) for pair in pairs).get("model", "")
    driver, _, last = head.rpartition(" ")
    return (driver, last, model) if driver and _VERSION.fullmatch(last) else (head, "", model)


def why_stale(trained: str, now: str) -> str:
    """Return how the configured target differs by driver or model from the one of a version; empty where unknown."""
    is_same = _target_parts(trained)[::2] == _target_parts(now)[::2]
    return "" if is_same or not (trained and now) else f"trained on {target_words(trained)}, now {target_words(now)}"


def target_words(identity: str) -> str:
    """Write the target of an identity in a few words."""
    driver, version, model = _target_parts(identity)
    return " ".join(filter(None, (driver, version, model and f"model={model}")))
