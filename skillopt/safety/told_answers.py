"""Find answers of single tasks that a text tells: values and names of one answer alone, beside words of its prompt.

One such pair may be an example; several are a table of answers, and a line that consists of one is a memory. Criteria
and commands are no answers, as their numbers are rules; a single word without digits is none, as it may be a label.
"""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from skillopt.tasks import JUDGED_KINDS, Task

_SHORT: Final = 7
_SHORT_TEXT: Final = 400
"""A line of so many words, of a reference answer of so many characters, is looked for as a whole."""

_NEAR: Final = 12
"""Words between a value and those of its prompt: four names, and then their values in a row, are a table, too."""

_LEAST_LETTERS: Final = 4
"""Shorter answers, such as `42` or `yes`, and shorter words of a prompt prove nothing by themselves."""

_SHARE: Final = 2 / 3
"""Part of a line's words that one task has, from which on the line is about nothing else."""

# Signs inside values and names are dropped, so that `CON-0425` is one word however it is punctuated.
# Other signs divide words.
_KEPT = b"abcdefghijklmnopqrstuvwxyz0123456789"
_INSIDE: Final = b".-/:_'+`*~#@\\^$%"
_TABLE: Final = bytes(
    code if code >= 0x80 or bytes([code]) in _KEPT else ord(chr(code).lower()) if chr(code).isupper() else 0x20  # noqa: PLR2004 - the end of ASCII
    for code in range(256)
)
_FOREIGN_SIGNS = re.compile(r"[^\w\x00-\x7f]+")
_QUANTIFIER = re.compile(r"\{\d*,?\d*\}")
_VALUE = re.compile(r"\S*\d\S*\d\S*|(?<=\s)[^\W\d_a-z]\w+")
_NO_ANSWERS: Final = JUDGED_KINDS | {"command"}

_SMALL: Final = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBERS: Final = dict(zip((*_SMALL, *_TENS, "oh"), (*range(20), *range(20, 100, 10), 0), strict=True))
_SCALES: Final = {"hundred": 100, "thousand": 1000}
_NUMBER: Final = rf"(?:{'|'.join((*_NUMBERS, *_SCALES))}|\d+)\b"
_IN_WORDS: Final = re.compile(rf"\b{_NUMBER}(?:[ -](?:and )?{_NUMBER})*", re.IGNORECASE)
_GROUPED: Final = re.compile(r"(?<=\d)[,.'](?=\d{3}\b)|(?<=\d)[.,]00?\b")

Words = list[bytes]
_Values = dict[tuple[bytes, ...], frozenset[int]]


@dataclass(frozen=True, slots=True)
class Answers:
    """Short answers, and data that one answer alone has, with their tasks; of each task what `find_told` asks.

    `rare` are the words of its prompt that at most a third of the tasks have.
    """

    whole: _Values
    data: _Values
    rare: tuple[frozenset[bytes], ...]
    words: tuple[frozenset[bytes], ...]
    least: tuple[int, ...]


def index_answers(tasks: Sequence[Task], least: Sequence[int]) -> Answers:
    """Index the short answers of tasks and their data, without what a task's own prompt says."""
    prompts = [frozenset(word for word in split_words(task.prompt) if len(word) >= _LEAST_LETTERS) for task in tasks]
    asked = Counter(chain.from_iterable(prompts))
    seen: Counter[bytes] = Counter()
    words: list[frozenset[bytes]] = []
    whole: _Values = defaultdict(frozenset)
    data: _Values = defaultdict(frozenset)
    for at, task in enumerate(tasks):
        said, lines = split_words(write_numbers(task.prompt)), _answer_lines(task)
        words.append(frozenset((*said, *chain.from_iterable(map(split_words, lines)))))
        seen.update(words[at].union(*(split_words(file.text) for file in task.files)))
        for line in lines:
            answer = tuple(split_words(line))
            is_short = len(answer) <= _SHORT and len(b"".join(answer)) >= _LEAST_LETTERS
            parts = [answer] if is_short and len(answer) > 1 else []
            values = [tuple(split_words(value)) for value in _VALUE.findall(line)]
            for found, those in ((whole, [answer] if is_short else []), (data, parts + values)):
                for value in those:
                    found[value] |= set() if _contains(said, value) else {at}
    alone = {one: found for one, found in data.items() if one and len(found) == 1 == min(seen[word] for word in one)}
    rare = (frozenset(word for word in prompt if asked[word] <= max(1, len(tasks) // 3)) for prompt in prompts)
    return Answers(whole, alone, tuple(rare), tuple(words), tuple(least))


def find_told(answers: Answers, text: str, known: Words) -> set[int]:
    """Find the tasks whose answer a text tells, as far as the skill before does not say it.

    An answer is told beside `least` words of its prompt, by a line about nothing else, or in a table of `least` tasks.
    """
    lines = [line for line in map(split_words, text.splitlines()) for _ in line]
    words = [word for line in map(split_words, text.splitlines()) for word in line]
    fresh, found = set(words).difference(known), set[int]()
    tables: dict[int, set[int]] = defaultdict(set)
    for start, end in ((start, start + size) for start in range(len(words)) for size in range(1, _SHORT + 1)):
        value = tuple(words[start:end])
        whole, data = answers.whole.get(value, frozenset()), answers.data.get(value, frozenset())
        if not (whole or data) or _contains(known, value):
            continue
        near = fresh.intersection(words[max(0, start - _NEAR) : end + _NEAR]).difference(value)
        for task in whole | data:
            keys, line, least = near & answers.rare[task], lines[start], answers.least[task]
            if not keys or any(keys <= other for at, other in enumerate(answers.rare) if at != task):
                continue
            tables[least].update(data)
            alone = keys.intersection(line) and sum(word in answers.words[task] for word in line) >= _SHARE * len(line)
            if (whole and len(keys) >= least) or (data and (alone or len(tables[least]) >= least)):
                found.add(task)
    return found


def _answer_lines(task: Task) -> list[str]:
    """List the lines that are or may be answers: of options, without lengths in patterns, and of reference files."""
    parts = (part for part in task.verifier.parts if part.kind not in _NO_ANSWERS)
    leaves = (_QUANTIFIER.sub(" ", leaf) for part in parts for leaf in part.leaves)
    short = [text for text in (*leaves, *(file.text for file in task.verifier.files)) if len(text) <= _SHORT_TEXT]
    return [write_numbers(line) for text in short for line in text.splitlines()]


def write_numbers(text: str) -> str:
    """Write numbers in digits, and those spelled digit by digit as one.

    >>> write_numbers("four hundred and eighteen, ninety-two; 1,365 or 92.00; two thousand three hundred four; oh one")
    '418, 92; 1365 or 92; 2304; 01'
    """
    return _IN_WORDS.sub(_digits, _GROUPED.sub("", text))


def _digits(match: re.Match[str]) -> str:
    numbers: list[int] = []
    for word in re.findall(r"[a-z]+|\d+", match[0].lower().replace(" and ", " ")):
        scale, last = _SCALES.get(word, 0), numbers[-1] if numbers else 0
        part = _NUMBERS[word] if word in _NUMBERS else int(word) if not scale else max(1, last % scale)
        if scale:
            numbers[-1:] = [last - last % scale + part * scale]
        elif last and last % 10 ** len(str(part)) == 0:
            numbers[-1] += part
        else:
            numbers.append(part)
    return ("" if max(numbers) < 10 else " ").join(map(str, numbers))  # noqa: PLR2004 - single digits


def split_words(text: str) -> Words:
    """Split a text into words without case, width and punctuation, as UTF-8."""
    if not text.isascii():
        text = _FOREIGN_SIGNS.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return text.encode("utf-8", "replace").translate(_TABLE, _INSIDE).split()


def _contains(words: Words, run: Sequence[bytes]) -> bool:
    return b" %b " % b" ".join(run) in b" %b " % b" ".join(words)
