"""What people ask for in pull requests: `/skillopt drop 7` and the like in comments, and boxes that they untick.

Bodies and comments are untrusted text: only what fits the forms below is read, and only so much of it. Who may ask is
decided by the caller.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

__all__ = [
    "AskedCommand",
    "ListedEdit",
    "Verb",
    "carry_unticked",
    "handled_mark",
    "last_handled",
    "read_checklist",
    "read_commands",
    "unticked_edits",
]

_LONGEST: Final = 70_000
"""Characters of a text that are looked at; forges keep fewer."""

_MOST_COMMANDS: Final = 20
_MOST_EDITS: Final = 50
_LONGEST_REASON: Final = 300
_LONGEST_LINE: Final = 600
_LINE: Final = re.compile(r"/skillopt(?:[ \t]{1,9}(?P<verb>[a-z]{4,8}\b)?(?P<rest>.*)|)")
_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)")
_NUMBERS: Final = re.compile(r"[ \t,#]*(?P<number>[0-9]{1,4})\b")
_BOX: Final = re.compile(
    r"^[ \t]{0,3}- \[(?P<tick>[ xX])\] \*\*(?P<number>[0-9]{1,4})\*\*[^\r\n]{0,4000}?"
    r"<!-- skillopt edit: (?P<key>[0-9a-f]{12}/[0-9]{1,4}) -->",
    re.MULTILINE,
)
_HANDLED: Final = re.compile(r"<!-- skillopt handled: (?P<id>[0-9]{1,19}) -->\s*\Z")


class Verb(StrEnum):
    """What can be asked for."""

    DROP = "drop"
    RETRY = "retry"
    IGNORE = "ignore"
    UNIGNORE = "unignore"
    REBASE = "rebase"
    EXPLAIN = "explain"


_NUMBERED: Final = frozenset({Verb.DROP, Verb.EXPLAIN})


@dataclass(frozen=True, slots=True)
class AskedCommand:
    """One command of a comment."""

    verb: Verb | None
    numbers: tuple[int, ...] = ()
    skill: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ListedEdit:
    """One edit in the checklist of a pull request."""

    number: int
    key: str
    ticked: bool


def read_commands(text: str) -> tuple[AskedCommand, ...]:
    r"""Read the commands of a comment: lines that begin with `/skillopt`, as `/skillopt drop 7 8: too strict`.

    Lines that name no command, and those that name no edit where one is needed, are given as not understood. Lines in
    blocks of code, and what comes after a great many commands, are left out.

    >>> read_commands("Hm.\n/skillopt drop 7, 8: too strict")
    (AskedCommand(verb=<Verb.DROP: 'drop'>, numbers=(7, 8), skill='', reason='too strict'),)
    >>> read_commands("/skillopt dance")
    (AskedCommand(verb=None, numbers=(), skill='', reason='/skillopt dance'),)
    """
    found = (_read_line(line[:_LONGEST_LINE]) for line in _lines_outside_code(text[:_LONGEST]))
    return tuple(islice((one for one in found if one is not None), _MOST_COMMANDS))


def read_checklist(body: str) -> tuple[ListedEdit, ...]:
    """Read the checklist of edits in the text of a pull request.

    A number that stands there twice is somebody's own text: what comes first counts.
    """
    found: dict[int, ListedEdit] = {}
    for box in _BOX.finditer(body[:_LONGEST]):
        number = int(box["number"])
        found.setdefault(number, ListedEdit(number, box["key"], box["tick"] != " "))
    return tuple(found.values())


def unticked_edits(body: str) -> tuple[ListedEdit, ...]:
    """Return the edits whose boxes are not ticked in the text of a pull request."""
    return tuple(edit for edit in read_checklist(body) if not edit.ticked)


def carry_unticked(old: str, new: str) -> str:
    """Untick in a newer text of a pull request what people have unticked in the one that is there."""
    keys = {edit.key for edit in unticked_edits(old)}

    def untick(box: re.Match[str]) -> str:
        at = box.start("tick") - box.start()
        return f"{box[0][:at]} {box[0][at + 1 :]}" if box["key"] in keys else box[0]

    return _BOX.sub(untick, new) if keys else new


def handled_mark(comment: int) -> str:
    """Write up to which comment commands were handled: the last line of a pull request's text, which is not shown."""
    return f"<!-- skillopt handled: {comment} -->"


def last_handled(body: str) -> tuple[int, str]:
    """Read up to which comment commands were handled, 0 for none; and give the text without that line."""
    found = _HANDLED.search(body)
    return (int(found["id"]), body[: found.start()]) if found else (0, body)


def _lines_outside_code(text: str) -> Iterator[str]:
    """Yield the lines of a text that stand in no block of code between fences."""
    fence = ""
    for line in text.splitlines():
        found = _FENCE.fullmatch(line)
        if fence and found and found["fence"].startswith(fence) and not found["rest"].strip():
            fence = ""
        elif not fence and found and not (found["fence"][0] == "`" and "`" in found["rest"]):
            fence = found["fence"]
        elif not fence:
            yield line


def _read_line(line: str) -> AskedCommand | None:
    """Read one line, None where it is no command."""
    found = _LINE.fullmatch(line.rstrip())
    if found is None:
        return None
    verb, rest = found["verb"] or "", found["rest"] or ""
    command = _read_rest(Verb(verb), rest) if verb in list(Verb) else None
    return command or AskedCommand(None, reason=_on_one_line(line))


def _read_rest(verb: Verb, rest: str) -> AskedCommand | None:
    numbers, end = tuple[int, ...](), 0
    if verb in _NUMBERED:
        matched = list(_leading_numbers(rest))
        numbers, end = tuple(dict.fromkeys(number for number, _ in matched)), matched[-1][1] if matched else 0
        if not numbers:
            return None
    named, _, reason = rest[end:].partition(":")
    words = named.split()
    skill = words[0] if words and verb not in _NUMBERED else ""
    if skill and not re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", skill):
        return None
    return AskedCommand(verb, numbers, skill, _on_one_line(reason))


def _on_one_line(text: str) -> str:
    said = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return said[:_LONGEST_REASON]


def _leading_numbers(rest: str) -> Iterator[tuple[int, int]]:
    """Yield the numbers that a text begins with, each with where it ends."""
    at = 0
    for _ in range(_MOST_EDITS):
        found = _NUMBERS.match(rest, at)
        if found is None:
            return
        at = found.end()
        yield int(found["number"]), at
