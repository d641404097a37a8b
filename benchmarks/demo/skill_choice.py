"""How the demo chooses a skill for a request, and how it words a description: by counting words, not by meaning.

A skill is loaded whose name and description have most words of the request, two at least; sentences of a description
that begin with `Not for` count against it.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

_LEAST: Final = 2
_SHORTEST: Final = 3
_MOST_WORDS: Final = 24
_MOST_CHARACTERS: Final = 1000
_WORD: Final = re.compile(r"[a-z0-9]+")
_ENDING: Final = re.compile(r"(?:ings?|ed|es|s)$")
_SENTENCE: Final = re.compile(r"[^.!?]+[.!?]?")
_NOT_FOR: Final = "not for"
_COMMON: Final = frozenset(
    (
        *("the", "and", "for", "from", "with", "this", "that", "into", "when", "what", "which", "should", "have"),
        *("has", "are", "was", "were", "can", "you", "your", "please", "use", "used", "any", "all", "our", "not"),
        *("how", "why", "who", "will", "would", "could", "does", "did", "its", "need", "want", "make", "some", "out"),
        *("about", "there", "their", "them", "then", "get", "got", "let", "just", "more", "most", "very", "one"),
        *("two", "new", "each", "also", "skill", "user", "task", "tasks", "work", "works"),
    )
)


def choose_skill(request: str, listed: Iterable[tuple[str, str]]) -> str:
    """Choose the skill to load for a request."""
    asked = frozenset(_words(request))
    scores = sorted((-_score(asked, name, text), name) for name, text in listed)
    return scores[0][1] if scores and -scores[0][0] >= _LEAST else ""


def _score(asked: frozenset[str], name: str, description: str) -> int:
    wanted, unwanted = _both(f"{name.replace('-', ' ')}. {description}")
    return len(asked & (wanted - unwanted)) - len(asked & unwanted)


def _both(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words of a description and those of its sentences that begin with `Not for`."""
    wanted: set[str] = set()
    unwanted: set[str] = set()
    for sentence in _SENTENCE.findall(text):
        (unwanted if sentence.strip().casefold().startswith(_NOT_FOR) else wanted).update(_words(sentence))
    return frozenset(wanted), frozenset(unwanted)


def propose_description(now: str, missed: Sequence[str], false: Sequence[str], right: Sequence[str]) -> str:
    """Word a description that has the words of missed requests and excludes those of false triggers."""
    parts = [now.strip() if now.strip().endswith((".", "!", "?")) else f"{now.strip()}."]
    wanted, unwanted = _both(now)
    kept = frozenset(word for request in (*missed, *right) for word in _words(request))
    more = [word for word in _commonest(missed) if word not in wanted and word not in _words(" ".join(false))]
    less = [word for word in _commonest(false) if word not in kept and word not in unwanted]
    if more:
        parts.append(f"Use for {', '.join(more[:_MOST_WORDS])}.")
    if less:
        parts.append(f"Not for {', '.join(less[:_MOST_WORDS])}.")
    return " ".join(parts)[:_MOST_CHARACTERS]


def _commonest(requests: Sequence[str]) -> list[str]:
    counts = Counter(word for request in requests for word in dict.fromkeys(_words(request)))
    return [word for word, _ in counts.most_common()]


def _words(text: str) -> list[str]:
    found = (_ENDING.sub("", word) for word in _WORD.findall(text.casefold()) if word not in _COMMON)
    return [word for word in found if len(word) >= _SHORTEST]
