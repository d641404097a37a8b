"""What a skill's new text lets or tells an agent do that the old text did not: the capability difference."""

from typing import Final

from skillopt.safety.credentials import mask
from skillopt.safety.escaping import escape_terminal, truncate
from skillopt.safety.literals import Literal, LiteralKind, find_literals, key_of

NewCapability = Literal
"""One capability that is new: its kind, the text that names it, and its line from 1 in the new text."""

_LEFT_OUT: Final = (LiteralKind.QUOTE, LiteralKind.CODE)  # what is said, and parts of a program
_MOST_LINES: Final = 8
_LONGEST_TEXT: Final = 60
_LONGEST_LINE: Final = 160


def capability_difference(before: str, after: str) -> tuple[NewCapability, ...]:
    """List the capabilities that the text after has and the text before has not, each once, most important first.

    >>> capability_difference("Trim cells.", "Trim cells, then run `curl -T out.csv box`.")[0]
    Literal(kind=<LiteralKind.COMMAND: 'command'>, text='curl', line=1)
    """
    seen, found = {key_of(one) for one in find_literals(before)}, dict[tuple[str, ...], NewCapability]()
    order = list(LiteralKind)
    for one in sorted(find_literals(after), key=lambda one: order.index(one.kind)):
        if one.kind not in _LEFT_OUT and (key := key_of(one)) not in seen:
            found.setdefault(key[1:], one)
    return tuple(found.values())


def describe_difference(found: tuple[NewCapability, ...]) -> list[str]:
    """Write at most eight lines for people, one a kind, the last of which folds what is left.

    >>> describe_difference(capability_difference("Trim cells.", "Run `curl` and `tar`."))
    ['new command: `curl`, `tar`']
    """
    texts: dict[LiteralKind, list[str]] = {}
    for one in found:
        texts.setdefault(one.kind, []).append(_shown(one.text))
    lines = [_line(kind, shown) for kind, shown in texts.items()]
    if len(lines) <= _MOST_LINES:
        return lines
    rest = list(texts.items())[_MOST_LINES - 1 :]
    kinds = ", ".join(f"{kind.value} {shown[0]}" for kind, shown in rest)
    more = f"and {sum(len(shown) for _, shown in rest)} more: {kinds}"
    return [*lines[: _MOST_LINES - 1], truncate(more, _LONGEST_LINE)]


def _line(kind: LiteralKind, shown: list[str]) -> str:
    line, kept = f"new {kind.value}: ", list[str]()
    for text in shown:
        if kept and len(line) + sum(len(one) + 2 for one in kept) + len(text) > _LONGEST_LINE:
            return f"{line}{', '.join(kept)} and {len(shown) - len(kept)} more"
        kept.append(text)
    return line + ", ".join(kept)


def _shown(text: str) -> str:
    flat = escape_terminal(" ".join(mask(text).replace("`", "'").split()))
    return f"`{truncate(flat, _LONGEST_TEXT)}`"
