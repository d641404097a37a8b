"""Lineage of a skill's versions: where training began, which is newest, the target that each was trained on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from skillopt.errors import SkillError, UsageError
from skillopt.execution.recording import earlier_looks
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.release_check import Released
from skillopt.project import Target
from skillopt.runs.plan import RunPlan, read_version
from skillopt.safety.leaks import find_leaks, index_protected_text
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.folder import decode_skill, skill_from_files
from skillopt.storage.ledger import Ledger, RunRecord
from skillopt.tasks import Suite
from skillopt.versions.commit_message import ROLLBACK, Version, commit_kind, single_line
from skillopt.versions.decisions import Decisions, PersonsWord, read_decisions
from skillopt.versions.draft_branch import DRAFT, DraftBranch
from skillopt.versions.repository import Repository

__all__ = [
    "TextState",
    "first_text",
    "newest_version",
    "refusals_before",
    "released_of",
    "resolve_version",
    "skill_at",
    "starting_commit",
    "texts_of",
    "trained_on",
    "versions_of",
    "without_leaks",
]


def versions_of(repository: Repository, skill: str) -> tuple[Version, ...]:
    """List the versions of a skill, newest first."""
    versions = repository.versions(skill)
    if not versions:
        message = f"skill {skill!r} has no versions yet; train it with `skillopt optimize {skill}`"
        raise UsageError(message)
    return versions


def starting_commit(versions: Sequence[Version]) -> str:
    """Return the commit with the text that training started from: the parent of the first accepted or taken version.

    Where people declined what was trained, or changed the default branch's text beside it, it is the commit from
    which training then started anew.
    """
    for version in versions:
        kind = commit_kind(version)
        if kind == "undeclined":
            break
        if kind == "declined" or (kind == "start" and version.merged):
            return version.sha
    oldest = next((one for one in reversed(versions) if commit_kind(one) in ("accepted", "taken")), None)
    return versions[-1].sha if oldest is None else oldest.parent or oldest.sha


def newest_version(versions: Sequence[Version]) -> str:
    """Return the newest commit that was accepted, taken or rolled back to and not declined, or of such a decision.

    Where training starts is no such commit.
    """
    served = Decisions(tuple(versions)).newest_served
    return versions[0].sha if served is None else served.sha


def trained_on(versions: Sequence[Version]) -> Mapping[str, str]:
    """Return the identity of the target that each version was trained on, by commit; empty where it is unknown."""
    found: dict[str, str] = {}
    for version in reversed(versions):
        again = found.get(version.trailer(ROLLBACK), "")
        found[version.sha] = single_line(version.trailer("Harness")) or again
    return found


def resolve_version(repository: Repository, target: Target, text: str) -> str:
    """Return the commit that a user means by the name of a version, which may be `draft`."""
    if text != DRAFT:
        return repository.resolve(text)
    tip = DraftBranch(repository, target.name, repository.relative(target.folder)).tip
    if tip is None:
        raise UsageError(
            f"skill {target.name!r} has no draft; list_skills with its name lists what there is, and so does "
            f"`skillopt log {target.name}`"
        )
    return tip


def skill_at(repository: Repository, target: Target, commit: str) -> Skill:
    """Read a skill as a commit has it."""
    path = repository.relative(target.folder)
    files = repository.read_folder(resolve_version(repository, target, commit), path)
    if not files:
        message = f"version {commit!r} has no {path}/SKILL.md; see `skillopt log`"
        raise UsageError(message)
    return skill_from_files(target.name, files)


@dataclass(frozen=True, slots=True)
class TextState:
    """A text that a skill had."""

    commit: str
    version: Version | None
    skill: Skill


def texts_of(repository: Repository, target: Target) -> tuple[TextState, ...]:
    """List the texts that a skill had on its branch, oldest first, those that people committed in between included."""
    states: list[TextState] = []
    path = repository.relative(target.folder)
    for version in reversed(versions_of(repository, target.name)):
        before = _text_at(repository, target.name, version.parent, path) if version.parent else None
        if before is not None and (not states or states[-1].skill.digest != before.digest):
            states.append(TextState(version.parent, None, before))
        text = _text_at(repository, target.name, version.sha, path)
        if text is not None:
            states.append(TextState(version.sha, version, text))
    return tuple(states)


def _text_at(repository: Repository, name: str, commit: str, path: str) -> Skill | None:
    """Read a skill as a commit has it, None where it has none that can be read."""
    try:
        return skill_from_files(name, repository.read_folder(commit, path))
    except SkillError:
        return None


def released_of(plan: RunPlan, ledger: Ledger, record: RunRecord) -> Released:
    """Find the released text that a run is compared with on the held-out test.

    For a run that continues the skill's branch it is the text that the versions there began from; for one that begins
    with another text, such as one that people wrote meanwhile, it is that text.
    """
    name, repository = plan.target.name, plan.repository
    skill = decode_skill(name, record.start)
    versions = repository.versions(name, record.base) if record.base else ()
    if versions:
        newest, first = versions[0].sha, starting_commit(versions)
        on_branch = read_version(repository, name, newest, record.skill_path, missing_ok=True)
        if on_branch.digest == skill.digest:
            skill = read_version(repository, name, first, record.skill_path, missing_ok=True)
    before = first_text(repository, name, versions, record.skill_path)
    return Released(skill, earlier_looks(ledger, record, skill.digest), before)


def first_text(repository: Repository, skill: str, versions: Sequence[Version], path: str) -> SkillDocument | None:
    """Read the text before the first version, so that a leak in pieces of several runs or proposals is seen whole."""
    oldest = next((one for one in reversed(versions) if commit_kind(one) in ("accepted", "taken")), None)
    if oldest is None:
        return None
    if not oldest.parent:
        return SkillDocument("")
    return read_version(repository, skill, oldest.parent, path, missing_ok=True).document


_MOST: Final = 200
"""Refused edits that a proposer is told of, the newest."""


def refusals_before(repository: Repository, skill: str, base: str, suite: Suite) -> tuple[PeoplesRefusal, ...]:
    """List the edits that people had refused by a commit, oldest first; every front end that proposes reads them here.

    A reason that gives away something of the suite is left out: it would reach whoever proposes.
    """
    found = read_decisions(repository, skill, base).refused_edits[-_MOST:] if base else ()
    words = without_leaks([one.word for one in found], suite)
    return tuple(PeoplesRefusal(one.edit, word.reason, word.by) for one, word in zip(found, words, strict=True))


def without_leaks(words: Sequence[PersonsWord], suite: Suite) -> tuple[PersonsWord, ...]:
    """Leave out each reason that gives away something of a suite."""
    if not words:
        return ()
    protected = index_protected_text(suite)
    reasons = {word.reason for word in words}
    leaking = {reason for reason in reasons if find_leaks(protected, reason, "")}
    return tuple(replace(word, reason="") if word.reason in leaking else word for word in words)
