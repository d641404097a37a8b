"""What people ask for in pull requests: `/skillopt drop 7` and the like in comments, and boxes that they untick.

Bodies and comments are untrusted text: only what fits the forms below is read, and only so much of it, and only from
people with write access.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from skillopt.errors import EditError
from skillopt.protocols import Comment, PullRequest
from skillopt.skills.edits import Edit
from skillopt.versions.decisions import write_edit

_LONGEST: Final = 70_000
"""Characters of a text that are looked at; forges keep fewer."""

_NEAR: Final = timedelta(minutes=10)
_MOST_COMMANDS: Final = 20  # of one comment: more are no person's
LONGEST_QUOTE: Final = 300  # characters of a text that is kept or repeated, as a refusal keeps
_LONGEST_LINE: Final = 600  # characters: fifty numbers and a reason
_LINE: Final = re.compile(
    r"/skillopt(?:[ \t]{1,9}(?P<verb>[a-z]{4,8}\b)?(?P<numbers>(?:[ \t,#]{0,9}[0-9]{1,4}\b){0,50})(?P<rest>.*)|)"
)
_FENCE: Final = re.compile(r" {0,3}(?P<fence>`{3,}|~{3,})(?P<rest>.*)")
_NUMBER: Final = re.compile(r"[0-9]{1,4}\b")
_BOX: Final = re.compile(
    r"^[ \t]{0,3}- \[(?P<tick>[ xX])\] \*\*(?P<number>[0-9]{1,4})\*\*[^\r\n]{0,4000}?"
    r"<!-- skillopt edit: (?P<key>[0-9a-f]{12}/[0-9]{1,4}) -->",
    re.MULTILINE,
)
_EDITS: Final = re.compile(r"^<!-- skillopt edits: (?P<edits>\[.*\]) -->\r?$", re.MULTILINE)
_LISTED: Final = TypeAdapter(tuple[tuple[Annotated[str, Field(pattern=r"^[0-9a-f]{12}/[1-9][0-9]{0,3}$")], Edit], ...])
_HANDLED: Final = re.compile(r"<!-- skillopt handled: (?P<id>[0-9]{1,19}) -->\s*\Z")


class Verb(StrEnum):
    """What can be asked for."""

    DROP = "drop"
    IGNORE = "ignore"
    UNIGNORE = "unignore"


@dataclass(frozen=True, slots=True)
class AskedCommand:
    """One command of a comment."""

    verb: Verb | None
    numbers: tuple[int, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ListedEdit:
    """One edit in the checklist of a pull request."""

    number: int
    key: str
    ticked: bool


class StrictModel(BaseModel):
    """A record that steps of a night hand on: no key but those that are named."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Asked(StrictModel):
    """Something that a person with write access asks for in a pull request, by a command or an unticked box."""

    verb: Verb | None
    pull_request: int
    edits: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    by: str = ""
    reason: str = ""
    comment: int = 0
    url: str = ""


class Closing(StrictModel):
    """Who closed a pull request without merging it, and why, as far as the comments tell."""

    pull_request: int
    by: str = ""
    reason: str = ""
    url: str = ""


def read_asked(request: PullRequest, comments: Iterable[Comment]) -> tuple[Asked, ...]:
    """Read what people ask for in an open pull request and nobody has answered yet, the oldest first."""
    done, body = last_handled(request.body)
    found = []
    if boxes := [box for box in read_checklist(body) if not box.ticked]:
        keys, numbers = tuple(box.key for box in boxes), tuple(box.number for box in boxes)
        found.append(Asked(verb=Verb.DROP, pull_request=request.number, edits=keys, numbers=numbers, url=request.url))
    for comment in comments:
        if comment.may_write and comment.id > done:
            found += [_asked(request, comment, one) for one in read_commands(comment.body)]
    return tuple(found)


def read_closing(request: PullRequest, comments: Iterable[Comment]) -> Closing:
    """Read why a pull request was closed: the last thing that somebody with write access said when it was closed.

    What was said earlier or later is about something else, and so are commands; then nobody knows why.
    """
    found = Closing(pull_request=request.number, url=request.url)
    for comment in comments:
        try:  # when it was closed, or minutes before or after; a time without a zone is none of the forge
            is_near = abs(datetime.fromisoformat(comment.at) - datetime.fromisoformat(request.closed_at)) <= _NEAR
        except (ValueError, TypeError):
            continue
        lines = [line for line in comment.body.splitlines() if not line.lstrip().startswith("/skillopt")]
        reason = _on_one_line("\n".join(lines))
        if reason and comment.may_write and is_near:
            found = Closing(pull_request=request.number, by=comment.author, reason=reason, url=comment.url)
    return found


def read_ignored(said: Iterable[tuple[PullRequest, Comment]]) -> Asked | None:
    """Find who wants the skill left alone: the newest command of this kind counts, on whatever pull request it stands.

    So it lasts as long as the forge keeps the comment, and needs no file.
    """
    found = [
        _asked(request, comment, one)
        for request, comment in sorted(said, key=lambda pair: (pair[1].at, pair[1].id))
        if comment.may_write
        for one in read_commands(comment.body)
        if one.verb in (Verb.IGNORE, Verb.UNIGNORE)
    ]
    return found[-1] if found and found[-1].verb is Verb.IGNORE else None


def read_commands(text: str) -> tuple[AskedCommand, ...]:
    """Read the commands of a comment: lines that begin with `/skillopt`, as `/skillopt drop 7 8: too strict`.

    Lines that name no command, and those that name no edit where one is needed, are given as not understood. Lines in
    blocks of code, and what comes after a great many commands, are left out.
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


def write_edits(edits: Iterable[tuple[str, Edit]]) -> str:
    """Write edits with their keys in a line that is not shown: what a pull request offered outlives its branch."""
    listed = ",".join(f'["{key}",{write_edit(edit)}]' for key, edit in edits)
    return f"<!-- skillopt edits: [{listed}] -->".replace(">", r"\u003e", listed.count(">"))


def read_edits(body: str) -> tuple[tuple[str, Edit], ...]:
    """Read the edits that the text of a pull request offers; none where it does not list them."""
    found = _EDITS.search(body[:_LONGEST])
    try:
        return _LISTED.validate_json(found["edits"]) if found else ()
    except (ValidationError, EditError):
        return ()


def carry_unticked(old: str, new: str) -> str:
    """Untick in a newer text of a pull request what people have unticked in the one that is there."""
    keys = {edit.key for edit in read_checklist(old) if not edit.ticked}

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


def _asked(request: PullRequest, comment: Comment, command: AskedCommand) -> Asked:
    """Translate the numbers of a command by the checklist as it is now; what is not there is left out."""
    keys = {edit.number: edit.key for edit in read_checklist(request.body)}
    known = tuple(number for number in command.numbers if number in keys)
    return Asked(
        verb=command.verb,
        pull_request=request.number,
        edits=tuple(keys[number] for number in known),
        numbers=known if command.numbers else (),
        by=comment.author,
        reason=command.reason,
        comment=comment.id,
        url=comment.url,
    )


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
    verb = Verb(found["verb"]) if found["verb"] in list(Verb) else None
    numbers = tuple(dict.fromkeys(map(int, _NUMBER.findall(found["numbers"] or ""))))
    named, _, reason = (found["rest"] or "").partition(":")
    if verb is None or (verb is Verb.DROP) != bool(numbers) or (verb is not Verb.DROP and named.strip()):
        return AskedCommand(None, reason=_on_one_line(line))
    return AskedCommand(verb, numbers, _on_one_line(reason))


def _on_one_line(text: str) -> str:
    said = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return said[:LONGEST_QUOTE]
