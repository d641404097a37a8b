"""What the forge says before a night: `nightly check` writes it to a file, `nightly train` reads it without a token."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from skillopt.errors import UsageError
from skillopt.nightly.dashboard import DashboardMemory
from skillopt.nightly.people_commands import (
    AskedCommand,
    Verb,
    last_handled,
    read_checklist,
    read_commands,
    unticked_edits,
)
from skillopt.protocols import Comment, PullRequest, RepositoryFacts
from skillopt.versions.remotes import Tips

__all__ = [
    "Asked",
    "Closing",
    "ReviewState",
    "SkillReview",
    "open_text",
    "read_asked",
    "read_closing",
    "read_ignored",
    "read_state",
    "write_state",
]

_LARGEST: Final = 50_000_000
_LONGEST_REASON: Final = 300
_NEAR: Final = timedelta(minutes=10)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Asked(_Strict):
    """Something that a person with write access asks for in a pull request, by a command or an unticked box."""

    verb: Verb | None
    pull_request: int
    edits: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    by: str = ""
    reason: str = ""
    skill: str = ""
    comment: int = 0
    url: str = ""


class Closing(_Strict):
    """Who closed a pull request without merging it, and why, as far as the comments tell."""

    pull_request: int
    by: str = ""
    reason: str = ""
    url: str = ""


class SkillReview(_Strict):
    """What the forge has of a skill."""

    skill: str
    versions: tuple[PullRequest, ...] = ()
    drafts: tuple[PullRequest, ...] = ()
    descriptions: tuple[PullRequest, ...] = ()
    asked: tuple[Asked, ...] = ()
    closings: tuple[Closing, ...] = ()
    ignored: Asked | None = None

    @property
    def requests(self) -> tuple[PullRequest, ...]:
        """All its pull requests."""
        return (*self.versions, *self.drafts, *self.descriptions)

    @property
    def training_wanted(self) -> tuple[Asked, ...]:
        """What asks for training, whether or not anything else makes the skill due."""
        return tuple(one for one in self.asked if one.verb in (Verb.RETRY, Verb.REBASE) and not one.skill)


class ReviewState(_Strict):
    """All that a night has to know of remote and forge."""

    version: Literal[1] = 1
    forge: str
    facts: RepositoryFacts
    remote: str
    tips: Tips | None
    skills: Annotated[tuple[SkillReview, ...], Field(min_length=1)]
    memory: DashboardMemory = DashboardMemory()

    def of(self, skill: str) -> SkillReview:
        """Return what the forge has of a skill."""
        return next((one for one in self.skills if one.skill == skill), SkillReview(skill=skill))


def open_text(requests: Sequence[PullRequest]) -> str:
    """Return the text of the open one of some pull requests, empty where none is."""
    return next((one.body for one in requests if one.state == "open"), "")


def read_asked(request: PullRequest, comments: Iterable[Comment], names: Collection[str]) -> tuple[Asked, ...]:
    """Read what people ask for in an open pull request and nobody has answered yet, the oldest first."""
    done, body = last_handled(request.body)
    boxes = unticked_edits(body)
    number = request.number
    found = []
    if boxes:
        keys, numbers = tuple(box.key for box in boxes), tuple(box.number for box in boxes)
        found.append(Asked(verb=Verb.DROP, pull_request=number, edits=keys, numbers=numbers, url=request.url))
    for comment in comments:
        if comment.may_write and comment.id > done:
            found += [_asked(request, comment, one, names) for one in read_commands(comment.body)]
    return tuple(found)


def read_closing(request: PullRequest, comments: Iterable[Comment]) -> Closing:
    """Read why a pull request was closed: the last thing that somebody with write access said when it was closed.

    What was said earlier or later is about something else, and so are commands; then nobody knows why.
    """
    said = [
        (comment, words)
        for comment in comments
        if comment.may_write and _is_near(comment.at, request.closed_at) and (words := _without_commands(comment.body))
    ]
    if not said:
        return Closing(pull_request=request.number, url=request.url)
    last, words = said[-1]
    return Closing(pull_request=request.number, by=last.author, reason=words[:_LONGEST_REASON], url=last.url)


def _is_near(said: str, closed: str) -> bool:
    """Return whether something was said when a pull request was closed, or minutes before or after."""
    try:
        apart = datetime.fromisoformat(said) - datetime.fromisoformat(closed)
    except (ValueError, TypeError):  # a time without a zone is none of the forge
        return False
    return abs(apart) <= _NEAR


def _without_commands(text: str) -> str:
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("/skillopt"))
    return " ".join("".join(one if one.isprintable() else " " for line in lines for one in f"{line} ").split())


def read_ignored(said: Iterable[tuple[PullRequest, Comment]], names: Collection[str]) -> Asked | None:
    """Find who wants the skill left alone: the newest command of this kind counts, on whatever pull request it stands.

    So it lasts as long as the forge keeps the comment, and needs no file.
    """
    found = [
        _asked(request, comment, one, names)
        for request, comment in sorted(said, key=lambda pair: (pair[1].at, pair[1].id))
        if comment.may_write
        for one in read_commands(comment.body)
        if one.verb in (Verb.IGNORE, Verb.UNIGNORE) and one.skill in ("", *names)
    ]
    return found[-1] if found and found[-1].verb is Verb.IGNORE else None


def write_state(state: ReviewState, path: Path) -> None:
    """Write the state to a file."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(state.model_dump_json(indent=1), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}; choose another --out") from error


def read_state(path: Path) -> ReviewState:
    """Read what `nightly check` wrote."""
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise UsageError(f"{path}: expected at most {_LARGEST:,} bytes, found more; run `skillopt nightly check`")
        return ReviewState.model_validate_json(content)
    except OSError as error:
        message = f"cannot read {path}: {error.strerror}; write it with `skillopt nightly check --out {path}`"
        raise UsageError(message) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}; write it with `skillopt nightly check`"
        raise UsageError(message) from error


def _asked(request: PullRequest, comment: Comment, command: AskedCommand, names: Collection[str]) -> Asked:
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
        skill="" if command.skill in names else command.skill,
        comment=comment.id,
        url=comment.url,
    )
