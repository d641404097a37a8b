"""Refuse single edits of what training offers, for the command `decline`; the text without them is the newest.

It is done whatever the gate says of it; the gate is asked afterwards, of what the edits were worth.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from skillopt.actions.gate import GateOptions, gate
from skillopt.errors import SkilloptError, UsageError, VersionConflictError
from skillopt.execution.runner import RunObserver
from skillopt.project import Selection, Target
from skillopt.runs.draft_publication import recover_draft
from skillopt.runs.plan import read_version
from skillopt.skills.document import SkillDocument
from skillopt.skills.folder import files_of
from skillopt.storage.locks import writer_lock
from skillopt.tasks import File
from skillopt.versions.commit_message import DROPPED_BY, Version
from skillopt.versions.decisions import (
    DecisionCommit,
    EditName,
    PersonsWord,
    dropped_message,
    edit_trailers,
    write_dropped,
)
from skillopt.versions.draft_branch import FILES_DIGEST, DraftBranch
from skillopt.versions.edit_history import EditLine, Inseparable, NumberedEdit, closure, text_without
from skillopt.versions.merging import default_tip
from skillopt.versions.repository import NewVersion, Repository

__all__ = ["Compared", "DropOptions", "Dropped", "drop"]

_OF_A_DRAFT: Final = ("Skill", "Skillopt-Run", "Gate-Metric", "Harness", "Optimizer-Model", "Suite-Digest")


@dataclass(frozen=True, slots=True)
class DropOptions:
    """How edits are dropped."""

    word: PersonsWord | None = None
    measure: bool = True
    onto: str = ""


@dataclass(frozen=True, slots=True)
class Compared:
    """What the change gate says of the text without the edits."""

    against: str
    answer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Dropped:
    """Edits that were dropped."""

    skill: str
    branch: str
    commit: str
    edits: tuple[NumberedEdit, ...]
    compared: tuple[Compared, ...]
    unmeasured: str


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
                f"expected an edit that {self._where} has in its text, found {_numbers(wanted)}: a later edit "
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
                f"change the text by hand on {self._where}, or decline all: skillopt decline {name}"
            )
        more = set(closure(self.line.steps, gone))
        also = [str(one.number) for one in self.line.edits if one.key in more]
        them = " ".join(sorted({*numbers.split(), *also}, key=int))
        return (
            f"edit {numbers} cannot go alone: edit {', '.join(also)} changes what it brought. Drop them together: "
            f"skillopt decline {name} {them}"
        )

    @property
    def _where(self) -> str:
        return self.branch.name if self.is_draft else f"skillopt/{self.target.name}"


def drop(
    selection: Selection,
    edits: Sequence[str],
    options: DropOptions | None = None,
    observer: RunObserver | None = None,
    *,
    now: Callable[[], str] = lambda: datetime.now(UTC).isoformat(timespec="seconds"),
) -> Dropped:
    """Take edits out of what training offers, and remember that people refused them."""
    options = options or DropOptions()
    project = selection.project()
    target, repository = project.target(selection), project.repository()
    recover_draft(project.root, repository, target.name)
    word = options.word or PersonsWord.said(repository.user_name)
    with writer_lock(project.root, target.name):
        base = options.onto or default_tip(repository)
        found = _find_line(repository, target, base, edits)
        wanted = _chosen(found, edits)
        files, at = found.without(wanted), now()
        refused = [(one.key, one.edit) for one in wanted]
        tip = repository.branch_tip(target.name)
        if found.is_draft:
            commit = _draft_without(found, files, wanted, word, at)
            newest = tip or repository.commit(found.tip).parent
            kept = files_of(read_version(repository, target.name, newest, found.branch.path))
            where = DecisionCommit(target.name, found.branch.path, tip, kept, at, base=newest)
            write_dropped(repository, where, refused, word)
        else:
            where = DecisionCommit(target.name, found.branch.path, tip, files, at)
            commit = write_dropped(repository, where, refused, word)
    compared, unmeasured = tuple[Compared, ...](), "it was not asked for"
    if options.measure:
        compared, unmeasured = _measure(selection, found, (base, commit), observer)
    branch = found.branch.name if found.is_draft else f"skillopt/{target.name}"
    return Dropped(target.name, branch, commit, tuple(wanted), compared, unmeasured)


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
    return tuple((key, value) for key, value in draft.trailers if key in _OF_A_DRAFT and key != FILES_DIGEST)


def _measure(
    selection: Selection, found: _Line, commits: tuple[str, str], observer: RunObserver | None
) -> tuple[tuple[Compared, ...], str]:
    """Ask the change gate about the text without the edits; what keeps it from an answer is a remark, not a failure."""
    base, commit = commits
    project = selection.project()
    options = GateOptions(flags=selection.flags, suite=selection.suite, folder=project.root, direct=True)
    pairs = [("the text with it", found.tip, options)]
    if base:
        pairs.append(("the base", base, replace(options, direct=False)))
    rows: list[Compared] = []
    try:
        for against, before, asked in pairs:
            report = gate(before, commit, asked, observer)
            changes = (row for row in report.changes if row.path == found.branch.path)
            rows += [Compared(against, row.standing.value, row.reason) for row in changes]
    except SkilloptError as error:
        return tuple(rows), str(error)
    return tuple(rows), "" if rows else "the text is that of the base"
