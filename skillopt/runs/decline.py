"""Refuse versions, the draft or single edits as a person asks for it, by a commit on the branch; or take that back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import dropwhile
from typing import Final

from skillopt.errors import UsageError, VersionConflictError
from skillopt.project import Selection, Target
from skillopt.runs.history import Restored, resolve_version
from skillopt.runs.plan import read_version
from skillopt.runs.run import open_draft
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit
from skillopt.storage.locks import writer_lock
from skillopt.tasks import File
from skillopt.versions.branches import DRAFT, DraftBranch
from skillopt.versions.commit_message import DECLINED, DROPPED_BY, Version, commit_kind
from skillopt.versions.decisions import (
    EditLine,
    NumberedEdit,
    PersonsWord,
    dropped_message,
    edit_trailers,
    offered_edits,
    read_decisions,
    write_declined,
    write_dropped,
    write_undeclined,
)
from skillopt.versions.merging import default_tip
from skillopt.versions.refusals import refuse, want_again
from skillopt.versions.repository import NewVersion, Repository

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
class _Dropped:
    """Edits that a person refused, and the commits of the text with them and without."""

    skill: str
    branch: str
    edits: tuple[NumberedEdit, ...]
    before: str
    commit: str


@dataclass(frozen=True, slots=True)
class _Place:
    repository: Repository
    target: Target
    name: str
    branch: DraftBranch
    tip: str | None
    onto: str
    word: PersonsWord
    at: str

    def text(self, commit: str) -> tuple[File, ...]:
        """Read the files that ship as a commit has them; of no commit, those of the work tree."""
        if not commit:
            return self.target.skill().shipped
        return read_version(self.repository, self.name, commit, self.branch.path).shipped

    def refuse(self, edits: Sequence[tuple[str, Edit]], *, dropped: bool = False) -> None:
        """Note first what is refused: no later step can lose it."""
        refuse(self.repository, (self.name, self.branch.path), edits, self.word, dropped=dropped)

    def line(self, tip: str, base: str) -> EditLine:
        return EditLine.read(self.repository, self.name, self.branch.path, tip, base)

    def commit(self, files: tuple[File, ...], base: str = "", merges: str = "") -> NewVersion:
        parent = self.tip or base
        return NewVersion(self.name, self.branch.path, files, self.at, parent, expected_tip=self.tip, merges=merges)


@contextmanager
def _place(selection: Selection, word: PersonsWord | None, onto: str = "") -> Iterator[_Place]:
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    branch = open_draft(project.root, repository, target)
    with writer_lock(project.root, target.name):
        yield _Place(
            repository=repository,
            target=target,
            name=target.name,
            branch=branch,
            tip=repository.branch_tip(target.name),
            onto=onto or default_tip(repository),
            word=word or PersonsWord.said(repository.user_name),
            at=datetime.now(UTC).isoformat(timespec="seconds"),
        )


def decline(selection: Selection, version: str = "", word: PersonsWord | None = None, *, onto: str = "") -> Declined:
    """Decline what training offers: the versions that the default branch lacks, or the draft."""
    with _place(selection, word, onto) as place:
        line = place.line(place.tip, place.onto).versions if place.tip and version != DRAFT else ()
        first = place.repository.resolve(version) if line and version else ""
        offered = tuple(dropwhile(lambda one: one.sha != first, line)) if first else line
        draft = None if offered else place.branch.read()
        if offered:
            files, merges = _before(place, offered, whole=offered == line)
            new = place.commit(files, merges=merges)
        elif version not in ("", DRAFT, draft.sha if draft else DRAFT):
            raise UsageError(f"{version!r} is no version of {place.name} that is offered; see `skillopt log`")
        elif draft is None:
            raise UsageError(f"skill {place.name!r} has nothing to decline; see `skillopt log {place.name}`")
        else:
            offered, new = (draft,), place.commit(place.text(place.tip or draft.parent), base=draft.parent)
        shas, edits, said = tuple(one.sha for one in offered), offered_edits(offered), place.word
        place.refuse(edits)
        commit = write_declined(place.repository, new, shas, said)
        if draft is not None:
            place.branch.remove()
    return Declined(
        skill=place.name,
        branch=f"skillopt/{place.name}",
        commit=commit,
        declined=shas,
        edits=len(edits),
        by=said.by,
        reason=said.reason,
    )


def _before(place: _Place, offered: Sequence[Version], *, whole: bool) -> tuple[tuple[File, ...], str]:
    """Return the text to go back to, and the commit of the default branch that is merged with it, if it moved on."""
    onto, repository = place.onto, place.repository
    if whole and onto and not repository.contains(place.tip or "", onto):
        there = read_version(repository, place.name, onto, place.branch.path, missing_ok=True)
        if there.text:
            return there.shipped, onto
    return place.text(offered[0].parent), ""


def undecline(
    selection: Selection, version: str = "", word: PersonsWord | None = None, *, as_draft: bool = False
) -> Restored:
    """Make a declined version, or draft, the newest version; its edits may be tried again."""
    with _place(selection, word) as place:
        repository = place.repository
        decisions = read_decisions(repository, place.name, place.tip)
        if version:
            wanted = resolve_version(place.branch, version)
        else:
            newest = (one for one in decisions.versions if commit_kind(one) == "declined")
            shas_declined = (sha for one in newest for sha in reversed(one.values(DECLINED)))
            wanted = next((sha for sha in shas_declined if sha in decisions.declined), "")
        if wanted not in decisions.declined:
            what = repr(version) if version else "any version"
            raise UsageError(f"expected {what} to be declined, found that it is not; see `skillopt log {place.name}`")
        if repository.ref_tip(wanted) is None:
            found = f"{wanted[:10]} was declined, and its commit is not in this clone"
            raise UsageError(f"{found}; fetch it, or train again: its edits may be tried after `skillopt rollback`")
        known = [one for one in repository.versions(place.name, wanted) if one.sha in decisions.declined]
        by = next((one for one in decisions.versions if one.values(DECLINED)[-1:] == (wanted,)), None)
        # Just before it was declined the text also lacked what people had dropped, and had the lines that they wrote.
        whole = by is not None and repository.contains(by.parent, wanted)
        files = place.text((place.tip or "") if as_draft else by.parent if by and whole else wanted)
        edits = [edit for key, edit in offered_edits(reversed(known)) if key not in decisions.dropped and not as_draft]
        run = repository.commit(wanted).trailer("Skillopt-Run")
        shas = [one.sha for one in known]
        want_again(repository, place.name, shas)
        commit = write_undeclined(repository, place.commit(files), versions=shas, word=place.word, edits=edits, run=run)
    return Restored(place.name, f"skillopt/{place.name}", wanted, commit)


def drop_offered(
    selection: Selection, edits: Sequence[str], word: PersonsWord | None = None, *, onto: str = ""
) -> _Dropped:
    """Take edits out of what training offers, and remember that people refused them; nothing is measured."""
    with _place(selection, word, onto) as place:
        line, tip, draft = _find_line(place, edits)
        wanted = _chosen(place, line, edits)
        where = place.branch.name if draft else f"skillopt/{place.name}"
        skill = read_version(place.repository, place.name, tip, place.branch.path)
        files = skill.with_document(SkillDocument(line.text_without(wanted, where))).shipped
        refused = [(one.key, one.edit) for one in wanted]
        place.refuse(refused, dropped=True)
        if draft is not None:
            commit = _draft_without(place, draft, files, wanted, [one.edit for one in line.edits if one not in wanted])
            newest = place.tip or draft.parent
            write_dropped(place.repository, place.commit(place.text(newest), base=newest), refused, place.word)
        else:
            commit = write_dropped(place.repository, place.commit(files), refused, place.word)
    return _Dropped(place.name, where, tuple(wanted), tip, commit)


def _find_line(place: _Place, edits: Sequence[str]) -> tuple[EditLine, str, Version | None]:
    branch, draft = place.branch, place.branch.read()
    if place.tip is not None:
        line = place.line(place.tip, place.onto)
        of_draft = draft is not None and all(text.startswith(draft.sha[:12]) for text in edits)
        if line.edits and not of_draft:
            return line, place.tip, None
    if draft is None:
        raise UsageError(f"skill {place.name!r} has no edits to drop; see `skillopt log {place.name}`")
    if not branch.is_ours(draft.sha):
        raise VersionConflictError(f"{branch.name} has commits of people ({draft.sha[:10]}); it was left alone")
    return place.line(draft.sha, draft.parent), draft.sha, draft


def _chosen(place: _Place, line: EditLine, edits: Sequence[str]) -> list[NumberedEdit]:
    wanted = {text.strip() for text in edits}
    chosen = [one for one in line.edits if wanted & {str(one.number), one.key}]
    known = {name for one in chosen for name in (str(one.number), one.key)}
    if not wanted or wanted - known:
        found = f"found {min(wanted - known)!r}" if wanted else "found none"
        message = f"expected the number of an edit, 1 to {len(line.edits)}, or its key, {found}"
        raise UsageError(f"{message}; see `skillopt log {place.name}`")
    if before := [one.number for one in chosen if one.dropped]:
        raise UsageError(f"edit {before[0]} was dropped before; see `skillopt log {place.name}`")
    return chosen


def _draft_without(
    place: _Place, draft: Version, files: tuple[File, ...], wanted: Sequence[NumberedEdit], kept: Sequence[Edit]
) -> str:
    if not kept:
        place.branch.remove()
        return draft.parent
    subject, body = dropped_message([one.edit for one in wanted], place.word)
    origin = tuple((key, value) for key, value in draft.trailers if key in _OF_A_DRAFT)
    new = NewVersion(
        skill=place.name,
        path=place.branch.path,
        files=files,
        at=place.at,
        parent=draft.parent,
        subject=f"{place.name}: draft, {subject}",
        body=body,
        trailers=(*origin, ("Grade", "cannot tell"), (DROPPED_BY, place.word.by or "people"), *edit_trailers(kept)),
    )
    return place.branch.publish(new)
