"""Prompts and reply schemas of the optimizer model's stages, two pure functions around each call.

`ask_…` fills the prompt, `read_…` reads the reply. A reply that is not the JSON asked for is a ReplyError, never an
empty proposal.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, WithJsonSchema

from skillopt.errors import EditError, ReplyError
from skillopt.prompts import fill
from skillopt.prompts.evidence import fence, shorten_middle
from skillopt.prompts.failure_kinds import TASK_FAILURE_KINDS, NamedFailure, TaskFailureKind, explain_kinds, read_kind
from skillopt.skills.document import GUIDANCE, SkillDocument
from skillopt.skills.edits import Edit, Op

__all__ = [
    "EDITS_SCHEMA",
    "META_UPDATE_SCHEMA",
    "RANKING_SCHEMA",
    "REFLECTION_SCHEMA",
    "SLOW_UPDATE_SCHEMA",
    "Aim",
    "ProposedEdit",
    "Reflection",
    "ask_merge",
    "ask_meta_update",
    "ask_ranking",
    "ask_reflection",
    "ask_repair",
    "ask_slow_update",
    "read_edits",
    "read_meta_update",
    "read_ranking",
    "read_reflection",
    "read_slow_update",
]

_OBJECT = re.compile(r"\{.*\}", re.DOTALL)
_NOTHING = "(nothing yet)"
_KINDS = """\
Say of every task in the evidence what kind of failure it is, in `"failures"`, a list of
`{"task": "…", "kind": "…", "reason": "…"}` with one sentence of reason, and give each edit the `"kind"` that it
is about. The kinds are"""
_ENFORCED = frozenset({"type", "items", "enum", "$ref"})

_Text = Annotated[str, Field(max_length=20_000)]
_Name = Annotated[str, Field(max_length=200)]
_Kind = Annotated[
    TaskFailureKind | None,
    BeforeValidator(read_kind),
    WithJsonSchema({"type": "string", "enum": list(TASK_FAILURE_KINDS)}),
]


@dataclass(frozen=True, slots=True)
class Aim:
    """What a reflection is asked for.

    Args:
        failures: From failures, else from successes.
        budget: Most edits.
        focus: What this reading is to look for, in a sentence; empty for whatever helps.
        kinds: Whether it names the kind of each failure.
    """

    failures: bool
    budget: int
    focus: str = ""
    kinds: bool = False


class ProposedEdit(BaseModel):
    """An edit as a model writes it: like Edit, without an id."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    op: Op
    anchor: _Text = ""
    section: _Text = ""
    content: _Text = ""
    rationale: _Text = ""
    tasks: tuple[_Name, ...] = ()

    def named(self, identity: str) -> Edit:
        """Give it an id.

        Raises:
            EditError: It lacks what its operation needs.
        """
        section = "" if self.anchor else self.section
        content = "" if self.op is Op.DELETE else self.content
        return Edit(identity, self.op, self.anchor, section, content, self.rationale, self.tasks)


class _Edits(BaseModel):
    diagnosis: str = ""
    edits: Annotated[tuple[ProposedEdit, ...], Field(max_length=64)]


class _KindedEdit(ProposedEdit):
    kind: _Kind = None


class _Failure(BaseModel):
    task: _Name
    kind: _Kind = None
    reason: Annotated[str, Field(max_length=2_000)] = ""


class _Reflection(BaseModel):
    diagnosis: str = ""
    edits: Annotated[tuple[_KindedEdit, ...], Field(max_length=64)]
    failures: Annotated[tuple[_Failure, ...], Field(max_length=1_000)] = ()


@dataclass(frozen=True, slots=True)
class Reflection:
    """What a reflection says.

    Args:
        edits: What it proposes.
        kinds: The kind of failure that each edit is about, None where the reply names none.
        failures: What it calls the failures of tasks.
    """

    edits: tuple[ProposedEdit, ...]
    kinds: tuple[TaskFailureKind | None, ...]
    failures: tuple[NamedFailure, ...]


class _Ranking(BaseModel):
    reasoning: str = ""
    order: tuple[str, ...]


class _Guidance(BaseModel):
    reasoning: str = ""
    guidance: Annotated[str, Field(max_length=4_000)]


class _Memory(BaseModel):
    reasoning: str = ""
    memory: Annotated[str, Field(max_length=4_000)]


def _schema_of(shape: type[BaseModel]) -> str:
    """Write the schema of a reply in the subset that providers enforce: every key required, no other allowed."""
    return json.dumps(_strict(shape.model_json_schema()), sort_keys=True)


def _strict(part: object) -> object:
    if isinstance(part, list):
        return [_strict(item) for item in part]
    if not isinstance(part, dict):
        return part
    kept = {name: _strict(value) for name, value in part.items() if name in _ENFORCED}
    for name in ("properties", "$defs"):
        if name in part:
            kept[name] = {inner: _strict(value) for inner, value in part[name].items()}
    if "properties" in kept:
        kept |= {"required": sorted(part["properties"]), "additionalProperties": False}
    return kept


EDITS_SCHEMA: Final = _schema_of(_Edits)
REFLECTION_SCHEMA: Final = _schema_of(_Reflection)
RANKING_SCHEMA: Final = _schema_of(_Ranking)
SLOW_UPDATE_SCHEMA: Final = _schema_of(_Guidance)
META_UPDATE_SCHEMA: Final = _schema_of(_Memory)


def ask_reflection(document: SkillDocument, evidence: str, aim: Aim, *, rejected: Sequence[str], memory: str) -> str:
    """Ask for edits from a minibatch of rollouts; `read_reflection` reads it."""
    common = {
        "budget": str(aim.budget),
        "focus": f"\n\n{aim.focus}" if aim.focus else "",
        "skill": fence("skill", document.text),
        "rejected": _lines(rejected),
        "memory": _note(memory),
        "evidence": evidence,
    }
    if not aim.failures:
        return fill("reflect_successes", **common)
    kinds = {"kinds": f"\n\n{_KINDS}\n{explain_kinds()}", "named": ', "failures": [ … ]'}
    return fill("reflect_failures", **common, **(kinds if aim.kinds else dict.fromkeys(kinds, "")))


def read_reflection(reply: str) -> Reflection:
    """Read a reflection; failures and kinds may be missing, and a kind that nobody knows counts as none.

    Raises:
        ReplyError: The reply is not the JSON asked for, or an edit in it lacks a part.
    """
    found = _read(reply, _Reflection)
    edits = _complete([ProposedEdit(**edit.model_dump(exclude={"kind"})) for edit in found.edits])
    named = [NamedFailure(one.task, one.kind, one.reason.strip()) for one in found.failures if one.kind is not None]
    return Reflection(edits, tuple(edit.kind for edit in found.edits), tuple(named))


def ask_merge(document: SkillDocument, proposals: Sequence[Sequence[ProposedEdit]], *, memory: str) -> str:
    """Ask to join several proposals into one; `read_edits` reads it."""
    blocks = (f"### Proposal {number}\n{_edits_json(edits)}" for number, edits in enumerate(proposals, 1))
    return fill(
        "merge",
        skill=fence("skill", document.text),
        memory=_note(memory),
        proposals=fence("proposals", "\n\n".join(blocks)),
    )


def read_edits(reply: str) -> tuple[ProposedEdit, ...]:
    """Read the edits of a reflection or a merge.

    Raises:
        ReplyError: The reply is not the JSON asked for, or an edit in it lacks a part.
    """
    return _complete(_read(reply, _Edits).edits)


def _complete(edits: Sequence[ProposedEdit]) -> tuple[ProposedEdit, ...]:
    """Give edits that all have what their operation needs."""
    for number, edit in enumerate(edits, 1):
        try:
            edit.named(str(number))
        except EditError as error:
            raise ReplyError(str(error)) from error
    return tuple(edits)


def ask_ranking(document: SkillDocument, edits: Sequence[Edit], *, budget: int, memory: str) -> str:
    """Ask for the order of edits, best first; `read_ranking` reads it."""
    return fill(
        "rank",
        budget=str(budget),
        skill=fence("skill", document.text),
        memory=_note(memory),
        edits=fence("edits", "\n".join(f"[{edit.id}] {edit.summary}; why: {edit.rationale}" for edit in edits)),
    )


def read_ranking(reply: str, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Read an order; edits that the reply leaves out are ranked last, as they stood.

    Raises:
        ReplyError: The reply is not the JSON asked for, or names an edit that was not there.
    """
    order = _read(reply, _Ranking).order
    by_id = {edit.id: edit for edit in edits}
    strangers = [identity for identity in order if identity not in by_id]
    if strangers:
        message = f"expected ids among {sorted(by_id)}, found {strangers}"
        raise ReplyError(message)
    named = tuple(dict.fromkeys(order))
    return tuple(by_id[identity] for identity in named) + tuple(edit for edit in edits if edit.id not in named)


def ask_slow_update(document: SkillDocument, comparison: str) -> str:
    """Ask for durable guidance after an epoch; `read_slow_update` reads it."""
    return fill(
        "slow_update",
        skill=fence("skill", document.text),
        guidance=fence("guidance", document.region(GUIDANCE) or _NOTHING),
        comparison=comparison,
    )


def read_slow_update(reply: str) -> str:
    """Read guidance; empty when there is nothing worth saying.

    Raises:
        ReplyError: The reply is not the JSON asked for.
    """
    return _read(reply, _Guidance).guidance.strip()


def ask_meta_update(memory: str, accepted: Sequence[str], rejected: Sequence[str], comparison: str) -> str:
    """Ask for the optimizer's notes to itself after an epoch; `read_meta_update` reads it."""
    return fill(
        "meta_update",
        memory=_note(memory),
        accepted=_lines(accepted),
        rejected=_lines(rejected),
        comparison=comparison,
    )


def read_meta_update(reply: str) -> str:
    """Read the notes.

    Raises:
        ReplyError: The reply is not the JSON asked for.
    """
    return _read(reply, _Memory).memory.strip()


def ask_repair(prompt: str, reply: str, problem: str) -> str:
    """Ask once more for a reply that could not be read."""
    return fill("repair", problem=problem, reply=fence("reply", shorten_middle(reply, 1000)), prompt=prompt)


M = TypeVar("M", bound=BaseModel)


def _read(reply: str, shape: type[M]) -> M:
    """Read the one JSON object of a reply, with or without a code fence around it."""
    found = _OBJECT.search(reply)
    if found is None:
        message = f"expected a JSON object, found {reply[:80]!r}"
        raise ReplyError(message)
    try:
        return shape.model_validate_json(found[0])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the object"
        message = f"{place}: {first['msg']}"
        raise ReplyError(message) from error


def _lines(lines: Sequence[str]) -> str:
    return fence("list", "\n".join(f"- {line}" for line in lines)) if lines else _NOTHING


def _note(memory: str) -> str:
    return fence("memory", memory) if memory else _NOTHING


def _edits_json(edits: Sequence[ProposedEdit]) -> str:
    return "\n".join(edit.model_dump_json(exclude_defaults=True) for edit in edits)
