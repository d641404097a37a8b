"""Descriptions that the gate accepted, as commits on the branch `skillopt-trigger/<skill>`: read and publish.

A branch that was fetched from `origin` counts where there is none here, or where it goes on from the one here.
"""

from typing import Final

from skillopt.errors import RepositoryError, VersionConflictError
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.frontmatter import listed_description
from skillopt.tasks import File, digest_of
from skillopt.triggers.description import with_description
from skillopt.triggers.message import BEFORE
from skillopt.triggers.training import TrainedDescription
from skillopt.versions.commit_message import DESCRIPTION, Version
from skillopt.versions.decisions import Decisions, PersonsWord
from skillopt.versions.draft_branch import DESCRIPTION_BRANCHES, description_commits
from skillopt.versions.repository import NewVersion, Repository
from skillopt.versions.revisions import find_skill_folder

__all__ = [
    "commit_description",
    "declined_descriptions",
    "described_files",
    "description_before",
    "description_line",
    "description_of",
    "description_tip",
    "expect_free_branch",
    "list_descriptions",
    "offered_descriptions",
    "publish_description",
    "trigger_branch",
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
    trained: TrainedDescription,
    path: str,
    message: tuple[str, tuple[tuple[str, str], ...]],
    at: str,
) -> str:
    """Commit a description on its branch; index, work tree, HEAD and hooks are not touched.

    It goes on from the newest description, fetched ones included, and merges HEAD where that has moved on since.
    """
    skill, head = trained.skill.name, repository.head() or ""
    tip = description_tip(repository, skill)
    behind = tip is not None and head != "" and not repository.contains(tip, head)
    # Neither files that nobody committed nor an older checkout's body are part of it.
    base = head if behind else tip or head
    body, trailers = message
    new = NewVersion(
        skill=skill,
        path=path,
        files=described_files(repository.read_folder(base, path), trained.description),
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
    if place := repository.checked_out_in(f"{DESCRIPTION_BRANCHES}{skill}"):
        raise VersionConflictError(
            f"expected branch {name} free to move, found it checked out in {place}; it was left alone. Switch to "
            "another branch there, then run this again"
        )


def commit_description(repository: Repository, new: NewVersion) -> str:
    """Write a commit and move the branch to it, unless it is a person's."""
    branch = f"{DESCRIPTION_BRANCHES}{new.skill}"
    expect_free_branch(repository, new.skill)
    here, commit = repository.ref_tip(branch), repository.write_commit(new)
    if here != commit and (problem := repository.move_branch(branch, here, commit)):
        raise RepositoryError(f"{problem}; mend that and run this again")
    return commit
