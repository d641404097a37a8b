"""Refuse versions, drafts and descriptions, or take that back, for the command `decline`.

A no is a commit on the skill's branch, from which training goes on with the text that it began with.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from skillopt.errors import UsageError
from skillopt.project import Selection, Target
from skillopt.runs.draft_publication import recover_draft
from skillopt.runs.lineage import resolve_version
from skillopt.runs.plan import read_version
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import SKILL_FILE, files_of
from skillopt.storage.locks import writer_lock
from skillopt.tasks import File
from skillopt.triggers.declined import DescriptionPlace, decline_descriptions, undecline_descriptions
from skillopt.triggers.version import trigger_branch
from skillopt.versions.commit_message import DECLINED, Version, commit_kind
from skillopt.versions.decisions import (
    DecisionCommit,
    Decisions,
    PersonsWord,
    offered_edits,
    read_decisions,
    write_declined,
    write_undeclined,
)
from skillopt.versions.draft_branch import DRAFT, DraftBranch
from skillopt.versions.edit_history import EditLine, Inseparable, text_without
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import Repository

__all__ = [
    "Declined",
    "DeclinedDescriptions",
    "Undeclined",
    "decline",
    "decline_description",
    "undecline",
    "undecline_description",
]


@dataclass(frozen=True, slots=True)
class Declined:
    """What a person declined."""

    skill: str
    branch: str
    commit: str
    declined: tuple[str, ...]
    edits: int
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class DeclinedDescriptions:
    """Descriptions that a person declined."""

    skill: str
    branch: str
    commit: str
    declined: tuple[str, ...]
    by: str
    reason: str


@dataclass(frozen=True, slots=True)
class Undeclined:
    """A declined version, or draft, that is the newest version now."""

    skill: str
    branch: str
    version: str
    commit: str


@dataclass(frozen=True, slots=True)
class _Place:
    """A skill in its repository."""

    repository: Repository
    target: Target
    path: str
    tip: str | None
    onto: str

    def text(self, commit: str) -> tuple[File, ...]:
        """Read the files that ship as a commit has them."""
        return files_of(read_version(self.repository, self.target.name, commit, self.path))

    @property
    def merges(self) -> str:
        """The default branch's tip where it has the skill and the branch lacks it, else nothing."""
        files = self.repository.read_folder(self.onto, self.path) if self.onto else ()
        here = any(file.path == SKILL_FILE for file in files)
        return self.onto if here and not (self.tip and self.repository.contains(self.tip, self.onto)) else ""


def decline(
    selection: Selection,
    version: str = "",
    word: PersonsWord | None = None,
    *,
    onto: str = "",
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> Declined:
    """Decline what training offers: the versions that the default branch lacks, or the draft."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    recover_draft(project.root, repository, target.name)
    word = word or PersonsWord.said(repository.user_name)
    with writer_lock(project.root, target.name):
        place = _place(repository, target, onto)
        branch = DraftBranch(repository, target.name, place.path)
        offered = _offered(place, version) if version != DRAFT else ()
        if not offered and version in ("", DRAFT, branch.tip):
            return _decline_draft(place, branch, word, now())
        if not offered:
            raise UsageError(f"{version!r} is no version of {target.name} that is offered; see `skillopt log`")
        files, merges = _before(place, offered)
        where = DecisionCommit(target.name, place.path, place.tip, files, now(), merges=merges)
        edits = offered_edits(offered)
        shas = [one.sha for one in offered]
        commit = write_declined(repository, where, shas, word, edits)
        return Declined(target.name, f"skillopt/{target.name}", commit, tuple(shas), len(edits), word.by, word.reason)


def decline_description(
    selection: Selection,
    word: PersonsWord | None = None,
    *,
    onto: str = "",
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> DeclinedDescriptions:
    """Decline the trained descriptions that the default branch lacks; training tries none of them again."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    word = word or PersonsWord.said(repository.user_name)
    with writer_lock(project.root, target.name):
        where = DescriptionPlace(repository, target.name, repository.relative(target.folder), onto)
        commit, declined = decline_descriptions(where, word, now())
    return DeclinedDescriptions(target.name, trigger_branch(target.name), commit, declined, word.by, word.reason)


def undecline_description(
    selection: Selection,
    word: PersonsWord | None = None,
    *,
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> Undeclined:
    """Make the description that was declined last the newest one again; training goes on from it."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    word = word or PersonsWord.said(repository.user_name)
    with writer_lock(project.root, target.name):
        where = DescriptionPlace(repository, target.name, repository.relative(target.folder))
        commit, wanted = undecline_descriptions(where, word, now())
    return Undeclined(target.name, trigger_branch(target.name), wanted[0], commit)


def undecline(
    selection: Selection,
    version: str = "",
    word: PersonsWord | None = None,
    *,
    as_draft: bool = False,
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> Undeclined:
    """Make a declined version, or draft, the newest version; its edits may be tried again."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    word = word or PersonsWord.said(repository.user_name)
    with writer_lock(project.root, target.name):
        place = _place(repository, target, "")
        wanted = _declined(place, version)
        if repository.ref_tip(wanted) is None:
            found = f"{wanted[:10]} was declined, and its commit is not in this clone"
            raise UsageError(f"{found}; fetch it, or train again: its edits may be tried after `skillopt rollback`")
        decided = read_decisions(repository, target.name, place.tip)
        known = [one for one in repository.versions(target.name, wanted) if one.sha in decided.declined]
        files = place.text(place.tip) if as_draft and place.tip else _as_declined(place, wanted, decided)
        where = DecisionCommit(target.name, place.path, place.tip, files, now())
        edits = [edit for key, edit in offered_edits(reversed(known)) if key not in decided.dropped and not as_draft]
        run = repository.commit(wanted).trailer("Skillopt-Run")
        done = write_undeclined(repository, where, [one.sha for one in known], word, edits, run)
        return Undeclined(target.name, f"skillopt/{target.name}", wanted, done)


def _as_declined(place: _Place, wanted: str, decisions: Decisions) -> tuple[File, ...]:
    """Return the text of what was declined as it stood then: without dropped edits, with the lines of people."""
    named = (one for one in decisions.versions if wanted in one.values(DECLINED))
    decline_commit = next(named, None)
    before = decline_commit.parent if decline_commit else ""
    if decline_commit and decline_commit.values(DECLINED)[-1] == wanted and place.repository.contains(before, wanted):
        return place.text(before)
    skill = read_version(place.repository, place.target.name, wanted, place.path)
    line = EditLine.read(place.repository, place.target.name, place.path, wanted, place.onto)
    gone = {key for step in line.steps for key, _ in step.named if key in decisions.dropped}
    if not gone:
        return files_of(skill)
    text = text_without(line.steps, gone)
    if isinstance(text, Inseparable):
        message = f"the edits of {wanted[:10]} that were dropped cannot be taken out of its text any more"
        raise UsageError(
            f"{message}; bring back the newest version instead: `skillopt decline --undo {place.target.name}`"
        )
    return files_of(skill.with_document(SkillDocument(text)))


def _place(repository: Repository, target: Target, onto: str) -> _Place:
    tip = repository.branch_tip(target.name)
    return _Place(repository, target, repository.relative(target.folder), tip, onto or default_tip(repository))


def _offered(place: _Place, version: str) -> tuple[Version, ...]:
    """List what is offered, oldest first, from a version on."""
    if place.tip is None:
        return ()
    line = EditLine.read(place.repository, place.target.name, place.path, place.tip, place.onto)
    if not version:
        return line.versions
    wanted = place.repository.resolve(version)
    shas = [one.sha for one in line.versions]
    return line.versions[shas.index(wanted) :] if wanted in shas else ()


def _before(place: _Place, offered: Sequence[Version]) -> tuple[tuple[File, ...], str]:
    """Return the text to go back to, and the commit of the default branch that is merged with it."""
    line = EditLine.read(place.repository, place.target.name, place.path, place.tip or "", place.onto)
    if line.versions[0].sha != offered[0].sha or not place.merges:
        before = offered[0].parent
        return (place.text(before) if before else files_of(place.target.skill())), ""
    return place.text(place.merges), place.merges


def _decline_draft(place: _Place, branch: DraftBranch, word: PersonsWord, at: str) -> Declined:
    draft = branch.read()
    if draft is None:
        raise UsageError(f"skill {branch.skill!r} has nothing to decline; see `skillopt log {branch.skill}`")
    base = draft.parent if place.tip is None else ""
    files = place.text(place.tip or draft.parent) if place.tip or draft.parent else files_of(place.target.skill())
    where = DecisionCommit(branch.skill, branch.path, place.tip, files, at, base=base)
    edits = offered_edits([draft])
    commit = write_declined(place.repository, where, [draft.sha], word, edits)
    branch.remove()
    name = f"skillopt/{branch.skill}"
    return Declined(branch.skill, name, commit, (draft.sha,), len(edits), word.by, word.reason)


def _declined(place: _Place, version: str) -> str:
    """Return the commit that a user means among those declined, the last one where none is named."""
    decisions = read_decisions(place.repository, place.target.name, place.tip)
    if not version:
        newest = (one for one in decisions.versions if commit_kind(one) == "declined")
        shas = (sha for one in newest for sha in reversed(one.values("Declined")) if sha in decisions.declined)
        found = next(shas, "")
    else:
        named = resolve_version(place.repository, place.target, version)
        found = named if named in decisions.declined else ""
    if not found:
        what = repr(version) if version else "any version"
        raise UsageError(
            f"expected {what} to be declined, found that it is not; see `skillopt log {place.target.name}`"
        )
    return found
