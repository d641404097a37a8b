"""What is said about the name of a skill that is not here."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Final

__all__ = ["short", "unknown_skill"]

_SHOWN: Final = 80
_FEW: Final = 8
_LONGEST: Final = 64


def unknown_skill(name: str, known: Iterable[str]) -> str:
    """Say that there is no skill of a name, and which come near."""
    names = sorted(known)
    near = get_close_matches(name[:_LONGEST], names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"the skills here: {_few(names)}"
    return f"expected the name of a skill, found {short(name)}; {hint}"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f"{', '.join(names[:_FEW])}{more}" if names else "none"


def short(text: str) -> str:
    """Quote what a client sent, cut where it is long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
