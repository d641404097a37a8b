"""Group review remarks that say the same rule, by the words that they share; no model is asked."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from math import log, sqrt
from typing import Final

_ALIKE: Final = 0.35
"""Mean cosine similarity from which groups of remarks are one rule, chosen with the next on 2,318 remarks."""

_LEAST: Final = 3
"""Remarks from which a rule is said again and again."""

_STRENGTH: Final = 1.8
"""Mean similarity times number of remarks from which a rule is one; weaker ones shared a topic, not a rule."""

_SHARED: Final = 2
"""Words that two remarks must have in common."""

_MOST_WORDS: Final = 50
"""Words up to which a remark is a rule; a longer one discusses."""

_RARE: Final = 5
"""Remarks below which a word weighs no more: what few say is a topic."""

_STEM: Final = 6
"""Letters that make a word the same one, whatever its ending."""

_QUOTED: Final = re.compile(
    r"(?s:(```|~~~).*?(?:\1|\Z))|^>.*$|https?://\S+|(?<!\w)@[\w-]+|^(?: {2,}|\t).*$", re.MULTILINE
)
_UNSPACED: Final = "\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f"
"""Letters of languages that write no space between words."""

_WORD: Final = re.compile(rf"[{_UNSPACED}]+|[^\W\d{_UNSPACED}][^\W{_UNSPACED}]*(?:[.:][^\W\d][^\W{_UNSPACED}]*)*")
_SHORT: Final = re.compile(r"n't\b|'(?:s|d|ll|re|ve|m)\b|\bun(?=used|needed|necessary)")
_FILLERS: Final = frozenset(files(__package__ or "").joinpath("fillers.txt").read_text(encoding="utf-8").split())


def rule_groups(texts: Sequence[str], pulls: Sequence[int]) -> list[tuple[int, ...]]:
    """Group remarks of two pull requests or more that say nearly the same, the strongest group first.

    Groups are joined from the most alike pair on, while the mean similarity across them is high enough.
    """
    likeness = _similarities([Counter(_words(text)) for text in texts])
    group, inside = {at: [at] for at in range(len(texts))}, defaultdict[int, float](float)
    own = list(range(len(texts)))
    for one, other in sorted(likeness, key=lambda pair: (-likeness[pair], pair)):
        first, second = sorted((own[one], own[other]))
        across = [likeness.get((min(a, b), max(a, b)), 0.0) for a in group[first] for b in group[second]]
        if first != second and sum(across) / len(across) >= _ALIKE:
            for at in group[second]:
                own[at] = first
            group[first] += group.pop(second)
            inside[first] += inside.pop(second, 0.0) + sum(across)
    # Of n remarks with n (n - 1) / 2 pairs, the mean similarity of a pair times n.
    strength = {at: 2 * inside[at] / (len(members) - 1) for at, members in group.items() if len(members) >= _LEAST}
    strong = (at for at in strength if strength[at] >= _STRENGTH and len({pulls[each] for each in group[at]}) > 1)
    return [tuple(sorted(group[at])) for at in sorted(strong, key=lambda at: (-strength[at], at))]


def shared_words(texts: Sequence[str]) -> frozenset[str]:
    """Return the words that two of some remarks have in common, or those of a single one."""
    among = Counter(word for text in texts for word in set(_words(text)))
    return frozenset(word for word, times in among.items() if times > 1 or len(texts) == 1)


def _words(text: str) -> Iterator[str]:
    """Yield what a remark is about: beginnings of words, without fillers; names in code as they are."""
    plain = _SHORT.sub(" ", _QUOTED.sub(" ", text.casefold().replace("\u2019", "'")))
    for word in _WORD.findall(plain):
        if re.match(f"[{_UNSPACED}]", word):
            yield from (word[at : at + 2] for at in range(len(word) - 1))
        elif word not in _FILLERS and len(word) > 1:
            yield word[:_STEM] if word.isalpha() else word


def _similarities(words: Sequence[Mapping[str, int]]) -> dict[tuple[int, int], float]:
    """Return the cosine similarities of TF-IDF weights, of pairs that share enough."""
    among = Counter(word for own in words for word in own)
    holders: dict[str, list[tuple[int, float]]] = defaultdict(list)
    found: dict[tuple[int, int], float] = {}
    for at, own in enumerate(words):
        if not _SHARED <= len(own) <= _MOST_WORDS:
            continue
        weights = {
            word: (1 + log(times)) * log(1 + len(words) / max(among[word], _RARE)) for word, times in own.items()
        }
        length = sqrt(sum(weight * weight for weight in weights.values()))
        shared: dict[int, list[float]] = defaultdict(list)
        for word, weight in weights.items():
            for other, theirs in holders[word]:
                shared[other].append(theirs * weight / length)
            holders[word].append((at, weight / length))
        found |= {(other, at): sum(parts) for other, parts in shared.items() if len(parts) >= _SHARED}
    return found
