"""What the steps of a night hand over to each other: files, of which none holds a token.

`nightly check` writes what the forge says, `nightly train` reads it and writes a folder with what is to be offered as
JSON, branches as a git bundle, and reports. `nightly offer` believes none of that: what is pushed is checked against
the remote and the default branch.
"""

import os
import re
import stat
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import Field, ValidationError, field_validator

from skillopt.errors import UsageError, describe_mistake
from skillopt.nightly.night import Nightly
from skillopt.nightly.people_commands import Asked, Closing, StrictModel
from skillopt.protocols import PullRequest, RepositoryFacts
from skillopt.versions.remotes import Tips

BUNDLE: Final = "bundle"
OFFERS: Final = "offers.json"
REPORT: Final = "report"
"""Name of the folder with reports of runs, beside the other two."""

_LARGEST: Final = 50_000_000  # bytes: 1,000 skills with texts of 50,000 characters


CLOSED_BY_NIGHT: Final = "<!-- skillopt: closed by the night -->\n"
"""First line of a pull request's text that a night closed; one that people opened again is written anew."""

_LONGEST_TITLE: Final = 256  # characters that GitHub takes
LONGEST_BODY: Final = 66_000  # characters: GitHub takes 65,536, of which marks may be cut
_COMMIT: Final = r"^(?:[0-9a-f]{40}|[0-9a-f]{64})?$"

_CALLS: Final = re.compile(
    r"(?:@|&(?:#0{0,9}64|#x0{0,9}40|commat);)(?=\w)|(?:(?<!&)#|&(?:#0{0,9}35|#x0{0,9}23|num);)(?=\d)|\bGH-(?=\d)"
    r"|/(?:issues|pull)/(?=\d)",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"(<code>[^\n]*?</code>|<pre>.*?</pre>)", re.DOTALL)

_Commit = Annotated[str, Field(pattern=_COMMIT)]
_Line = Annotated[str, Field(max_length=2000)]
_AnswerLine = Annotated[str, Field(max_length=30_000)]
"""Texts of people and models, of which escaping makes several times their length."""

_Number = Annotated[int, Field(ge=0, lt=2**63)]


def disarm_page(text: str) -> str:
    """Break up in Markdown what a forge would turn into a mention or a link, but in HTML code, where it turns nothing.

    >>> disarm_page("Fixes #3, ask @team; <code>@team</code>")
    'Fixes # 3, ask @ team; <code>@team</code>'
    """
    pieces = _CODE.split(text)
    return "".join(piece if number % 2 else _CALLS.sub(r"\g<0> ", piece) for number, piece in enumerate(pieces))


def open_request(requests: Sequence[PullRequest]) -> PullRequest | None:
    """Return the open one of the pull requests from a branch."""
    return next((one for one in requests if one.state == "open"), None)


def closed_by_people(request: PullRequest) -> bool:
    """Return whether people closed a pull request without a merge; what a night closed is no decision of theirs."""
    return request.state == "closed" and not request.body.startswith(CLOSED_BY_NIGHT)


class SkillReview(StrictModel):
    """What the forge has of a skill."""

    skill: str
    versions: tuple[PullRequest, ...] = ()
    drafts: tuple[PullRequest, ...] = ()
    asked: tuple[Asked, ...] = ()
    closings: tuple[Closing, ...] = ()
    ignored: Asked | None = None

    def closing(self, request: PullRequest) -> Closing:
        """Return who closed a pull request, and why, as far as anybody knows."""
        unknown = Closing(pull_request=request.number, url=request.url)
        return next((one for one in self.closings if one.pull_request == request.number), unknown)


class ReviewState(StrictModel):
    """All that a night has to know of remote and forge."""

    version: Literal[1] = 1
    forge: str
    facts: RepositoryFacts
    remote: str
    tips: Tips | None
    refusals: Mapping[str, tuple[str, ...]] = {}
    records: Mapping[str, tuple[str, ...]] = {}
    skills: Annotated[tuple[SkillReview, ...], Field(min_length=1)]

    def of(self, skill: str) -> SkillReview:
        """Return what the forge has of a skill."""
        return next((one for one in self.skills if one.skill == skill), SkillReview(skill=skill))


class BranchOffer(StrictModel):
    """What is offered from one branch: facts for the policy, and the text of its pull request.

    The text names nobody and no issue, whoever wrote it: what a forge would act on is broken up.
    """

    branch: Annotated[str, Field(pattern=r"^skillopt(?:-draft|-audit|-trigger)?/[a-z0-9]+(?:-[a-z0-9]+)*$")]
    seen: _Commit = ""
    tip: _Commit = ""
    unfit_reason: _Line = ""
    moot_reason: _Line = ""
    waits: bool = False
    proven: bool = True
    mark: _Line = ""
    known_by: _Line = ""
    title: Annotated[str, Field(max_length=_LONGEST_TITLE)] = ""
    body: Annotated[str, Field(max_length=LONGEST_BODY)] = ""
    decided: bool = False
    opened: _Number = 0
    notes: Annotated[tuple[_Line, ...], Field(max_length=100)] = ()

    @field_validator("title", "body", "moot_reason")
    @classmethod
    def _acts_on_nothing(cls, text: str) -> str:
        return disarm_page(text)


class PostedAnswer(StrictModel):
    """What is said under a pull request to people who asked for something."""

    pull_request: _Number
    lines: Annotated[tuple[_AnswerLine, ...], Field(max_length=100)]
    last: _Number = 0


class SkillOffers(StrictModel):
    """What is to be done about the pull requests of one skill."""

    skill: str
    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(?:-[a-z0-9]+)*$")]
    version: BranchOffer | None = None
    draft: BranchOffer | None = None
    answers: tuple[PostedAnswer, ...] = ()
    refusals: tuple[str, ...] = ()
    record: tuple[str, ...] = ()


class OfferFolder(StrictModel):
    """What `nightly train` leaves for `nightly offer`."""

    version: Literal[1] = 1
    remote: str
    night: Nightly
    offers: tuple[SkillOffers, ...]


_Model = TypeVar("_Model", ReviewState, OfferFolder)


def read_state(path: Path) -> ReviewState:
    """Read what `nightly check` wrote."""
    return _read(path, ReviewState, "skillopt nightly check", path)


def make_folder(folder: Path) -> None:
    """Make the folder of a night, and find out whether files can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        (folder / BUNDLE).unlink(missing_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write {folder}: {error.strerror}; choose another --output") from error


def read_offers(folder: Path) -> OfferFolder:
    """Read what `nightly train` wrote."""
    return _read(folder / OFFERS, OfferFolder, "skillopt nightly train", folder)


def _read(path: Path, kind: type[_Model], command: str, out: Path) -> _Model:
    """Read a file of another job: neither a link nor a pipe, on which reading would wait."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise UsageError(f"{path}: expected a file, found something else; run `{command}`")
            content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise UsageError(f"{path}: expected at most {_LARGEST:,} bytes, found more; run `{command}`")
        return kind.model_validate_json(content)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}; write it with `{command} --output {out}`") from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: {where}: {describe_mistake(first)}; write it with `{command}`") from error
