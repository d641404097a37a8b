"""Edits between the default branch and a skill's branch, numbered, and the text without some of them."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from skillopt.errors import EditError
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.skills.folder import SKILL_FILE
from skillopt.versions.commit_message import Version, commit_kind
from skillopt.versions.decisions import Decisions, EditName, edits_between, edits_of
from skillopt.versions.git_process import run_git
from skillopt.versions.merging import merge_texts
from skillopt.versions.repository import Repository

__all__ = ["EditLine", "Inseparable", "NumberedEdit", "TextStep", "text_without"]

_MAKES_EDITS: Final = ("accepted", "taken", "undeclined", "draft")
_BEGINS_ANEW: Final = ("start", "declined")


@dataclass(frozen=True, slots=True)
class TextStep:
    """A commit of a line of versions, and what it made of SKILL.md."""

    commit: Version
    before: str
    after: str
    edits: tuple[Edit, ...]

    @property
    def named(self) -> tuple[tuple[EditName, Edit], ...]:
        """Its edits with their names."""
        return tuple((EditName(self.commit.sha[:12], index), edit) for index, edit in enumerate(self.edits, 1))


@dataclass(frozen=True, slots=True)
class NumberedEdit:
    """An edit of a line; `replaced` says that its content does not stand in the newest text."""

    number: int
    key: EditName
    edit: Edit
    version: Version
    dropped: bool
    replaced: bool


@dataclass(frozen=True, slots=True)
class Inseparable:
    """Edits that build on those to be taken out, or else the commit that changed their lines."""

    needs: tuple[EditName, ...] = ()
    commit: str = ""


@dataclass(frozen=True, slots=True)
class EditLine:
    """The commits of a skill's branch, or of its draft, that the default branch lacks, oldest first."""

    steps: tuple[TextStep, ...]

    @classmethod
    def read(cls, repository: Repository, skill: str, path: str, tip: str, base: str) -> "EditLine":
        """Read the line to a commit.

        It begins after the newest commit with the default branch's text, or with which training began anew; what was
        merged or squashed there is no part of it.
        """
        without = ["--not", base] if base else []
        listed = run_git(repository.root, "rev-list", "--first-parent", "--max-count=1000", tip, *without)
        there = _text_at(repository, path, base) if base else None
        steps: list[TextStep] = []
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
            edits = edits_of(commit) or edits_between(SkillDocument(before), SkillDocument(after))
            steps.append(TextStep(commit, before, after, edits if kind in _MAKES_EDITS else ()))
        return cls(tuple(reversed(steps)))

    @property
    def versions(self) -> tuple[Version, ...]:
        """List the versions and drafts among its commits, oldest first."""
        return tuple(step.commit for step in self.steps if commit_kind(step.commit) in _MAKES_EDITS)

    @property
    def edits(self) -> tuple[NumberedEdit, ...]:
        """List its edits, oldest first."""
        dropped = Decisions(tuple(step.commit for step in reversed(self.steps))).dropped
        named = [(name, edit, step.commit) for step in self.steps for name, edit in step.named]
        newest = self.steps[-1].after if self.steps else ""
        return tuple(
            NumberedEdit(number, name, edit, commit, name in dropped, edit.content.strip("\n") not in newest)
            for number, (name, edit, commit) in enumerate(named, 1)
        )


def text_without(steps: Sequence[TextStep], wanted: Collection[EditName]) -> str | Inseparable:
    """Take edits out of the newest text of a line, the newest first, or say why that cannot be done."""
    if needs := _built_on(steps, wanted):
        return Inseparable(needs)
    text = steps[-1].after
    for at, step in reversed(tuple(enumerate(steps))):
        for name, edit in reversed(step.named):
            found = _taken_out(text, step, edit) if name in wanted else text
            if found is None:
                gone = (later.commit.sha for later in steps[at + 1 :] if edit.content.strip() not in later.after)
                return Inseparable(commit=next(gone, step.commit.sha))
            text = found
    return text


def _built_on(steps: Sequence[TextStep], wanted: Collection[EditName]) -> tuple[EditName, ...]:
    """List the later edits that replace or delete what the wanted ones, or one of these, brought."""
    gone, needs = list[Edit](), list[EditName]()
    for name, edit in (row for step in steps for row in step.named):
        takes = edit.op in (Op.REPLACE, Op.DELETE) and any(edit.anchor.strip() in one.content for one in gone)
        if name in wanted or takes:
            gone.append(edit)
            needs += [] if name in wanted else [name]
    return tuple(needs)


def _taken_out(text: str, step: TextStep, edit: Edit) -> str | None:
    """Take one edit out where its content stands once, else by merging; None where that conflicts."""
    content, put = edit.content.strip("\n"), edit.anchor if edit.op is Op.REPLACE else ""
    if edit.op in (Op.ADD, Op.REPLACE) and f"\n{content}\n" in f"\n{text}\n":
        inverse = Edit(edit.id, Op.REPLACE if put else Op.DELETE, content, "", put)
        with suppress(EditError):
            return apply_edits(SkillDocument(text), [inverse]).document.text
    document = SkillDocument(step.before)
    for one in step.edits:
        with suppress(EditError):
            document = apply_edits(document, [one]).document if one != edit else document
    return merge_texts(step.after, text, document.text)


def _text_at(repository: Repository, path: str, commit: str) -> str:
    """Read SKILL.md as a commit has it; empty where there is none."""
    files = repository.read_folder(commit, path)
    return next((file.content for file in files if file.path == SKILL_FILE), b"").decode("utf-8", "replace")
