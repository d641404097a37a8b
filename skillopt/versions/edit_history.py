"""Edits between the default branch and a skill's branch, numbered, and the text without some of them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from skillopt.errors import EditError, UsageError
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.skills.folder import SKILL_FILE
from skillopt.versions.commit_message import Version, commit_kind
from skillopt.versions.decisions import Decisions, edits_of, offered_edits
from skillopt.versions.git_process import run_git
from skillopt.versions.merging import merge_texts
from skillopt.versions.repository import Repository

__all__ = ["EditLine", "NumberedEdit"]

_MAKES_EDITS: Final = ("accepted", "taken", "undeclined", "draft")
_BEGINS_ANEW: Final = ("start", "declined")


@dataclass(frozen=True, slots=True)
class _TextStep:
    """A commit of a line of versions, and what it made of SKILL.md."""

    commit: Version
    before: str
    after: str
    makes_edits: bool


@dataclass(frozen=True, slots=True)
class NumberedEdit:
    """An edit of a line; `replaced` says that its content does not stand in the newest text."""

    number: int
    key: str
    edit: Edit
    version: Version
    dropped: bool
    replaced: bool


@dataclass(frozen=True, slots=True)
class EditLine:
    """The commits of a skill's branch, or of its draft, that the default branch lacks, oldest first."""

    steps: tuple[_TextStep, ...]

    @classmethod
    def read(cls, repository: Repository, skill: str, path: str, tip: str, base: str) -> "EditLine":
        """Read the line to a commit, from where it left the default branch's text, or where training began anew."""
        without = ["--not", base] if base else []
        listed = run_git(repository.root, "rev-list", "--first-parent", "--max-count=1000", tip, *without)
        there = _text_at(repository, path, base) if base else None
        steps: list[_TextStep] = []
        for sha in listed.decode().split():
            commit = repository.commit(sha)
            after = _text_at(repository, path, sha)
            if after == there:
                break
            is_ours = commit.trailer("Skill") == skill
            kind = commit_kind(commit) if is_ours else ""
            if kind in _BEGINS_ANEW:
                break
            before = _text_at(repository, path, commit.parent) if commit.parent else ""
            if not is_ours and before == after:
                continue
            steps.append(_TextStep(commit, before, after, kind in _MAKES_EDITS))
        return cls(tuple(reversed(steps)))

    @property
    def versions(self) -> tuple[Version, ...]:
        """List the versions and drafts among its commits, oldest first."""
        return tuple(step.commit for step in self.steps if step.makes_edits)

    @property
    def edits(self) -> tuple[NumberedEdit, ...]:
        """List its edits, oldest first."""
        dropped = Decisions(tuple(step.commit for step in reversed(self.steps))).dropped
        named = [(key, edit, version) for version in self.versions for key, edit in offered_edits([version])]
        newest = self.steps[-1].after if self.steps else ""
        return tuple(
            NumberedEdit(number, key, edit, version, key in dropped, edit.content.strip("\n") not in newest)
            for number, (key, edit, version) in enumerate(named, 1)
        )

    def text_without(self, wanted: Sequence[NumberedEdit], where: str) -> str:
        """Take edits out of the newest text, the newest first; refuse where a later change built on one."""
        skill, newest = wanted[0].version.trailer("Skill"), self.steps[-1].after
        text = newest
        for one in reversed(wanted):
            at = next(at for at, step in enumerate(self.steps) if step.commit == one.version)
            found = _taken_out(text, self.steps[at], one.edit)
            if found is None:
                later = (step for step in self.steps[at + 1 :] if one.edit.content.strip() not in step.after)
                by = next(later, self.steps[at]).commit.sha[:12]
                also = [str(other.number) for other in self.edits if other.key.startswith(by) and other != one]
                raise UsageError(
                    f"edit {one.number} cannot go alone: commit {by} changed the same lines. "
                    + (f"Drop edit {' or '.join(also)} with it, or change" if also else "Change")
                    + f" the text by hand on {where}, or decline all: skillopt decline {skill}"
                )
            text = found
        if text == newest:
            numbers = " ".join(str(one.number) for one in wanted)
            raise UsageError(
                f"expected an edit that {where} has in its text, found {numbers}: a later edit replaced it; see "
                f"`skillopt log {skill}`"
            )
        return text


def _taken_out(text: str, step: _TextStep, edit: Edit) -> str | None:
    """Take one edit out where its content stands once, else by merging; None where that conflicts."""
    content, put = edit.content.strip("\n"), edit.anchor if edit.op is Op.REPLACE else ""
    if edit.op in (Op.ADD, Op.REPLACE) and f"\n{content}\n" in f"\n{text}\n":
        inverse = Edit(edit.id, Op.REPLACE if put else Op.DELETE, content, "", put)
        with suppress(EditError):
            return apply_edits(SkillDocument(text), [inverse]).document.text
    document = SkillDocument(step.before)
    for one in edits_of(step.commit):
        with suppress(EditError):
            document = apply_edits(document, [one]).document if one != edit else document
    return merge_texts(step.after, text, document.text)


def _text_at(repository: Repository, path: str, commit: str) -> str:
    files = repository.read_folder(commit, path)
    return next((file.content for file in files if file.path == SKILL_FILE), b"").decode("utf-8", "replace")
