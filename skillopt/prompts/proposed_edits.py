"""Read edits from a model's reply, each on its own: what cannot be read is named, and the others are taken."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.json_schema import SkipJsonSchema

from skillopt.errors import EditError, ReplyError, describe_mistake
from skillopt.prompts.evidence import shorten_middle
from skillopt.prompts.json_replies import find_object
from skillopt.prompts.tried_edits import EDIT_TOKENS
from skillopt.skills.edits import Edit, Op, blocks_of

MOST_EDITS_READ: Final = 64
"""Edits of one reply that are read."""

DOUBLED: Final = "expected its new text as content or as lines, found both; put all of it into one of them"

_LONGEST_REASON: Final = 2_000
_Text = Annotated[str, Field(max_length=200_000)]
_Name = Annotated[str, Field(max_length=200)]
_TEXTS: Final = ("file", "anchor", "section", "content", "rationale")
_OPS: Final = {
    **dict.fromkeys(("insert", "append", "create", "new"), Op.ADD),
    **dict.fromkeys(("remove", "drop"), Op.DELETE),
    **dict.fromkeys(("update", "modify", "change", "edit", "substitute"), Op.REPLACE),
    **dict.fromkeys(("rewrite_section", "rewrite-section", "replace_section"), Op.REWRITE),
}
"""Other names that models give the operations."""

Unread = tuple[str, str]
"""A part of a reply, cut short, and why it is no edit."""


class ProposedLine(BaseModel):
    """One line of an edit, with the tasks behind it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    content: _Text = ""
    tasks: tuple[_Name, ...] = ()


class ProposedEdit(BaseModel):
    """An edit as a model writes it: like Edit, without an id, its content maybe as lines with tasks of their own."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    op: Op
    anchor: _Text = ""
    section: _Text = ""
    content: _Text = ""
    lines: tuple[ProposedLine, ...] = ()
    rationale: _Text = ""
    tasks: tuple[_Name, ...] = ()
    file: SkipJsonSchema[_Name] = ""

    @property
    def text(self) -> str:
        """The new text, however it was written."""
        return self.content if self.content.strip() else "\n".join(line.content for line in self.lines)

    @property
    def doubled(self) -> bool:
        """Whether it has new text twice, of which one would be dropped in silence."""
        lines = "\n".join(line.content for line in self.lines)
        return bool(self.content.strip() and lines.strip() and self.content.split() != lines.split())

    @property
    def whole(self) -> bool:
        """Whether it is the whole text of the skill, which `edits_of_rewrite` reads."""
        return self.op is Op.REWRITE and not (self.section or self.anchor) and bool(self.text.strip())

    @property
    def key(self) -> tuple[str, ...]:
        """What makes an edit the same edit."""
        return self.op.value, self.file, self.anchor, self.section, self.text

    @property
    def cited(self) -> tuple[str, ...]:
        """List the tasks of the edit and of its lines, each once."""
        return tuple(dict.fromkeys((*self.tasks, *(task for line in self.lines for task in line.tasks))))

    def named(self, identity: str) -> Edit:
        """Return the edit under an id."""
        section = "" if self.anchor and self.op is not Op.REWRITE else self.section
        anchor = "" if self.op is Op.REWRITE else self.anchor
        content = "" if self.op is Op.DELETE else self.text
        told = (content, self.rationale, self.cited, self._line_tasks())
        return Edit(identity, self.op, anchor, section, *told, file=self.file)

    def _line_tasks(self) -> tuple[tuple[str, ...], ...]:
        """Return the tasks behind each block of the text; nothing where lines and blocks cannot be matched."""
        if self.op is Op.DELETE or not any(line.tasks for line in self.lines):
            return ()
        found = tuple(line.tasks for line in self.lines for _ in blocks_of(line.content))
        return found if len(found) == len(blocks_of(self.text)) else ()


@dataclass(frozen=True, slots=True)
class Reflection:
    """What a reflection says."""

    edits: tuple[ProposedEdit, ...]
    suspects: tuple[tuple[str, str], ...] = ()
    """Tasks whose verifier looks wrong, each with the reason."""
    unread: tuple[Unread, ...] = ()


def read_reflection(reply: str) -> Reflection:
    """Read edits, and the tasks whose verifier the reply calls wrong."""
    found = find_object(reply, "edits", part="op")
    edits: list[ProposedEdit] = []
    unread: list[Unread] = []
    stated = _list(found["edits"])
    for raw in stated[:MOST_EDITS_READ]:
        try:
            edits.append(_read_edit(raw))
        except ReplyError as error:
            unread.append((_shown(raw), str(error)))
    if unread and not edits:
        raise ReplyError(f"expected edits, found none that can be read; the first: {unread[0][1]}: {unread[0][0]}")
    unread += [(_shown(raw), f"expected at most {MOST_EDITS_READ} edits") for raw in stated[MOST_EDITS_READ:]]
    suspects = tuple(
        (_text(raw.get("task")), _text(raw.get("reason")).strip()[:_LONGEST_REASON])
        for raw in _list(found.get("suspects"))
        if isinstance(raw, dict)
    )
    return Reflection(tuple(edits), suspects, tuple(unread))


def _read_edit(raw: object) -> ProposedEdit:
    if not isinstance(raw, dict):
        raise ReplyError(f"expected an object with the key 'op', found {type(raw).__name__}")
    try:
        edit = ProposedEdit.model_validate(_plain(raw))
        if not edit.whole:
            edit.named("of the reply")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ReplyError(f"{'.'.join(map(str, first['loc']))}: {describe_mistake(first)}") from error
    except EditError as error:
        raise ReplyError(str(error).partition(": ")[2]) from error
    if edit.doubled:
        raise ReplyError(DOUBLED)
    return edit


def _plain(raw: Mapping[str, object]) -> dict[str, object]:
    """Write an edit as it was asked for: other names of operations, nulls, and one value where a list belongs."""
    op = str(raw.get("op", "")).strip().casefold()
    found: dict[str, object] = {"op": _OPS.get(op, op), "tasks": _names(raw.get("tasks"))}
    found |= {name: _text(raw.get(name)) for name in _TEXTS}
    found["lines"] = [
        {"content": _text(line.get("content")), "tasks": _names(line.get("tasks"))}
        if isinstance(line, dict)
        else {"content": _text(line)}
        for line in _list(raw.get("lines"))
    ]
    if found["op"] == Op.REWRITE and not found["section"]:
        found["section"] = found["anchor"]
    return found


def _text(value: object) -> str:
    """Return a text as it is, several joined by line ends, and nothing for null."""
    if isinstance(value, list):
        return "\n".join(map(_text, value))
    return "" if value is None else str(value)


def _names(value: object) -> list[str]:
    names = value.split(",") if isinstance(value, str) else map(_text, _list(value))
    return [name.strip() for name in names if name.strip()]


def _list(value: object) -> Sequence[object]:
    if isinstance(value, list):
        return value
    return () if value is None else (value,)


def _shown(raw: object) -> str:
    return " ".join(shorten_middle(json.dumps(raw, ensure_ascii=False), EDIT_TOKENS).split())
