"""Edits between the default branch and a skill's branch, numbered, and the text without some of them."""

from collections.abc import Collection, Iterator, Sequence
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

__all__ = ["EditLine", "Inseparable", "NumberedEdit", "TextStep", "closure", "text_without"]

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
    """An edit of a line."""

    number: int
    key: EditName
    edit: Edit
    version: Version
    dropped: bool


@dataclass(frozen=True, slots=True)
class Inseparable:
    """Why a text cannot be had without some edits alone."""

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
        texts = _Texts(repository, skill, path)
        there = texts.at(base) if base else None
        steps: list[TextStep] = []
        for sha in listed.decode().split():
            commit = repository.commit(sha)
            after = texts.at(sha)
            if after == there:
                break
            is_ours = commit.trailer("Skill") == skill
            kind = commit_kind(commit) if is_ours else ""
            if kind in _BEGINS_ANEW:
                break
            before = texts.at(commit.parent) if commit.parent else ""
            if not is_ours and before == after:
                continue
            steps.append(TextStep(commit, before, after, _edits(commit, before, after) if kind in _MAKES_EDITS else ()))
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
        return tuple(
            NumberedEdit(number, name, edit, commit, name in dropped)
            for number, (name, edit, commit) in enumerate(named, 1)
        )


def text_without(steps: Sequence[TextStep], dropped: Collection[EditName]) -> str | Inseparable:
    """Return the text at the end of a line as it would be without some edits, or why that cannot be.

    Every later commit is done again on the text without them: its edits where their anchors are, else its lines.
    """
    text, needs = steps[0].before, list[EditName]()
    for step in steps:
        kept = [(name, edit) for name, edit in step.named if name not in dropped]
        if commit_kind(step.commit) == "dropped":
            continue  # what it left out is left out where it was brought
        if text == step.before and len(kept) == len(step.edits):
            text = step.after
        elif step.edits and _rebuilt(step.before, step.named)[0] == step.after:
            text, unfit = _rebuilt(text, kept)
            needs += unfit
        elif len(kept) < len(step.edits):
            taken = _taken_out(step, dropped)
            merged = None if taken is None else _merged(step.before, text, taken)
            if merged is None:
                return Inseparable(tuple(needs), step.commit.sha)
            text = merged
        else:
            merged = _merged(step.before, text, step.after)
            if merged is None:
                return Inseparable(tuple(needs), step.commit.sha)
            text = merged
    return Inseparable(tuple(needs)) if needs else text


class _Texts:
    """SKILL.md in commits, each read once."""

    def __init__(self, repository: Repository, skill: str, path: str) -> None:
        self._repository, self._skill, self._path = repository, skill, path
        self._known: dict[str, str] = {}

    def at(self, commit: str) -> str:
        """Return the text; empty where there is none."""
        if commit not in self._known:
            files = self._repository.read_folder(commit, self._path)
            content = next((file.content for file in files if file.path == SKILL_FILE), b"")
            self._known[commit] = content.decode("utf-8", "replace")
        return self._known[commit]


def _edits(commit: Version, before: str, after: str) -> tuple[Edit, ...]:
    return edits_of(commit) or edits_between(SkillDocument(before), SkillDocument(after))


def _rebuilt(text: str, edits: Sequence[tuple[EditName, Edit]]) -> tuple[str, list[EditName]]:
    """Apply edits together, else one after the other; give the text, and those that do not fit."""
    document = SkillDocument(text)
    try:
        return apply_edits(document, [edit for _, edit in edits]).document.text, []
    except EditError:
        pass
    unfit = []
    for name, edit in edits:
        try:
            document = apply_edits(document, [edit]).document
        except EditError:
            unfit.append(name)
    return document.text, unfit


def _taken_out(step: TextStep, dropped: Collection[EditName]) -> str | None:
    """Take edits back out of the text that they led to; None where their text does not stand there once."""
    try:
        inverse = [_inverse(edit) for name, edit in step.named if name in dropped]
        return apply_edits(SkillDocument(step.after), inverse).document.text
    except EditError:
        return None


def _inverse(edit: Edit) -> Edit:
    """Return the edit that takes another one back."""
    content = edit.content.strip("\n")
    if edit.op is Op.ADD:
        return Edit(edit.id, Op.DELETE, content)
    if edit.op is Op.REPLACE:
        return Edit(edit.id, Op.REPLACE, content, "", edit.anchor)
    raise EditError(f"edit {edit.id!r}: a {edit.op} cannot be taken back alone")


def _merged(base: str, ours: str, theirs: str) -> str | None:
    sides = (side.encode("utf-8", "replace") for side in (base, ours, theirs))
    merged = merge_texts(*sides)
    return merged.decode("utf-8", "replace") if isinstance(merged, bytes) else None


def closure(steps: Sequence[TextStep], dropped: Collection[EditName]) -> Iterator[EditName]:
    """Yield the edits that must go with some others so that the text can be had without them."""
    gone = set(dropped)
    while isinstance(found := text_without(steps, gone), Inseparable) and (more := set(found.needs) - gone):
        yield from sorted(more)
        gone |= more
