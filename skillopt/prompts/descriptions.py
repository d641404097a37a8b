"""Ask the optimizer model for a new description of a skill, and read its reply."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BaseModel, Field

from skillopt.prompts import fill
from skillopt.prompts.evidence import fence, shorten_middle
from skillopt.prompts.json_replies import read_object, schema_of

_NOTHING: Final = "(none)"
_MOST_REQUESTS: Final = 30
_MOST_SIBLINGS: Final = 60
_REQUEST_TOKENS: Final = 150
_BODY_TOKENS: Final = 1_500
_SIBLING_TOKENS: Final = 80


class _Description(BaseModel):
    reasoning: str = ""
    description: Annotated[str, Field(max_length=8_000)]


DESCRIPTION_SCHEMA: Final = schema_of(_Description)


@dataclass(frozen=True, slots=True)
class TriedDescription:
    """A description that was tried or refused, and what became of it in one line."""

    text: str
    outcome: str


@dataclass(frozen=True, slots=True)
class DescriptionEvidence:
    """What a new description is written from; only training requests."""

    name: str
    description: str
    body: str
    siblings: Sequence[tuple[str, str]]
    missed: Sequence[tuple[str, str]]
    false: Sequence[str]
    right: Sequence[str]


def ask_description(evidence: DescriptionEvidence, tried: Sequence[TriedDescription], most: int) -> str:
    """Ask for a new description; `read_description` reads it."""
    siblings = [f"{name}: {shorten_middle(text, _SIBLING_TOKENS)}" for name, text in evidence.siblings[:_MOST_SIBLINGS]]
    return fill(
        "describe",
        skill=evidence.name,
        most=str(most),
        description=fence("description", evidence.description or _NOTHING),
        body=fence("body", shorten_middle(evidence.body, _BODY_TOKENS)),
        siblings=_listed("siblings", siblings),
        missed=_listed("missed", [f"{_short(text)} [{instead}]" for text, instead in evidence.missed]),
        false=_listed("false", list(map(_short, evidence.false))),
        right=_listed("right", list(map(_short, evidence.right))),
        tried=_listed("tried", [f"{one.outcome}: {one.text}" for one in tried]),
    )


def read_description(reply: str) -> str:
    """Read a description; spaces and line ends become single spaces."""
    return " ".join(read_object(reply, _Description, "description").description.split())


def _short(text: str) -> str:
    return " ".join(shorten_middle(text, _REQUEST_TOKENS).split())


def _listed(kind: str, lines: Sequence[str]) -> str:
    shown = [f"- {line}" for line in lines[:_MOST_REQUESTS]] if kind != "siblings" else [f"- {line}" for line in lines]
    left = len(lines) - len(shown)
    return fence(kind, "\n".join([*shown, *([f"and {left} more"] if left > 0 else [])])) if lines else _NOTHING
