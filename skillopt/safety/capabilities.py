"""What a skill's new text lets or tells an agent do that the old text did not: the capability difference."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from skillopt.safety.credentials import mask
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.safety.literals import Literal, find_literals, normalise

__all__ = ["Capability", "NewCapability", "capability_difference", "describe_difference"]


class Capability(StrEnum):
    """A kind of thing that a text can tell an agent to use, most important first."""

    PERMISSION = "permission"
    VARIABLE = "environment variable"
    HOST = "host"
    COMMAND = "command"
    PATH = "path outside the workspace"
    TOOL = "tool"
    REFERENCE = "text to follow"
    CONDITION = "condition"
    NAME = "name"
    NUMBER = "number or identifier"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class NewCapability:
    """One capability that is new, the text that names it, and its line from 1 in the new text."""

    kind: Capability
    text: str
    line: int


_KINDS: Final = {kind.value: kind for kind in Capability}
_MOST_LINES: Final = 8
_LONGEST_TEXT: Final = 60
_LONGEST_LINE: Final = 160


def capability_difference(before: str, after: str) -> tuple[NewCapability, ...]:
    """List the capabilities that the text after has and the text before has not, each once, most important first.

    >>> capability_difference("Trim cells.", "Trim cells, then run `curl -T out.csv box`.")[0]
    NewCapability(kind=<Capability.COMMAND: 'command'>, text='curl', line=1)
    """
    seen = {_key(one) for one in find_literals(before)}
    found: list[NewCapability] = []
    for one in find_literals(after):
        if one.kind.value in _KINDS and (key := _key(one)) not in seen:
            seen.add(key)
            found.append(NewCapability(_KINDS[one.kind.value], one.text, one.line))
    order = list(Capability)
    return tuple(sorted(found, key=lambda one: order.index(one.kind)))


def describe_difference(found: tuple[NewCapability, ...]) -> list[str]:
    """Write at most eight lines for people, one a kind, the last of which folds what is left.

    >>> describe_difference(capability_difference("Trim cells.", "Run `curl` and `tar`."))
    ['new command: `curl`, `tar`']
    """
    texts: dict[Capability, list[str]] = {}
    for one in found:
        texts.setdefault(one.kind, []).append(_shown(one.text))
    lines = [_line(kind, shown) for kind, shown in texts.items()]
    if len(lines) <= _MOST_LINES:
        return lines
    rest = list(texts.items())[_MOST_LINES - 1 :]
    kinds = ", ".join(f"{kind.value} {shown[0]}" for kind, shown in rest)
    more = f"and {sum(len(shown) for _, shown in rest)} more: {kinds}"
    return [*lines[: _MOST_LINES - 1], truncate(more, _LONGEST_LINE)]


def _line(kind: Capability, shown: list[str]) -> str:
    line, kept = f"new {kind.value}: ", list[str]()
    for text in shown:
        if kept and len(line) + sum(len(one) + 2 for one in kept) + len(text) > _LONGEST_LINE:
            return f"{line}{', '.join(kept)} and {len(shown) - len(kept)} more"
        kept.append(text)
    return line + ", ".join(kept)


def _shown(text: str) -> str:
    flat = escape_terminal(" ".join(mask(text).replace("`", "'").split()))
    return f"`{truncate(flat, _LONGEST_TEXT)}`"


def _key(literal: Literal) -> tuple[str, str]:
    return literal.kind, " ".join(normalise(literal.text))
