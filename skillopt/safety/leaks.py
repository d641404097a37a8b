"""Detect leaks: text of verifiers, answers or held-out tasks in an edit, or one training answer memorised.

Four kinds of evidence count; each is rare by chance, and none is what general rules are made of:

1. *Quote*: eight words in a row, the length that is common for decontamination.
2. *Data points*: numbers, and names of held-out tables, of one task, which together are too specific to be an example:
   two cells of a row are.
3. *Told answers*: a short answer beside words of its prompt, a line about one answer, or a table of several: values
   and names of answers of single tasks, each near words of its task's prompt; numbers in words are numbers.
4. *Id*: the id of a task, where it is not a word that a rule may use.

What the skill or the training tasks show is no secret, nor is what a training task's verifier can say as feedback: its
options, the names of its checks and the quoted strings of its code, but no criterion of a rubric; with folds, what two
verifiers or more can say. It follows from the whole suite alone, so that training, proposals and the change gate decide
alike. What several training answers have is a rule, not a memory. Case, width, spaces and punctuation are ignored, and
plain encodings are read. A paraphrase, a translation, fewer than eight words without data and one value on its own pass
unseen. Scan all that was added since the first version of a skill: a leak in pieces is seen whole.
"""

import base64
import codecs
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Final

from skillopt.safety.told_answers import Answers, Words, find_told, index_answers, split_words, write_numbers
from skillopt.tasks import JUDGED_KINDS, Split, Suite, Task

_RUN: Final = 8
"""Words in a row that make a quote."""

_HELD_OUT_WEIGHT: Final = 8
_TRAIN_WEIGHT: Final = 30
"""How specific values must be together. A value weighs its length less one: `CON-0425` 6, a date 7, a telephone number
11; one of three signs less, a year nothing. Examples from training tasks are welcome in a rule, so more are allowed."""

_WORD_BYTES: Final = 7
_EXACT_WORDS: Final = 500_000
_EXACT_TEXT: Final = 2_000
"""Of a suite with up to so many protected words, and of texts up to so many, every run is known. Beyond,
runs at regular distances, so that a quote must be longer to be found for sure, by the factor of the excess."""

_CODE: Final = (".bash", ".go", ".java", ".js", ".pl", ".py", ".rb", ".rs", ".sh", ".sql", ".ts")

_SPACED: Final = dict.fromkeys(b".-/:_'+`*~#@\\^$%", " ")
_NUMBERS = re.compile(r"\d+")
_LEAST_ID: Final = 4
_SERIES: Final = 3
"""Ids that differ in a number only, from which on they are no words of a rule, as `utf8` or `iso-8601` may be."""

_QUOTED = re.compile(
    r"""(?:(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)\s*[rbfu]{0,2})+""", re.DOTALL
)
"""String literals of most languages; what stands side by side is one text."""

_DIGIT = re.compile(rb"[0-9]")
_CELL: Final = re.compile(r"[^,;|\t{}\[\]\"]{4,80}")
_YEAR: Final = re.compile(rb"(?:19|20)\d\d")
_SHORT_VALUE: Final = 3
_NAME_WORDS: Final = 6
_NAME_WEIGHT: Final = 6  # at most, so that one name alone is never enough
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){4,}")
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_SPACED_OUT: Final = re.compile(r"(?:(?<=\s\S)|(?<=^\S))[ \t](?=\S(?:\s|$))")


class LeakClass(StrEnum):
    """Which protected text an edit shares."""

    VERIFIER = "verifier"
    HELD_OUT_ANSWER = "held-out answer"
    HELD_OUT_TASK = "held-out task"
    TRAIN_ANSWER = "training answer"
    TASK_ID = "task id"


LEAK_REASON: Final = (
    "it repeats text of a task, of an answer or of a verifier; write the rule that leads to such results, in words of "
    "its own and without names or values of single tasks"
)
"""What the optimizer model is told; the same for every class, or it would tell which texts are kept for checking."""


_TOLD: Final = {LeakClass.HELD_OUT_ANSWER: 2, LeakClass.TRAIN_ANSWER: 3}
"""Words of its prompt with which a whole answer is told, and tasks whose answers make a table."""


@dataclass(frozen=True, slots=True)
class ProtectedText:
    """What edits are compared with, made once for a suite by `index_protected_text`.

    It holds hashes of runs of words by class, numbers and names by task and class, short answers and
    their data with the words of their prompts, what training shows (prompts, input files, verifiers), and ids of tasks.
    """

    runs: dict[LeakClass, frozenset[int]]
    points: dict[tuple[bytes, ...], frozenset[tuple[LeakClass, int]]]
    answers: Answers
    classes: tuple[LeakClass, ...]
    shown: tuple[bytes, bytes, bytes]
    ids: frozenset[bytes] = frozenset()


def index_protected_text(suite: Suite) -> ProtectedText:
    """Index the text of a suite that edits must not contain; of one fold as `train`, that of the suite in folds."""
    suite = suite.whole or suite
    suite = replace(suite, splits=tuple((split, task.with_image_files) for split, task in suite.splits))
    step = 1 + _size(suite) // (_WORD_BYTES * _EXACT_WORDS)
    runs: dict[LeakClass, set[int]] = {kind: set() for kind in LeakClass}
    shared: Counter[int] = Counter()
    points: dict[tuple[bytes, ...], frozenset[tuple[LeakClass, int]]] = defaultdict(frozenset)
    for at, (split, task) in enumerate(suite.splits):
        for kind, texts in _protected(split, task).items():
            words = [split_words(text) for text in texts]
            found = set(chain.from_iterable(_runs(one, step) for one in words))
            shared.update(found if kind is LeakClass.TRAIN_ANSWER else ())
            runs[kind] |= found
            # Options are compared as values too: a number may be all there is of an answer.
            place = {(_answer_class(split) if kind is LeakClass.VERIFIER else kind, at)}
            names = map(_names, texts if split is not Split.TRAIN and kind is not LeakClass.VERIFIER else ())
            for value in {(word,) for word in chain.from_iterable(words) if _DIGIT.search(word)}.union(*names):
                points[value] |= place
    runs[LeakClass.TRAIN_ANSWER] = {run for run, tasks in shared.items() if tasks == 1}
    runs[LeakClass.VERIFIER] -= _open_runs(suite)
    train, classes = suite.tasks(Split.TRAIN), tuple(_answer_class(split) for split, _ in suite.splits)
    reference = chain.from_iterable(
        (*task.verifier.leaves, *(file.text for file in task.verifier.files)) for task in train
    )
    shown = (
        _joined(task.prompt for task in train),
        _joined(file.text for task in train for file in task.files),
        _joined(reference),
    )
    return ProtectedText(
        {kind: frozenset(found) for kind, found in runs.items()},
        points,
        index_answers([task for _, task in suite.splits], [_TOLD[kind] for kind in classes]),
        classes,
        shown,
        ids=frozenset(chain.from_iterable(map(split_words, _numbered(suite)))),
    )


def find_leaks(protected: ProtectedText, added: str, skill: str) -> tuple[LeakClass, ...]:
    """Find the classes of protected text in an edit; the text of the skill before it is no secret."""
    found: set[LeakClass] = set()
    known = split_words(skill)
    for reading in _readings(added):
        words = split_words(reading)
        found.update(_quoted(protected, words, known), _pointed(protected, words, known))
        found.update(protected.classes[task] for task in find_told(protected.answers, reading, known))
        if protected.ids & set(words) - set(known):
            found.add(LeakClass.TASK_ID)
    return tuple(kind for kind in LeakClass if kind in found)


def _readings(text: str) -> Iterator[str]:
    """Yield a text, what it says where it is encoded, and with spaces for signs, which could stand in for them."""
    yield from (text, text.translate(_SPACED), text[::-1], codecs.encode(text, "rot13"))
    yield _PERCENT.sub(lambda one: _decoded(bytes.fromhex, one[0].replace("%", "")), text)
    yield "\n".join(_decoded(base64.b64decode, f"{one.rstrip('=')}==", b"-_") for one in _BASE64.findall(text))
    yield "\n".join(_decoded(bytes.fromhex, one.replace(":", " ")) for one in _HEX.findall(text))
    yield _SPACED_OUT.sub("", text)
    yield write_numbers(text)


def _decoded(decode: Callable[..., bytes], *encoded: str | bytes) -> str:
    try:
        return decode(*encoded).decode()
    except ValueError:
        return ""


def _quoted(protected: ProtectedText, words: Words, known: Words) -> Iterator[LeakClass]:
    """Find runs of words that only protected text has."""
    runs = list(_runs(words, 1))
    fresh = set(runs) - set(_runs(known, 1))
    for kind, secret in protected.runs.items():
        common = fresh & secret
        starts = [start for start, run in enumerate(runs) if run in common]
        starts = [start for start in starts if not _is_shown(protected, kind, words[start : start + _RUN])]
        covered = len({start + offset for start in starts for offset in range(_RUN)})
        # A rule may show a line of a training task as its example; it may not consist of one.
        if covered and (kind is not LeakClass.TRAIN_ANSWER or covered >= min(2 * _RUN, len(words) / 2)):
            yield kind


def _pointed(protected: ProtectedText, words: Words, known: Words) -> Iterator[LeakClass]:
    """Find values that together point at one task: none that is shown, or that several training answers have."""
    weights: Counter[tuple[LeakClass, int]] = Counter()
    runs = (tuple(words[start : start + size]) for start in range(len(words)) for size in range(1, _NAME_WORDS + 1))
    said = _joined_words(known)
    for value in {run for run in runs if run in protected.points}:
        places = protected.points[value]
        answers = {place for place in places if place[0] is LeakClass.TRAIN_ANSWER}
        for place in places if _joined_words(value) not in said else ():
            if len(answers) == 1 if place in answers else not _is_shown(protected, place[0], value):
                weights[place] += _weigh(value)
    yield from (
        kind
        for (kind, _), weight in weights.items()
        if weight >= (_TRAIN_WEIGHT if kind is LeakClass.TRAIN_ANSWER else _HELD_OUT_WEIGHT)
    )


def _weigh(value: Sequence[bytes]) -> int:
    text = b"".join(value)
    size = len(text) if _DIGIT.search(text) else min(len(text), _NAME_WEIGHT + 1)
    return 0 if _YEAR.fullmatch(text) else size - 1 - (size <= _SHORT_VALUE)


def _names(text: str) -> set[tuple[bytes, ...]]:
    """List the cells of a table that are names: several words, each with a capital."""
    found = {cell: tuple(split_words(cell)) for line in text.splitlines() for cell in _CELL.findall(line)}
    return {
        words
        for cell, words in found.items()
        if 1 < len(words) <= _NAME_WORDS and all(word[:1].isupper() for word in cell.split())
    }


def _numbered(suite: Suite) -> Iterator[str]:
    """List the ids of tasks that are numbered alike: of one word each, and of which a rule knows none by chance."""
    names = [task.id for _, task in suite.splits if len(split_words(task.id)) == 1 and len(task.id) >= _LEAST_ID]
    alike = Counter(_NUMBERS.sub("#", name) for name in names)
    for name in names:
        shape = _NUMBERS.sub("#", name)
        if shape not in (name, "#") and alike[shape] >= _SERIES:
            yield name


def _is_shown(protected: ProtectedText, kind: LeakClass, run: Sequence[bytes]) -> bool:
    """Return whether training tasks show a run of words, so that it can be known without a leak.

    Their answers count as shown where held-out text is at stake: a rule can be learnt from them.
    """
    prompts, files, verifiers = protected.shown
    others = {LeakClass.TRAIN_ANSWER: (), LeakClass.VERIFIER: (files,)}.get(kind, (files, verifiers))
    wanted = _joined_words(run)
    return any(wanted in text for text in (prompts, *others))


def _open_runs(suite: Suite) -> set[int]:
    """Collect the runs of words that verifiers can show to a proposer on training tasks."""
    teaching = [task for split, task in suite.splits if suite.folds or split is Split.TRAIN]
    said = Counter[int]()
    for task in teaching:
        said.update({run for text in _feedback_texts(task) for run in _runs(split_words(text), 1)})
    return {run for run, tasks in said.items() if tasks > 1 or not suite.folds}


def _feedback_texts(task: Task) -> Iterator[str]:
    """Yield what a task's verifier can say as feedback, with the names of its checks."""
    if task.verifier.kind == "checks":
        yield from (each.get("name", "") for each in json.loads(task.verifier.options).get("checks", ()))
    for part in task.verifier.parts:
        leaves = part.leaves if part.kind not in JUDGED_KINDS else []
        yield from (text for leaf in leaves for text in (_QUOTED.findall(leaf) if part.kind == "command" else (leaf,)))
    for file in task.verifier.files:
        yield from _QUOTED.findall(file.text) if file.path.endswith(_CODE) else ()


def _protected(split: Split, task: Task) -> dict[LeakClass, list[str]]:
    """Sort a task's texts by class."""
    code = [file for file in task.verifier.files if file.path.endswith(_CODE)]
    texts = {
        LeakClass.VERIFIER: [*task.verifier.leaves, *(file.text for file in code)],
        _answer_class(split): [file.text for file in task.verifier.files if file not in code],
    }
    if split is not Split.TRAIN:
        texts[LeakClass.HELD_OUT_TASK] = [task.prompt, *(file.text for file in task.files)]
    return texts


def _answer_class(split: Split) -> LeakClass:
    return LeakClass.TRAIN_ANSWER if split is Split.TRAIN else LeakClass.HELD_OUT_ANSWER


def _size(suite: Suite) -> int:
    return sum(
        len(task.prompt) + sum(len(file.content) for file in (*task.files, *task.verifier.files))
        for _, task in suite.splits
    )


def _joined(texts: Iterable[str]) -> bytes:
    return b"\n".join(_joined_words(split_words(text)) for text in texts)


def _joined_words(words: Sequence[bytes]) -> bytes:
    return b" %b " % b" ".join(words)


def _runs(words: Words, step: int) -> Iterator[int]:
    """Hash runs of words, in a long text every `step`-th of them."""
    every = 1 if len(words) <= _EXACT_TEXT else step
    return map(hash, zip(*(words[start::every] for start in range(_RUN)), strict=False))
