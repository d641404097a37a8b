"""A description that the gate accepted as a commit on the branch `skillopt-trigger/<skill>`, and as text for people."""

from textwrap import fill
from typing import Final

from skillopt.errors import RepositoryError, VersionConflictError
from skillopt.gate.comparison import Verdict
from skillopt.rollouts import Usage
from skillopt.safety.escaping import disarm, escape_terminal
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import SKILL_FILE
from skillopt.skills.frontmatter import listed_description
from skillopt.tasks import File
from skillopt.triggers.description import with_description
from skillopt.triggers.quality import TriggerRate
from skillopt.triggers.training import HeldOutTriggers, TrainedDescription
from skillopt.versions.commit_message import Version
from skillopt.versions.repository import NewVersion, Repository

__all__ = [
    "DESCRIPTION_KIND",
    "description_body",
    "description_trailers",
    "list_descriptions",
    "newest_description",
    "publish_description",
    "trigger_branch",
    "with_newest_description",
]

DESCRIPTION_KIND: Final = "description"
"""Value of the trailer `Kind` of such a commit."""

_BRANCHES: Final = "refs/heads/skillopt-trigger/"
_WIDTH: Final = 72
_LONGEST_LINE: Final = 100


def trigger_branch(skill: str) -> str:
    """Name the branch of a skill's descriptions."""
    return f"skillopt-trigger/{skill}"


def description_body(before: str, trained: TrainedDescription, held_out: HeldOutTriggers) -> str:
    """Explain a new description to a reviewer: before, after, what held-out requests showed."""
    shown = [
        "Only `description` in the frontmatter of SKILL.md changes.",
        f"Before:\n\n    {disarm(before)}",
        f"After:\n\n    {disarm(trained.description)}",
        "\n".join(
            (
                "Held-out requests, which the description was not written from:",
                f"- loaded when it should be: {_counted(held_out.recall_before)}, now {_rated(held_out.recall_after)}",
                f"- loaded when it should not: {_counted(held_out.false_before)}, now {_rated(held_out.false_after)}",
            )
        ),
        fill(disarm(escape_terminal(trained.reason)), _WIDTH),
        f"Training requests that go right: {_counted(trained.train_before)}, now {_counted(trained.train_after)}.",
    ]
    return "\n\n".join(shown)


def _counted(rate: TriggerRate) -> str:
    return f"{rate.hits} of {rate.of}"


def _rated(rate: TriggerRate) -> str:
    return f"{_counted(rate)} (95% interval {rate.low:.0%} to {rate.high:.0%})"


def description_trailers(
    skill: str,
    verdict: Verdict,
    held_out: HeldOutTriggers,
    identities: tuple[str, str, str],
    spent: tuple[int, Usage],
) -> tuple[tuple[str, str], ...]:
    """List the trailers of a description.

    Args:
        skill: Name of the skill.
        verdict: Of the gate.
        held_out: What the gate saw.
        identities: Harness, optimizer model and digest of the requests.
        spent: Rollouts and usage of its training.
    """
    harness, model, digest = identities
    rollouts, usage = spent
    return (
        ("Skill", skill),
        ("Kind", DESCRIPTION_KIND),
        ("Grade", verdict.grading.grade.value if verdict.grading else verdict.outcome.value),
        ("Recall-Before", _of(held_out.recall_before)),
        ("Recall-After", _of(held_out.recall_after)),
        ("False-Triggers-Before", _of(held_out.false_before)),
        ("False-Triggers-After", _of(held_out.false_after)),
        ("Wins-Ties-Losses", f"{verdict.wins}/{verdict.ties}/{verdict.losses}"),
        ("Confidence", f"{verdict.confidence:.3f}"),
        ("Rollouts", str(rollouts)),
        ("Cost-USD", "unknown" if usage.usd is None else f"{usage.usd:.2f}"),
        ("Harness", harness),
        ("Optimizer-Model", model),
        ("Requests-Digest", digest),
    )


def _of(rate: TriggerRate) -> str:
    return f"{rate.hits}/{rate.of}"


def newest_description(repository: Repository, skill: str) -> Version | None:
    """Give the newest description of a skill, None where its branch is missing or ends with a commit of a person."""
    tip = repository.ref_tip(f"{_BRANCHES}{skill}")
    found = repository.commit(tip) if tip else None
    ours = found is not None and (found.trailer("Skill"), found.trailer("Kind")) == (skill, DESCRIPTION_KIND)
    return found if ours else None


def list_descriptions(repository: Repository, skill: str) -> tuple[Version, ...]:
    """List the descriptions of a skill that training committed, newest first."""
    found: list[Version] = []
    version = newest_description(repository, skill)
    while version is not None and version.trailer("Kind") == DESCRIPTION_KIND and len(found) < _LONGEST_LINE:
        found.append(version)
        version = repository.commit(version.parent) if version.parent else None
    return tuple(found)


def with_newest_description(repository: Repository, skill: Skill, path: str) -> Skill:
    """Give a skill with the newest description of its branch, unless people have written another one since.

    Args:
        repository: Where its branch is.
        skill: As it lies in the work tree.
        path: Its folder in the repository.
    """
    here, version = listed_description(skill.document), newest_description(repository, skill.name)
    newest = _description_at(repository, version.sha, path) if version else None
    for _ in range(_LONGEST_LINE):
        if version is None or newest is None or not version.parent:
            return skill
        if _description_at(repository, version.parent, path) == here:
            return skill.with_document(with_description(skill.document, newest))
        version = repository.commit(version.parent)
        if version.trailer("Kind") != DESCRIPTION_KIND:
            return skill
    return skill


def _description_at(repository: Repository, commit: str, path: str) -> str:
    files = repository.read_folder(commit, path)
    found = next((file.content for file in files if file.path == SKILL_FILE), b"")
    return listed_description(SkillDocument.parse(found))


def _described(files: tuple[File, ...], description: str) -> tuple[File, ...]:
    """Give the files of a commit with another description in SKILL.md."""
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

    It goes on from the newest description, and merges HEAD where that has moved on since.

    Args:
        repository: Where.
        trained: The skill with the description.
        path: Folder of the skill in the repository.
        message: Body and trailers.
        at: Time of the commit, ISO 8601.

    Raises:
        VersionConflictError: A person has committed on the branch, or it is checked out; it was left alone.
    """
    skill = trained.skill.name
    branch, head = f"{_BRANCHES}{skill}", repository.head() or ""
    tip = repository.ref_tip(branch)
    newest = newest_description(repository, skill)
    if tip is not None and newest is None:
        raise VersionConflictError(
            f"{trigger_branch(skill)} has commits of people ({tip[:10]}); it was left alone. Rename it to keep them: "
            f"git branch -m {trigger_branch(skill)} MY-NAME"
        )
    if place := repository.checked_out_in(branch):
        raise VersionConflictError(
            f"expected branch {trigger_branch(skill)} free to move, found it checked out in {place}; it was left "
            "alone. Switch to another branch there, then run this again"
        )
    behind = tip is not None and head != "" and not repository.contains(tip, head)
    # Neither files that nobody committed nor an older checkout's body are part of it.
    base = head if behind else tip or head
    body, trailers = message
    new = NewVersion(
        skill=skill,
        path=path,
        files=_described(repository.read_folder(base, path), trained.description),
        subject=f"{skill}: a description that loads it when it should",
        body=body,
        trailers=trailers,
        at=at,
        parent=tip or head,
        expected_tip=tip,
        merges=head if behind else "",
    )
    commit = repository.write_commit(new)
    if tip != commit and (problem := repository.move_branch(branch, tip, commit)):
        raise RepositoryError(f"{problem}; mend that and run this again")
    return commit
