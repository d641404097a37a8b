"""Decline trained descriptions as a person asks for it, and take that back: commits on `skillopt-trigger/<skill>`."""

from dataclasses import dataclass

from skillopt.errors import UsageError
from skillopt.triggers.version import (
    commit_description,
    declined_descriptions,
    described_files,
    description_before,
    description_line,
    description_of,
    offered_descriptions,
)
from skillopt.versions.commit_message import (
    DECLINED,
    DECLINED_DESCRIPTION,
    DESCRIPTION,
    UNDECLINED,
    UNDECLINED_DESCRIPTION,
)
from skillopt.versions.decisions import PULL_REQUEST, PersonsWord
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import NewVersion, Repository

__all__ = ["DescriptionPlace", "decline_descriptions", "declined_last", "undecline_descriptions"]


@dataclass(frozen=True, slots=True)
class DescriptionPlace:
    """Where the descriptions of a skill are."""

    repository: Repository
    skill: str
    path: str
    onto: str = ""


def decline_descriptions(place: DescriptionPlace, word: PersonsWord, at: str) -> tuple[str, tuple[str, ...]]:
    """Commit that a person refused the descriptions that the default branch lacks; the one before them is back."""
    repository, skill, path = place.repository, place.skill, place.path
    offered = offered_descriptions(repository, skill, path, place.onto or default_tip(repository))
    if not offered:
        raise UsageError(f"skill {skill!r} has no description to decline; see `skillopt log {skill}`")
    before = description_before(repository, offered[-1], path)
    names = ", ".join(one.sha[:10] for one in offered)
    message = (
        f"decline the description {names}",
        f"{names} was declined. The description before it is back, and training starts from it.",
    )
    trailers = (("Kind", DECLINED_DESCRIPTION), *((DECLINED, one.sha) for one in offered), *word.trailers(DECLINED))
    return _decide(place, before, message, trailers, at), tuple(one.sha for one in offered)


def undecline_descriptions(place: DescriptionPlace, word: PersonsWord, at: str) -> tuple[str, tuple[str, ...]]:
    """Commit that a person wants after all what was declined last: that description is the newest again."""
    repository, skill = place.repository, place.skill
    wanted, _ = declined_last(repository, skill)
    if not wanted:
        raise UsageError(f"expected a declined description of {skill!r}, found none; see `skillopt log {skill}`")
    text = description_of(repository, wanted[0], place.path)
    names = ", ".join(sha[:10] for sha in wanted)
    message = f"bring the description {names} back", f"{names} was declined, and is wanted after all."
    trailers = (("Kind", UNDECLINED_DESCRIPTION), *((UNDECLINED, sha) for sha in wanted), *word.trailers(UNDECLINED))
    return _decide(place, text, message, trailers, at), wanted


def declined_last(repository: Repository, skill: str) -> tuple[tuple[str, ...], str]:
    """Return the descriptions that were declined last and stay declined, newest first, and in which pull request.

    Nothing where another description was committed since.
    """
    line = description_line(repository, skill)
    gone = declined_descriptions(repository, skill)
    newest = next((one for one in line if one.trailer("Kind") in (DESCRIPTION, DECLINED_DESCRIPTION)), None)
    if newest is None:
        return (), ""
    wanted = tuple(sha for sha in newest.values(DECLINED) if sha in gone)
    return wanted, newest.trailer(PULL_REQUEST) if wanted else ""


def _decide(
    place: DescriptionPlace, text: str, message: tuple[str, str], trailers: tuple[tuple[str, str], ...], at: str
) -> str:
    """Commit a decision with the description that is the newest from then on."""
    repository, skill, path = place.repository, place.skill, place.path
    tip = description_line(repository, skill)[0].sha
    subject, body = message
    new = NewVersion(
        skill=skill,
        path=path,
        files=described_files(repository.read_folder(tip, path), text),
        subject=f"{skill}: {subject}",
        body=body,
        trailers=(("Skill", skill), *trailers),
        at=at,
        parent=tip,
        expected_tip=tip,
    )
    return commit_description(repository, new)
