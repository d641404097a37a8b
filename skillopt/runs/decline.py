"""Refuse versions, the draft or single edits as a person asks for it, or take that back.

A no is a commit on the skill's branch, from which training goes on with the text that it began with.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from skillopt.errors import UsageError, VersionConflictError
from skillopt.project import Selection, Target
from skillopt.runs.draft_publication import recover_draft
from skillopt.runs.lineage import resolve_version
from skillopt.runs.plan import read_version
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import SKILL_FILE, files_of
from skillopt.storage.locks import writer_lock
from skillopt.tasks import File
from skillopt.versions.commit_message import DECLINED, DROPPED_BY, Version, commit_kind
from skillopt.versions.decisions import (
    DecisionCommit,
    Decisions,
    EditName,
    PersonsWord,
    dropped_message,
    edit_trailers,
    offered_edits,
    read_decisions,
    write_declined,
    write_dropped,
    write_undeclined,
)
from skillopt.versions.draft_branch import DRAFT, DraftBranch
from skillopt.versions.edit_history import EditLine, Inseparable, NumberedEdit, closure, text_without
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import NewVersion, Repository

__all__ = ["Declined", "Dropped", "Undeclined", "decline", "drop_offered", "undecline"]

_OF_A_DRAFT: Final = ("Skill", "Skillopt-Run", "Gate-Metric", "Harness", "Optimizer-Model", "Suite-Digest")


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
            return _decline_draft(place, branch, word, _now())
        if not offered:
            raise UsageError(f"{version!r} is no version of {target.name} that is offered; see `skillopt log`")
        files, merges = _before(place, offered)
        where = DecisionCommit(target.name, place.path, place.tip, files, _now(), merges=merges)
        edits = offered_edits(offered)
        shas = [one.sha for one in offered]
        commit = write_declined(repository, where, shas, word, edits)
        return Declined(target.name, f"skillopt/{target.name}", commit, tuple(shas), len(edits), word.by, word.reason)


def undecline(
    selection: Selection,
    version: str = "",
    word: PersonsWord | None = None,
    *,
    as_draft: bool = False,
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
        where = DecisionCommit(target.name, place.path, place.tip, files, _now())
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


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


@dataclass(frozen=True, slots=True)
class _Line:
    """The line that edits are dropped from: the skill's versions, or its draft."""

    repository: Repository
    target: Target
    branch: DraftBranch
    line: EditLine
    tip: str
    is_draft: bool

    def without(self, wanted: Sequence[NumberedEdit]) -> tuple[File, ...]:
        """Return the files without some edits, and without those dropped before."""
        gone = {one.key for one in wanted} | {one.key for one in self.line.edits if one.dropped}
        found = text_without(self.line.steps, gone)
        if isinstance(found, Inseparable):
            raise UsageError(self._inseparable(wanted, gone, found))
        if found == self.line.steps[-1].after:
            raise UsageError(
                f"expected an edit that {self.where} has in its text, found {_numbers(wanted)}: a later edit "
                f"replaced it; see `skillopt log {self.target.name}`"
            )
        skill = read_version(self.repository, self.target.name, self.tip, self.branch.path)
        return files_of(skill.with_document(SkillDocument(found)))

    def _inseparable(self, wanted: Sequence[NumberedEdit], gone: set[EditName], why: Inseparable) -> str:
        numbers = _numbers(wanted)
        name = self.target.name
        if not why.needs:
            return (
                f"commit {why.commit[:10]} changed the same lines as edit {numbers}, so git cannot tell what is left; "
                f"change the text by hand on {self.where}, or decline all: skillopt decline {name}"
            )
        more = set(closure(self.line.steps, gone))
        also = [str(one.number) for one in self.line.edits if one.key in more]
        them = " ".join(sorted({*numbers.split(), *also}, key=int))
        return (
            f"edit {numbers} cannot go alone: edit {', '.join(also)} changes what it brought. Drop them together: "
            f"skillopt decline {name} {them}"
        )

    @property
    def where(self) -> str:
        """The branch of the line."""
        return self.branch.name if self.is_draft else f"skillopt/{self.target.name}"


@dataclass(frozen=True, slots=True)
class Dropped:
    """Edits that a person refused, the commits of the text with them and without, and of what it is offered to."""

    skill: str
    branch: str
    path: str
    edits: tuple[NumberedEdit, ...]
    before: str
    commit: str
    base: str


def drop_offered(
    selection: Selection, edits: Sequence[str], word: PersonsWord | None = None, *, onto: str = ""
) -> Dropped:
    """Take edits out of what training offers, and remember that people refused them; nothing is measured."""
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    recover_draft(project.root, repository, target.name)
    word = word or PersonsWord.said(repository.user_name)
    with writer_lock(project.root, target.name):
        base = onto or default_tip(repository)
        found = _find_line(repository, target, base, edits)
        wanted = _chosen(found, edits)
        files, at = found.without(wanted), _now()
        refused = [(one.key, one.edit) for one in wanted]
        tip, path = repository.branch_tip(target.name), found.branch.path
        if found.is_draft:
            commit = _draft_without(found, files, wanted, word, at)
            newest = tip or repository.commit(found.tip).parent
            kept = files_of(read_version(repository, target.name, newest, path))
            write_dropped(repository, DecisionCommit(target.name, path, tip, kept, at, base=newest), refused, word)
        else:
            commit = write_dropped(repository, DecisionCommit(target.name, path, tip, files, at), refused, word)
    return Dropped(target.name, found.where, path, tuple(wanted), found.tip, commit, base)


def _numbers(edits: Sequence[NumberedEdit]) -> str:
    return " ".join(str(one.number) for one in edits)


def _find_line(repository: Repository, target: Target, base: str, edits: Sequence[str]) -> _Line:
    """Find the line that the edits are of: the versions, or the draft where those have none of them."""
    path = repository.relative(target.folder)
    branch = DraftBranch(repository, target.name, path)
    tip, draft = repository.branch_tip(target.name), branch.read()
    if tip is not None:
        line = EditLine.read(repository, target.name, path, tip, base)
        of_draft = draft is not None and all(text.startswith(draft.sha[:12]) for text in edits)
        if line.edits and not of_draft:
            return _Line(repository, target, branch, line, tip, is_draft=False)
    if draft is None:
        raise UsageError(f"skill {target.name!r} has no edits to drop; see `skillopt log {target.name}`")
    if not branch.is_ours(draft.sha):
        raise VersionConflictError(f"{branch.name} has commits of people ({draft.sha[:10]}); it was left alone")
    line = EditLine.read(repository, target.name, path, draft.sha, draft.parent)
    return _Line(repository, target, branch, line, draft.sha, is_draft=True)


def _chosen(found: _Line, edits: Sequence[str]) -> list[NumberedEdit]:
    """Find the edits that a user means."""
    known = {str(one.number): one for one in found.line.edits} | {str(one.key): one for one in found.line.edits}
    chosen: dict[EditName, NumberedEdit] = {}
    for text in edits:
        one = known.get(text.strip())
        if one is None:
            most = len(found.line.edits)
            message = f"expected the number of an edit, 1 to {most}, or its key, found {text!r}"
            raise UsageError(f"{message}; see `skillopt log {found.target.name}`")
        if one.dropped:
            raise UsageError(f"edit {one.number} was dropped before; see `skillopt log {found.target.name}`")
        chosen[one.key] = one
    if not chosen:
        raise UsageError("expected the number of an edit, found none")
    return sorted(chosen.values(), key=lambda one: one.number)


def _draft_without(
    found: _Line, files: tuple[File, ...], wanted: Sequence[NumberedEdit], word: PersonsWord, at: str
) -> str:
    """Write the draft anew without some edits, ungraded; a draft without any edit is removed."""
    draft = found.repository.commit(found.tip)
    gone = {one.key for one in wanted}
    kept = [one.edit for one in found.line.edits if one.key not in gone]
    if not kept:
        found.branch.remove()
        return draft.parent
    (subject, body), _ = dropped_message([(one.key, one.edit) for one in wanted], word)
    new = NewVersion(
        skill=found.branch.skill,
        path=found.branch.path,
        files=files,
        subject=f"{found.branch.skill}: draft, {subject}",
        body=body,
        trailers=(*_origin(draft), ("Grade", "unproven"), (DROPPED_BY, word.by or "people"), *edit_trailers(kept)),
        at=at,
        parent=draft.parent,
        expected_tip=None,
    )
    return found.branch.publish(new)


def _origin(draft: Version) -> tuple[tuple[str, str], ...]:
    return tuple((key, value) for key, value in draft.trailers if key in _OF_A_DRAFT)
