"""Prompts and reply schemas of the optimizer model's stages, two pure functions around each call.

`ask_…` fills the prompt, `read_…` reads the reply. A reply that is not the JSON asked for is a ReplyError, never an
empty proposal. Edits are read in proposed_edits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, Field

from skillopt.errors import ReplyError
from skillopt.prompts import fill
from skillopt.prompts.evidence import fence, shorten_middle
from skillopt.prompts.failure_groups import PROMPT_TOKENS, FailureGroup, render_failures
from skillopt.prompts.json_replies import read_object, schema_of
from skillopt.prompts.proposed_edits import MOST_EDITS_READ, ProposedEdit
from skillopt.prompts.reflection_replies import SHORT_SKILL
from skillopt.prompts.tried_edits import TriedEdit, render_tried
from skillopt.skills.document import GUIDANCE, SkillDocument, estimate_tokens
from skillopt.skills.edits import Edit

_NOTHING = "(nothing yet)"
_LEAST_EVIDENCE: Final = 5_000
"""Tokens of failures that a prompt has room for, however long the skill is."""

_WHOLE: Final = """\
- `{"op": "rewrite", "content": "…"}`, without a section: all text below the frontmatter becomes the
  content; it is read as the single edits that lead there;
"""


_FILES: Final = """\
The skill has several files; a line `=== file PATH ===` begins each but SKILL.md. Every edit has the path of its file as
`"file"`. An add with a new path (of TRAINED) makes a file; `{"op": "delete", "file": PATH}` without an anchor deletes
one. A script must still parse after each edit.

"""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a reflection is asked for."""

    failures: bool
    budget: int
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """What a reflection is told beside the evidence."""

    digest: str = ""
    tried: Sequence[TriedEdit] = ()
    memory: str = ""
    target: str = ""
    """How the target is asked."""


class _Edits(BaseModel):
    diagnosis: str = ""
    edits: Annotated[tuple[ProposedEdit, ...], Field(max_length=MOST_EDITS_READ)]


class _FileEdit(ProposedEdit):
    file: str = ""


class _Suspect(BaseModel):
    task: str
    reason: str = ""


class _Reflection(_Edits):
    suspects: tuple[_Suspect, ...] = ()


class _FileReflection(_Reflection):
    edits: Annotated[tuple[_FileEdit, ...], Field(max_length=MOST_EDITS_READ)]


class _Ranking(BaseModel):
    reasoning: str = ""
    order: tuple[str, ...]


class _Guidance(BaseModel):
    reasoning: str = ""
    guidance: Annotated[str, Field(max_length=4_000)]


class _Memory(BaseModel):
    reasoning: str = ""
    memory: Annotated[str, Field(max_length=4_000)]


EDITS_SCHEMA: Final = schema_of(_Edits)
REFLECTION_SCHEMA: Final = schema_of(_Reflection)
RANKING_SCHEMA: Final = schema_of(_Ranking)
_FILES_SCHEMA: Final = schema_of(_FileReflection)
SLOW_UPDATE_SCHEMA: Final = schema_of(_Guidance)
META_UPDATE_SCHEMA: Final = schema_of(_Memory)


def edits_schema(document: SkillDocument, schema: str) -> str:
    """Return the schema of a reply with edits, which name their files where several are trained."""
    return _FILES_SCHEMA if document.trained else schema


def ask_reflection(document: SkillDocument, evidence: str, aim: Aim, told: Told) -> str:
    """Ask for edits from rollouts; `read_reflection` reads it."""
    common = {
        "budget": str(aim.budget),
        "tokens": f", with at most about {aim.tokens} tokens of changed text in all" if aim.tokens else "",
        "skill": _shown(document),
        "tried": render_tried(told.tried) or _NOTHING,
        "memory": _note(told.memory),
        "evidence": evidence,
    }
    if not aim.failures:
        return fill("reflect_successes", **common)
    short = not document.trained and sum(1 for line in document.body.splitlines() if line.strip()) < SHORT_SKILL
    target = fence("target", told.target) if told.target else _NOTHING
    return fill(
        "reflect_failures", **common, digest=told.digest or _NOTHING, target=target, whole=_WHOLE if short else ""
    )


def ask_about_failures(document: SkillDocument, aim: Aim, told: Told, groups: Sequence[FailureGroup]) -> str:
    """Ask for edits from groups of failures, as many as fit beside the rest of a prompt."""
    room = PROMPT_TOKENS - estimate_tokens(ask_reflection(document, "", aim, told))
    return ask_reflection(document, render_failures(groups, max(_LEAST_EVIDENCE, room))[0], aim, told)


def ask_merge(document: SkillDocument, proposals: Sequence[Sequence[ProposedEdit]], *, memory: str) -> str:
    """Ask to join several proposals into one; `read_reflection` reads it."""
    written = ("\n".join(edit.model_dump_json(exclude_defaults=True) for edit in edits) for edits in proposals)
    blocks = (f"### Proposal {number}\n{edits}" for number, edits in enumerate(written, 1))
    return fill(
        "merge",
        skill=_shown(document),
        memory=_note(memory),
        proposals=fence("proposals", "\n\n".join(blocks)),
    )


def ask_ranking(document: SkillDocument, edits: Sequence[Edit], *, budget: int, memory: str) -> str:
    """Ask for the order of edits, best first; `read_ranking` reads it."""
    return fill(
        "rank",
        budget=str(budget),
        skill=_shown(document),
        memory=_note(memory),
        edits=fence("edits", "\n".join(f"[{edit.id}] {edit.summary}; why: {edit.rationale}" for edit in edits)),
    )


def read_ranking(reply: str, edits: Sequence[Edit]) -> tuple[Edit, ...]:
    """Read an order; edits that the reply leaves out are ranked last, as they stood."""
    order = read_object(reply, _Ranking, "order").order
    by_id = {edit.id: edit for edit in edits}
    strangers = [identity for identity in order if identity not in by_id]
    if strangers:
        raise ReplyError(f"expected ids among {sorted(by_id)}, found {strangers}")
    named = tuple(dict.fromkeys(order))
    return tuple(by_id[identity] for identity in named) + tuple(edit for edit in edits if edit.id not in named)


def ask_slow_update(document: SkillDocument, comparison: str) -> str:
    """Ask for durable guidance after an epoch; `read_slow_update` reads it."""
    return fill(
        "slow_update",
        skill=_shown(document),
        guidance=fence("guidance", document.region(GUIDANCE) or _NOTHING),
        comparison=comparison,
    )


def read_slow_update(reply: str) -> str:
    """Read guidance; empty when there is nothing worth saying."""
    return read_object(reply, _Guidance, "guidance").guidance.strip()


def ask_meta_update(memory: str, accepted: Sequence[str], rejected: Sequence[str], comparison: str) -> str:
    """Ask for the optimizer's notes to itself after an epoch; `read_meta_update` reads it."""
    return fill(
        "meta_update", memory=_note(memory), accepted=_lines(accepted), rejected=_lines(rejected), comparison=comparison
    )


def read_meta_update(reply: str) -> str:
    """Read the notes."""
    return read_object(reply, _Memory, "memory").memory.strip()


def ask_repair(prompt: str, reply: str, problem: str) -> str:
    """Ask once more for a reply that could not be read."""
    return fill("repair", problem=problem, reply=fence("reply", shorten_middle(reply, 1000)), prompt=prompt)


def _shown(document: SkillDocument) -> str:
    files = _FILES.replace("TRAINED", " or ".join(document.trained)) if document.trained else ""
    return files + fence("skill", document.text)


def _lines(lines: Sequence[str]) -> str:
    return fence("list", "\n".join(f"- {line}" for line in lines)) if lines else _NOTHING


def _note(memory: str) -> str:
    return fence("memory", memory) if memory else _NOTHING
