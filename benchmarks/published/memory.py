"""What memory alone would reach: each held-out task answered with the answer of the nearest train task.

Nearest by the words of the prompts: cosine of their counts, each word weighed by how rare it is among train prompts,
so that what all prompts have in common counts nothing. A skill text may simply hold answers; a gain that does not
exceed this row shows no more than that.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

__all__ = ["remembered"]

_WORD: Final = re.compile(r"\w+")


def remembered(known: Sequence[tuple[str, str]], asked: Sequence[str]) -> list[str]:
    """Answer prompts from memory.

    Args:
        known: Prompt and answer of each train task.
        asked: Prompts of held-out tasks.

    Returns:
        The answer of the nearest train task for each, of equally near ones the first; empty where none is known.
    """
    counts = [Counter(_WORD.findall(prompt.casefold())) for prompt, _ in known]
    held = Counter(word for count in counts for word in count)
    rarity = {word: math.log(len(known) / number) for word, number in held.items() if number < len(known)}
    postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
    for at, count in enumerate(counts):
        for word, weight in _direction(count, rarity).items():
            postings[word].append((at, weight))
    return [known[_nearest(prompt, rarity, postings)][1] if known else "" for prompt in asked]


def _nearest(prompt: str, rarity: Mapping[str, float], postings: Mapping[str, Sequence[tuple[int, float]]]) -> int:
    near: defaultdict[int, float] = defaultdict(float)
    for word, weight in _direction(Counter(_WORD.findall(prompt.casefold())), rarity).items():
        for at, own in postings.get(word, ()):
            near[at] += weight * own
    return min(near, key=lambda at: (-near[at], at), default=0)


def _direction(count: Counter[str], rarity: Mapping[str, float]) -> dict[str, float]:
    weights = {word: number * rarity[word] for word, number in count.items() if word in rarity}
    length = math.hypot(*weights.values()) or 1.0
    return {word: weight / length for word, weight in weights.items()}
