"""Carry learned edits over to a new upstream text: apply them one by one, or say why one is not applied.

Only what stands in the new upstream word for word is left out at once. What it says in other words is applied, too:
ablation then shows whether it is needed.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from skillopt.errors import EditError
from skillopt.harvest.near_copies import is_near_copy, word_digests
from skillopt.skills.addresses import LIST_ITEM
from skillopt.skills.document import Block, SkillDocument
from skillopt.skills.edits import Edit, Op, apply_edits, blocks_of
from skillopt.skills.word_diff import match_lines

__all__ = ["Carried", "Fate", "Learned", "carry_edits", "edits_between"]

_LONGEST_QUOTE: Final = 80


class Fate(StrEnum):
    """What became of an edit before anything is run."""

    APPLIED = "applied"
    THERE = "already there"
    GONE = "anchor gone"


@dataclass(frozen=True, slots=True)
class Learned:
    """An edit, the commit that brought it, and the text that it was made for."""

    edit: Edit
    commit: str
    before: SkillDocument


@dataclass(frozen=True, slots=True)
class Carried:
    """An edit as it is applied to the new upstream, what became of it, why, and what upstream says much alike."""

    edit: Edit
    commit: str
    fate: Fate
    note: str = ""
    alike: str = ""


def carry_edits(learned: Sequence[Learned], base: SkillDocument, upstream: SkillDocument) -> tuple[Carried, ...]:
    """Apply edits one after the other to a new upstream text; `base` is the upstream text that they were learned on."""
    known = {block.text for block in base.blocks}
    new = [block for block in upstream.blocks if block.text not in known]
    document, found = upstream, list[Carried]()
    for number, one in enumerate(learned, 1):
        edit = replace(one.edit, id=f"e{number}")
        alike = _alike(edit, new)
        if _is_there(edit, upstream, alike):
            found.append(Carried(edit, one.commit, Fate.THERE, "the new upstream says the same"))
            continue
        why = ""
        for way in (edit, *_elsewhere(edit, one.before)):
            try:
                document = apply_edits(document, [way]).document
            except EditError as error:
                why = why or str(error).removeprefix(f"edit {edit.id!r}: ")
            else:
                moved = f"at the end of {way.section!r}, because its anchor is gone" if way is not edit else ""
                found.append(Carried(way, one.commit, Fate.APPLIED, moved, alike))
                break
        else:
            found.append(Carried(edit, one.commit, Fate.GONE, why, alike))
    return tuple(found)


def _is_there(edit: Edit, upstream: SkillDocument, alike: str) -> bool:
    """Return whether upstream has all lines of an edit, but for their list markers, or lacks what it deletes."""
    if edit.op is Op.DELETE:
        return edit.anchor.strip("\n") not in upstream.text and not alike
    lines = {_plain(block.text) for block in upstream.blocks}
    return all(_plain(block) in lines for block in blocks_of(edit.content))


def _plain(text: str) -> str:
    marker = LIST_ITEM.match(text)
    return " ".join(text[marker.end() if marker else 0 :].split())


def _alike(edit: Edit, new: Collection[Block]) -> str:
    """Return a line that upstream has brought and that shares most words with an edit; empty for none."""
    own = [edit.anchor] if edit.op is Op.DELETE else [] if edit.op is Op.REWRITE else blocks_of(edit.content)
    others = [one.text for one in new if edit.op is not Op.REPLACE or edit.anchor.strip("\n") not in one.text]
    near = (text for text in others for words in [word_digests(text)] if any(is_near_copy(one, [words]) for one in own))
    return " ".join(next(near, "").split())[:_LONGEST_QUOTE]


def _elsewhere(edit: Edit, before: SkillDocument) -> Iterator[Edit]:
    """Yield the same lines for the end of the section that they stood in: their place matters less than that."""
    anchor = edit.anchor.strip("\n")
    whole = edit.op is Op.REPLACE and anchor in {block.text for block in before.blocks}  # else it is half a sentence
    at = before.text.find(anchor, before.body_start) if whole or (edit.op is Op.ADD and anchor) else -1
    if inside := [section.title for section in before.sections if section.start <= at]:
        yield replace(edit, op=Op.ADD, anchor="", section=inside[-1])


def edits_between(before: SkillDocument, after: SkillDocument, reason: str) -> Iterator[Edit]:
    """Yield what differs between two bodies as edits, one for each run of lines."""
    old, new = before.body.splitlines(), after.body.splitlines()
    for number, (tag, start, end, first, last) in enumerate(match_lines(old, new).get_opcodes()):
        gone, come = ("\n".join(lines).strip("\n") for lines in (old[start:end], new[first:last]))
        if tag == "equal" or not (gone.strip() or come.strip()):
            continue
        top, anchor = start, gone
        while top and (not anchor.strip() or before.text.count(anchor, before.body_start) > 1):
            top -= 1
            anchor = "\n".join(old[top:end]).strip("\n")
        content = come if not gone.strip() else "\n".join([*old[top:start], come]).strip("\n")
        op = Op.ADD if not gone.strip() else Op.REPLACE if content.strip() else Op.DELETE
        yield Edit(f"p{number}", op, anchor, "", content, reason)
