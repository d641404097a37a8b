"""What people decided about the versions of a skill, in commits on its branch, so that any clone knows it."""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Final

from pydantic import TypeAdapter, ValidationError

from skillopt.errors import EditError, UsageError
from skillopt.safety.credentials import mask
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits
from skillopt.skills.trained_files import SkillPlace, join_files
from skillopt.versions.commit_message import (
    DECLINED,
    DROPPED,
    ROLLBACK,
    UNDECLINED,
    Version,
    commit_kind,
    disarm,
    single_line,
)
from skillopt.versions.merging import merge_texts
from skillopt.versions.repository import NewVersion, Repository

_LONGEST_REASON: Final = 300  # characters: a line of a prompt, and `decline --help` promises it

PULL_REQUEST: Final = "Pull-Request"
"""Trailer with the address of the pull request in which people decided."""

_NEEDED: Final = "Needed-Text"
_RUN: Final = "Skillopt-Run"


@dataclass(frozen=True, slots=True)
class PersonsWord:
    """What a person said."""

    by: str
    reason: str = ""
    pull_request: str = ""

    @classmethod
    def said(cls, by: str, reason: str = "", pull_request: str = "") -> "PersonsWord":
        """Make it of untrusted text: on one line, short, without credentials, mentions and hidden characters."""
        why = disarm(single_line(mask(reason)))
        short = why if len(why) <= _LONGEST_REASON else f"{why[: _LONGEST_REASON - 1].rstrip()}…"
        return cls(disarm(single_line(mask(by)))[:200].rstrip(), short, single_line(mask(pull_request))[:200].rstrip())

    @property
    def signature(self) -> str:
        """Who said it and why, to stand behind a verb as in `declined by Ada: too long`; empty where unknown."""
        return (f" by {self.by}" if self.by else "") + (f": {self.reason}" if self.reason else "")

    def trailers(self, what: str) -> tuple[tuple[str, str], ...]:
        """Write it as trailers of the commit of a decision, whose names begin with what was decided."""
        rows = ((f"{what}-By", self.by), (f"{what}-Reason", self.reason), (PULL_REQUEST, self.pull_request))
        return tuple((key, value) for key, value in rows if value)


@dataclass(frozen=True)
class Decisions:
    """Decisions of people about a skill, read from its branch."""

    versions: tuple[Version, ...]

    @cached_property
    def declined(self) -> frozenset[str]:
        """The commits of versions and drafts that stay declined."""
        found: set[str] = set()
        for version in reversed(self.versions):
            found.update(version.values(DECLINED))
            # A person asks for it by name: by taking the refusal back, or by going back to it.
            found.difference_update((*version.values(UNDECLINED), *version.values(ROLLBACK)))
        return frozenset(found)

    @cached_property
    def declined_by(self) -> dict[str, PersonsWord]:
        """Who declined each commit that stays declined, and why."""
        words: dict[str, PersonsWord] = {}
        for version in reversed(self.versions):
            # What people changed by hand is made safe again.
            word = PersonsWord.said(*map(version.trailer, (f"{DECLINED}-By", f"{DECLINED}-Reason", PULL_REQUEST)))
            words |= dict.fromkeys((sha for sha in version.values(DECLINED) if sha in self.declined), word)
        return words

    @cached_property
    def dropped(self) -> frozenset[str]:
        """The keys of the edits that people dropped."""
        return frozenset(key for version in self.versions for key in version.values(DROPPED))


def read_decisions(repository: Repository, skill: str, tip: str | None = None) -> Decisions:
    """Read what people decided about a skill; nothing where it has no branch."""
    return Decisions(repository.versions(skill, tip))


def write_declined(repository: Repository, new: NewVersion, offered: Sequence[str], word: PersonsWord) -> str:
    """Commit that people refused versions or a draft; the text is again the one that training starts from."""
    names = ", ".join(sha[:10] for sha in offered)
    body = f"{names} was declined{word.signature}. The skill is again the text that training starts from."
    trailers = (*((DECLINED, sha) for sha in offered), *word.trailers(DECLINED))
    return _commit(repository, new, (f"decline {names}", body), trailers)


def write_undeclined(
    repository: Repository,
    new: NewVersion,
    versions: Sequence[str],
    word: PersonsWord,
    edits: Sequence[Edit],
    run: str = "",
) -> str:
    """Commit that people want a version after all that was declined: its text is the newest again."""
    body = f"{versions[0]} was declined, and is wanted after all{word.signature}."
    named = edit_trailers([replace(edit, id=str(number)) for number, edit in enumerate(edits, 1)])
    made_by = ((_RUN, run),) if run else ()
    trailers = (*((UNDECLINED, sha) for sha in versions), *made_by, *word.trailers(UNDECLINED), *named)
    return _commit(repository, new, (f"bring {versions[0][:10]} back", body), trailers)


def write_dropped(
    repository: Repository, new: NewVersion, dropped: Sequence[tuple[str, Edit]], word: PersonsWord
) -> str:
    """Commit a skill's text without edits that people refused."""
    keys = tuple((DROPPED, key) for key, _ in dropped)
    trailers = (*keys, *word.trailers("Dropped"))
    return _commit(repository, new, dropped_message([edit for _, edit in dropped], word), trailers)


def dropped_message(edits: Sequence[Edit], word: PersonsWord) -> tuple[str, str]:
    """Return subject and body of a commit that drops edits."""
    count = "an edit" if len(edits) == 1 else f"{len(edits)} edits"
    said = "\n\n".join(disarm(edit.summary) for edit in edits)
    return f"drop {count}", f"Refused by people{word.signature}:\n\n{said}"


def offered_edits(versions: Iterable[Version]) -> tuple[tuple[str, Edit], ...]:
    """List the edits that commits name, with their keys, in the order of the commits."""
    return tuple(
        (f"{version.sha[:12]}/{index}", edit) for version in versions for index, edit in enumerate(edits_of(version), 1)
    )


def _commit(
    repository: Repository, new: NewVersion, message: tuple[str, str], trailers: tuple[tuple[str, str], ...]
) -> str:
    subject, body = message
    skill = ("Skill", new.skill)
    said = replace(new, subject=f"{new.skill}: {subject}", body=body, trailers=(skill, *trailers))
    return repository.commit_version(said)


_NAME: Final = re.compile(r"Edit-[1-9][0-9]{0,3}")
_ACTIVE: Final = re.compile(r"(?<= ) |[@#]|(?<=[Gg][Hh])-|/(?=(?:issues|pull)\b)")
_EDIT: Final = TypeAdapter(Edit)


def write_edit(edit: Edit) -> str:
    """Write an edit as JSON on one line; its reason and its list of tasks are cut where they are long."""
    fields = asdict(edit)
    del fields["line_tasks"]
    fields["op"] = edit.op.value
    fields["rationale"] = edit.rationale[:600]  # a paragraph, of which a pull request shows the first lines
    fields["tasks"] = edit.tasks[:24]  # who reads more looks at the run
    kept = {name: value for name, value in fields.items() if value}
    written = json.dumps(kept, ensure_ascii=True, separators=(",", ":"))
    # A trailer is folded to one line with single blanks, and a forge acts on what looks like a name or an issue.
    return _ACTIVE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)


def read_edit(text: str) -> Edit | None:
    """Read an edit that was written as JSON; None where it cannot be read."""
    try:
        return replace(_EDIT.validate_json(text), line_tasks=())
    except (ValidationError, EditError):
        return None


def edit_trailers(edits: Sequence[Edit]) -> tuple[tuple[str, str], ...]:
    """List the trailers that name the edits of a version; none where they are too long for a commit."""
    rows = tuple((f"Edit-{number}", write_edit(edit)) for number, edit in enumerate(edits, 1))
    # Of a version that has more, the edits are told from its text.
    return rows if sum(len(text) for _, text in rows) <= 100_000 else ()  # noqa: PLR2004 - characters of a commit


def needed_trailers(kept: Sequence[Edit]) -> tuple[tuple[str, str], ...]:
    """List the trailers that name the text that tasks need; none where it is too long for a commit."""
    return tuple((_NEEDED, text) for _, text in edit_trailers([replace(edit, rationale="") for edit in kept]))


def needed_of(version: Version) -> tuple[Edit, ...]:
    """Read the text that a commit says tasks need, as edits that would delete it."""
    return tuple(edit for edit in map(read_edit, version.values(_NEEDED)) if edit is not None)


def edits_of(version: Version) -> tuple[Edit, ...]:
    """Read the edits that a commit names; empty where it names none, or one of them cannot be read."""
    written = [read_edit(value) for name, value in version.trailers if _NAME.fullmatch(name)]
    edits = tuple(edit for edit in written if edit is not None)
    distinct = len({edit.id for edit in edits}) == len(written)
    return edits if distinct else ()


@dataclass(frozen=True, slots=True)
class _TextStep:
    """A commit of a line of versions, and what it made of SKILL.md."""

    commit: Version
    before: str
    after: str
    makes_edits: bool


@dataclass(frozen=True, slots=True)
class NumberedEdit:
    """An edit of a line; `replaced` says that its content, or its deletion, does not stand in the newest text."""

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
    trained: tuple[str, ...] = ()

    @classmethod
    def read(cls, repository: Repository, skill: str, path: str, tip: str, base: str) -> "EditLine":
        """Read the line to a commit, from where it left a base's text, or where training began anew."""
        there = text_at(repository, path, base) if base else None
        steps: list[_TextStep] = []
        for commit in repository.line(tip, base):
            after = text_at(repository, path, commit.sha)
            if after == there:
                break
            is_ours = commit.trailer("Skill") == skill
            kind = commit_kind(commit) if is_ours else ""
            if kind in ("start", "declined"):
                break
            before = text_at(repository, path, commit.parent) if commit.parent else ""
            if not is_ours and before == after:
                continue
            steps.append(_TextStep(commit, before, after, kind in ("accepted", "taken", "undeclined", "draft")))
        return cls(tuple(reversed(steps)), SkillPlace.parse(path).trained)

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
            NumberedEdit(number, key, edit, version, dropped=key in dropped, replaced=is_undone(edit, newest))
            for number, (key, edit, version) in enumerate(named, 1)
        )

    def text_without(self, wanted: Sequence[NumberedEdit], where: str) -> str:
        """Take edits out of the newest text, the newest first; refuse where a later change built on one."""
        skill, newest = wanted[0].version.trailer("Skill"), self.steps[-1].after
        text = newest
        for one in reversed(wanted):
            at = next(at for at, step in enumerate(self.steps) if step.commit == one.version)
            found = _taken_out(text, self.steps[at], one.edit, self.trained)
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


def is_undone(edit: Edit, text: str) -> bool:
    """Return whether what an edit made does not stand in a text."""
    return edit.content.strip("\n") not in text if edit.content else edit.anchor.strip("\n") in text


def _taken_out(text: str, step: _TextStep, edit: Edit, trained: tuple[str, ...]) -> str | None:
    """Take one edit out where its content stands once, else by merging; None where that conflicts."""
    content, put = edit.content.strip("\n"), edit.anchor if edit.op is Op.REPLACE else ""
    if edit.op in (Op.ADD, Op.REPLACE) and f"\n{content}\n" in f"\n{text}\n":
        inverse = Edit(edit.id, Op.REPLACE if put else Op.DELETE, content, "", put, file=edit.file)
        with suppress(EditError):
            return apply_edits(SkillDocument(text, trained), [inverse]).document.text
    document = SkillDocument(step.before, trained)
    for one in edits_of(step.commit):
        with suppress(EditError):
            document = apply_edits(document, [one]).document if one != edit else document
    return merge_texts(step.after, text, document.text)


def text_at(repository: Repository, path: str, commit: str) -> str:
    """Read the text that is trained as a commit has it, empty where it has none."""
    place, files = SkillPlace.parse(path), repository.read_folder(commit, path)
    own = ((file.path, file.content.decode("utf-8", "replace")) for file in files if place.trains(file.path))
    return join_files(own, place.trained)
