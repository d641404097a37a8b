"""Descriptions that the gate accepted, as commits on the branch `skillopt-trigger/<skill>`: read and publish.

A branch that was fetched from `origin` counts where there is none here, or where it goes on from the one here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.errors import UsageError, VersionConflictError
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.frontmatter import listed_description
from skillopt.storage.notes import TriggerBasis
from skillopt.tasks import File, digest_of
from skillopt.triggers.description import with_description
from skillopt.triggers.message import BEFORE, SIBLINGS_DIGEST
from skillopt.versions.commit_message import (
    DECLINED,
    DECLINED_DESCRIPTION,
    DESCRIPTION,
    UNDECLINED,
    UNDECLINED_DESCRIPTION,
    Version,
)
from skillopt.versions.decisions import PULL_REQUEST, Decisions, PersonsWord
from skillopt.versions.draft_branch import DESCRIPTION_BRANCHES, description_commits
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import NewVersion, Repository
from skillopt.versions.revisions import find_skill_folder

__all__ = [
    "DescriptionPlace",
    "commit_description",
    "committed_bases",
    "decline_descriptions",
    "declined_descriptions",
    "declined_last",
    "described_files",
    "description_before",
    "description_digest",
    "description_line",
    "description_of",
    "description_tip",
    "expect_free_branch",
    "list_descriptions",
    "offered_descriptions",
    "publish_description",
    "siblings_digest",
    "trigger_branch",
    "undecline_descriptions",
    "why_description_due",
    "with_newest_description",
]

_FETCHED: Final = "refs/remotes/origin/skillopt-trigger/"


def trigger_branch(skill: str) -> str:
    """Name the branch of a skill's descriptions."""
    return f"skillopt-trigger/{skill}"


def description_tip(repository: Repository, skill: str) -> str | None:
    """Return the newest commit of the branch, here or as it was fetched; None where there is neither."""
    here, fetched = (repository.ref_tip(f"{prefix}{skill}") for prefix in (DESCRIPTION_BRANCHES, _FETCHED))
    if here is None or fetched is None:
        return here or fetched
    return fetched if repository.contains(fetched, here) else here


def description_line(repository: Repository, skill: str) -> tuple[Version, ...]:
    """List what was committed for a skill's description, newest first; it ends with the first commit of a person."""
    tip = description_tip(repository, skill)
    return description_commits(repository, skill, tip) if tip else ()


def list_descriptions(repository: Repository, skill: str) -> tuple[Version, ...]:
    """List the descriptions of a skill that training committed, newest first, declined ones too."""
    return tuple(one for one in description_line(repository, skill) if one.trailer("Kind") == DESCRIPTION)


def declined_descriptions(repository: Repository, skill: str) -> dict[str, PersonsWord]:
    """Return who declined a description that stays declined, and why, by its commit; oldest first."""
    return Decisions(description_line(repository, skill)).declined_by


def offered_descriptions(repository: Repository, skill: str, path: str, onto: str) -> tuple[Version, ...]:
    """List the descriptions that the default branch lacks and nobody declined, newest first."""
    gone = declined_descriptions(repository, skill)
    there = description_of(repository, onto, path) if onto else ""
    found: list[Version] = []
    for one in description_line(repository, skill):
        if description_of(repository, one.sha, path) == there and one.trailer("Kind") == DESCRIPTION:
            break
        if one.trailer("Kind") == DESCRIPTION and one.sha not in gone:
            found.append(one)
            if description_before(repository, one, path) == there:
                break
    return tuple(found)


def description_before(repository: Repository, version: Version, path: str) -> str:
    """Read the description that a commit of a description was trained from, empty for none."""
    if _skill_file(repository, version.sha, path) is None:
        path = find_skill_folder(repository, version.sha, version.trailer("Skill")) or path
    found = [description_of(repository, sha, path) for sha in (version.parent, version.merged) if sha]
    # One that merges what was checked out may have begun with what people had written there.
    began = (text for text in found if digest_of(text)[:16] == version.trailer(BEFORE))
    return next(began, found[0] if found else "")


def description_of(repository: Repository, commit: str, path: str) -> str:
    """Read the description that a skill has in a commit; empty where it has none."""
    found = _skill_file(repository, commit, path)
    if found is None:
        earlier = find_skill_folder(repository, commit, repository.commit(commit).trailer("Skill"))
        found = _skill_file(repository, commit, earlier) if earlier else None
    return listed_description(SkillDocument.parse(found or b""))


def _skill_file(repository: Repository, commit: str, path: str) -> bytes | None:
    return next((file.content for file in repository.read_folder(commit, path) if file.path == SKILL_FILE), None)


def with_newest_description(repository: Repository, skill: Skill, path: str) -> Skill:
    """Return a skill with the newest description of its branch, unless people have written another one since."""
    here, line = listed_description(skill.document), description_line(repository, skill.name)
    newest = description_of(repository, line[0].sha, path) if line else here
    if newest == here:
        return skill
    for version in line:
        if description_before(repository, version, path) == here:
            return skill.with_document(with_description(skill.document, newest))
    return skill


def described_files(files: tuple[File, ...], description: str) -> tuple[File, ...]:
    """Return the files of a commit with another description in SKILL.md."""
    return tuple(
        File(file.path, with_description(SkillDocument.parse(file.content), description).render())
        if file.path == SKILL_FILE
        else file
        for file in files
    )


def publish_description(
    repository: Repository,
    skill: str,
    description: str,
    path: str,
    message: tuple[str, tuple[tuple[str, str], ...]],
    at: str,
) -> str:
    """Commit a description on its branch; index, work tree, HEAD and hooks are not touched.

    It goes on from the newest description, fetched ones included, and merges HEAD where that has moved on since.
    """
    head = repository.head() or ""
    tip = description_tip(repository, skill)
    behind = tip is not None and head != "" and not repository.contains(tip, head)
    # Neither files that nobody committed nor an older checkout's body are part of it.
    base = head if behind else tip or head
    body, trailers = message
    new = NewVersion(
        skill=skill,
        path=path,
        files=described_files(repository.read_folder(base, path), description),
        subject=f"{skill}: a description that loads it when it should",
        body=body,
        trailers=trailers,
        at=at,
        parent=tip or head,
        expected_tip=tip,
        merges=head if behind else "",
    )
    return commit_description(repository, new)


def expect_free_branch(repository: Repository, skill: str) -> None:
    """Refuse a branch that cannot be moved."""
    name, tip = trigger_branch(skill), description_tip(repository, skill)
    if tip is not None and not description_line(repository, skill):
        raise VersionConflictError(
            f"{name} has commits of people ({tip[:10]}); it was left alone. Rename it to keep them: git branch -m "
            f"{name} MY-NAME"
        )
    repository.check_branch(name)


def commit_description(repository: Repository, new: NewVersion) -> str:
    """Write a commit and move the branch to it, unless it is a person's."""
    branch = f"{DESCRIPTION_BRANCHES}{new.skill}"
    expect_free_branch(repository, new.skill)
    here, commit = repository.ref_tip(branch), repository.write_commit(new)
    if here != commit:
        repository.move_branch(branch, here, commit)
    return commit


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


def description_digest(text: str) -> str:
    """Identify a description."""
    return digest_of(text)[:16]


def siblings_digest(beside: Iterable[Skill]) -> str:
    """Identify the descriptions that are installed beside a skill, whatever their order."""
    rows = sorted((one.name, listed_description(one.document)) for one in beside)
    return digest_of(*(part for row in rows for part in row))


def committed_bases(repository: Repository, skill: str, path: str) -> tuple[TriggerBasis, ...]:
    """Read what the committed descriptions of a skill were trained on, newest first."""
    return tuple(
        TriggerBasis(
            tuple(filter(None, (one.trailer(BEFORE), description_digest(description_of(repository, one.sha, path))))),
            *(one.trailer(key) for key in ("Harness", "Optimizer-Model", SIBLINGS_DIGEST, "Requests-Digest")),
        )
        for one in list_descriptions(repository, skill)
    )


def why_description_due(now: TriggerBasis, trained: Sequence[TriggerBasis]) -> str:
    """Return why a description is due for training; empty when it is not."""
    reasons = [_difference(now, one) for one in trained]
    if not all(reasons):
        return ""
    return reasons[0] if reasons else "its description was never trained"


def _difference(now: TriggerBasis, then: TriggerBasis) -> str:
    found = (
        (now.descriptions[0] not in then.descriptions, "its description was changed since it was trained"),
        (then.target != now.target, f"its description was trained for {then.target}, now it is {now.target}"),
        (then.model != now.model, f"its description was written by {then.model}, now it is {now.model}"),
        (then.siblings != now.siblings, "descriptions of other skills changed since its own was trained"),
        (then.requests != now.requests, "its trigger set changed since its description was trained"),
    )
    return next((reason for holds, reason in found if holds), "")
