"""Detect leaks: text of verifiers, answers or held-out tasks in an edit, or one training answer memorised.

Four kinds of evidence count; each is rare by chance, and none is what general rules are made of:

1. *Quote*: eight words in a row, the length that is common for decontamination.
2. *Data points*: values with digits of one task, in any order, which together are too specific to be an example.
3. *Answer*: a whole short reference answer, beside two words (three in training) that only its task's prompt has.
4. *Id*: the id of a task, where it is not a word that a rule may use.

What the skill or the training tasks show is no secret, nor is what a training task's verifier can say as feedback: its
options, the names of its checks and the quoted strings of its code, but no criterion of a rubric; with folds, what two
verifiers or more can say. It follows from the whole suite alone, so that training, proposals and the change gate decide
alike. For a training answer, what several training tasks have in common is a rule, not a memory. Case, width, spaces
and punctuation are ignored. Plain encodings are read, too. A paraphrase, a translation, fewer than eight words without
data and one value on its own pass unseen. Scan all that was added since the first version of a skill: a leak in pieces
is seen whole.
"""

import base64
import codecs
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Final

from skillopt.tasks import File, Split, Suite, Task

__all__ = ["LEAK_REASON", "LeakClass", "ProtectedText", "find_leaks", "index_protected_text"]

_RUN: Final = 8
"""Words in a row that make a quote."""

_SHORT: Final = 7
_SHORT_TEXT: Final = 400
"""A reference answer of at most so many words and characters is looked for as a whole."""

_HELD_OUT_WEIGHT: Final = 9
_TRAIN_WEIGHT: Final = 24
"""How specific values must be together. A value weighs its length less two: `CON-0425` 5, a date 6,
a telephone number 10. Examples from training tasks are welcome in a rule, so more of them are allowed."""

_PROMPT_WORDS: Final = 2
_TRAIN_PROMPT_WORDS: Final = 3
_LEAST_LETTERS: Final = 4
"""Shorter answers, such as `42` or `yes`, and shorter words of a prompt prove nothing."""

_WORD_BYTES: Final = 7
_EXACT_WORDS: Final = 500_000
_EXACT_TEXT: Final = 2_000
"""Of a suite with up to so many protected words, and of texts up to so many, every run is known. Beyond,
runs at regular distances, so that a quote must be longer to be found for sure, by the factor of the excess."""

_CODE: Final = (".bash", ".go", ".java", ".js", ".pl", ".py", ".rb", ".rs", ".sh", ".sql", ".ts")

# Signs inside values and names are dropped, so that `CON-0425` is one word however it is punctuated.
# Other signs divide words.
_KEPT = b"abcdefghijklmnopqrstuvwxyz0123456789"
_INSIDE: Final = b".-/:_'+`*~#@\\^$%"
_TABLE: Final = bytes(
    code if code >= 0x80 or bytes([code]) in _KEPT else ord(chr(code).lower()) if chr(code).isupper() else 0x20  # noqa: PLR2004 - the end of ASCII
    for code in range(256)
)
_SPACED: Final = dict.fromkeys(_INSIDE, " ")
_FOREIGN_SIGNS = re.compile(r"[^\w\x00-\x7f]+")
_NUMBERS = re.compile(r"\d+")
_SERIES: Final = 3
"""Ids that differ in a number only, from which on they are no words of a rule, as `utf8` or `iso-8601` may be."""

_QUOTED = re.compile(
    r"""(?:(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)\s*[rbfu]{0,2})+""", re.DOTALL
)
"""String literals of most languages; what stands side by side is one text."""

_HIDDEN: Final = frozenset({"rubric"})
"""Kinds of verifiers whose feedback never says what their options say."""

_DIGIT = re.compile(rb"[0-9]")
_BASE64: Final = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX: Final = re.compile(r"(?:[0-9a-fA-F]{2}[ :]?){4,}")
_PERCENT: Final = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_SPACED_OUT: Final = re.compile(r"(?:(?<=\s\S)|(?<=^\S))[ \t](?=\S(?:\s|$))")
_NAMES: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_POINTS: Final = {"oh": "0", "dash": "-", "hyphen": "-", "dot": ".", "point": "."}
_NUMERALS: Final = dict(zip(_NAMES, "0123456789", strict=True)) | _POINTS
_NUMERAL: Final = re.compile(rf"\b({'|'.join(_NUMERALS)})\b[ \t,-]{{0,3}}", re.IGNORECASE)

_Words = list[bytes]


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


@dataclass(frozen=True, slots=True)
class _Secret:
    """One task's text of one class: the values that it holds."""

    kind: LeakClass
    values: frozenset[bytes]


@dataclass(frozen=True, slots=True)
class ProtectedText:
    """What edits are compared with, made once for a suite by `index_protected_text`.

    It holds hashes of runs of words by class, values with digits by task and class, short answers with the words that
    only their task's prompt has, what training shows (prompts, input files, verifiers), and ids of tasks.
    """

    runs: dict[LeakClass, frozenset[int]]
    secrets: tuple[_Secret, ...]
    answers: dict[tuple[bytes, ...], tuple[tuple[LeakClass, frozenset[bytes]], ...]]
    shown: tuple[bytes, bytes, bytes]
    ids: frozenset[bytes] = frozenset()


def index_protected_text(suite: Suite) -> ProtectedText:
    """Index the text of a suite that edits must not contain; of one fold as `train`, that of the suite in folds."""
    suite = suite.whole or suite
    step = 1 + _size(suite) // (_WORD_BYTES * _EXACT_WORDS)
    runs: dict[LeakClass, set[int]] = {kind: set() for kind in LeakClass}
    shared: Counter[int] = Counter()
    secrets: list[_Secret] = []
    for split, task in suite.splits:
        for kind, texts in _protected(split, task).items():
            words = [_words(text) for text in texts]
            if kind is LeakClass.TRAIN_ANSWER:
                shared.update(set(chain.from_iterable(_runs(one, step) for one in words)))
            else:
                runs[kind].update(chain.from_iterable(_runs(one, step) for one in words))
            values = frozenset(filter(_DIGIT.search, set(chain.from_iterable(words))))
            # Options are compared as values too: a number may be all there is of an answer.
            secrets.append(_Secret(_answer_class(split) if kind is LeakClass.VERIFIER else kind, values))
    runs[LeakClass.TRAIN_ANSWER] = {run for run, tasks in shared.items() if tasks == 1}
    runs[LeakClass.VERIFIER] -= _open_runs(suite)
    train = suite.tasks(Split.TRAIN)
    shown = (
        _joined(task.prompt for task in train),
        _joined(chain.from_iterable(_texts(task.files) for task in train)),
        _joined(chain.from_iterable((*_texts(task.verifier.files), *_leaves(task.verifier.options)) for task in train)),
    )
    return ProtectedText(
        {kind: frozenset(found) for kind, found in runs.items()},
        tuple(secrets),
        _short_answers(suite),
        shown,
        frozenset(chain.from_iterable(map(_words, _numbered(suite)))),
    )


def find_leaks(protected: ProtectedText, added: str, skill: str) -> tuple[LeakClass, ...]:
    """Find the classes of protected text in an edit; the text of the skill before it is no secret."""
    found: set[LeakClass] = set()
    known = _words(skill)
    for reading in _readings(added):
        words = _words(reading)
        found.update(
            _quoted(protected, words, known), _pointed(protected, words, known), _answered(protected, words, known)
        )
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
    yield _NUMERAL.sub(lambda match: _NUMERALS[match[1].lower()], text)


def _decoded(decode: Callable[..., bytes], *encoded: str | bytes) -> str:
    try:
        return decode(*encoded).decode()
    except ValueError:
        return ""


def _quoted(protected: ProtectedText, words: _Words, known: _Words) -> Iterator[LeakClass]:
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


def _pointed(protected: ProtectedText, words: _Words, known: _Words) -> Iterator[LeakClass]:
    """Find values that together point at one task."""
    values = set(filter(_DIGIT.search, words)) - set(known)
    if _weight(values) < min(_TRAIN_WEIGHT, _HELD_OUT_WEIGHT):
        return
    for secret in protected.secrets:
        common = values & secret.values
        if not common:
            continue
        least = _TRAIN_WEIGHT if secret.kind is LeakClass.TRAIN_ANSWER else _HELD_OUT_WEIGHT
        if _weight(common) >= least and _weight(_only_in(protected, secret, common)) >= least:
            yield secret.kind


def _answered(protected: ProtectedText, words: _Words, known: _Words) -> Iterator[LeakClass]:
    """Find short answers together with what was asked."""
    asked = set(words) - set(known)
    for start in range(len(words)):
        for end in range(start + 1, min(start + _SHORT, len(words)) + 1):
            answer = words[start:end]
            for kind, rare in protected.answers.get(tuple(answer), ()):
                least = _TRAIN_PROMPT_WORDS if kind is LeakClass.TRAIN_ANSWER else _PROMPT_WORDS
                if len((rare & asked).difference(answer)) >= least and not _contains(known, answer):
                    yield kind


def _numbered(suite: Suite) -> Iterator[str]:
    """List the ids of tasks that are numbered alike: of one word each, and of which a rule knows none by chance."""
    names = [task.id for _, task in suite.splits if len(_words(task.id)) == 1 and len(task.id) >= _LEAST_LETTERS]
    alike = Counter(_NUMBERS.sub("#", name) for name in names)
    for name in names:
        shape = _NUMBERS.sub("#", name)
        if shape not in (name, "#") and alike[shape] >= _SERIES:
            yield name


def _weight(values: Iterable[bytes]) -> int:
    return sum(max(len(value) - 2, 0) for value in values)


def _only_in(protected: ProtectedText, secret: _Secret, values: set[bytes]) -> set[bytes]:
    """Drop values that are no secret: shown by training tasks, or common to several training answers."""
    if secret.kind is LeakClass.TRAIN_ANSWER:
        others = (other for other in protected.secrets if other.kind is LeakClass.TRAIN_ANSWER and other is not secret)
        return values.difference(*(other.values for other in others))
    return {value for value in values if not _is_shown(protected, secret.kind, [value])}


def _is_shown(protected: ProtectedText, kind: LeakClass, run: Sequence[bytes]) -> bool:
    """Return whether training tasks show a run of words, so that it can be known without a leak.

    Their answers count as shown where held-out text is at stake: a rule can be learnt from them.
    """
    prompts, files, verifiers = protected.shown
    others = {LeakClass.TRAIN_ANSWER: (), LeakClass.VERIFIER: (files,)}.get(kind, (files, verifiers))
    wanted = b" %b " % b" ".join(run)
    return any(wanted in text for text in (prompts, *others))


def _short_answers(suite: Suite) -> dict[tuple[bytes, ...], tuple[tuple[LeakClass, frozenset[bytes]], ...]]:
    """List the answers short enough to be said in passing, with the words that only their prompts have."""
    prompts = [
        frozenset(word for word in _words(task.prompt) if len(word) >= _LEAST_LETTERS) for _, task in suite.splits
    ]
    common = {word for word, tasks in Counter(chain.from_iterable(prompts)).items() if tasks > 1}
    answers: dict[tuple[bytes, ...], tuple[tuple[LeakClass, frozenset[bytes]], ...]] = {}
    for (split, task), prompt in zip(suite.splits, prompts, strict=True):
        for text in {*_leaves(task.verifier.options), *_texts(task.verifier.files)}:
            words = tuple(_words(text)) if len(text) <= _SHORT_TEXT else ()
            is_said = _contains(_words(task.prompt), words)
            if len(words) <= _SHORT and len(b"".join(words)) >= _LEAST_LETTERS and not is_said:
                answers[words] = (*answers.get(words, ()), (_answer_class(split), prompt - common))
    return answers


def _open_runs(suite: Suite) -> set[int]:
    """Collect the runs of words that verifiers can show to a proposer on training tasks."""
    teaching = [task for split, task in suite.splits if suite.folds or split is Split.TRAIN]
    said = Counter[int]()
    for task in teaching:
        said.update({run for text in _feedback_texts(task) for run in _runs(_words(text), 1)})
    return {run for run, tasks in said.items() if tasks > 1 or not suite.folds}


def _feedback_texts(task: Task) -> Iterator[str]:
    """Yield what a task's verifier can say as feedback, with the names of its checks."""
    if task.verifier.kind == "checks":
        yield from (each.get("name", "") for each in json.loads(task.verifier.options).get("checks", ()))
    for part in task.verifier.parts:
        leaves = _leaves(part.options) if part.kind not in _HIDDEN else []
        yield from (text for leaf in leaves for text in (_literals(leaf) if part.kind == "command" else (leaf,)))
    for text in _texts(file for file in task.verifier.files if file.path.endswith(_CODE)):
        yield from _literals(text)


def _literals(code: str) -> list[str]:
    return _QUOTED.findall(code)


def _protected(split: Split, task: Task) -> dict[LeakClass, list[str]]:
    """Sort a task's texts by class."""
    code = [file for file in task.verifier.files if file.path.endswith(_CODE)]
    texts = {
        LeakClass.VERIFIER: [*_leaves(task.verifier.options), *_texts(code)],
        _answer_class(split): _texts(file for file in task.verifier.files if file not in code),
    }
    if split is not Split.TRAIN:
        texts[LeakClass.HELD_OUT_TASK] = [task.prompt, *_texts(task.files)]
    return texts


def _answer_class(split: Split) -> LeakClass:
    return LeakClass.TRAIN_ANSWER if split is Split.TRAIN else LeakClass.HELD_OUT_ANSWER


def _texts(files: Iterable[File]) -> list[str]:
    """Read text files; others are left out."""
    return [file.content.decode("utf-8", "ignore") for file in files if b"\0" not in file.content]


def _leaves(options: str) -> list[str]:
    """List the texts and numbers in a verifier's options."""
    pending, leaves = [json.loads(options)], []
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            leaves.append(str(value))
    return leaves


def _size(suite: Suite) -> int:
    return sum(
        len(task.prompt) + sum(len(file.content) for file in (*task.files, *task.verifier.files))
        for _, task in suite.splits
    )


def _joined(texts: Iterable[str]) -> bytes:
    return b"\n".join(b" %b " % b" ".join(_words(text)) for text in texts)


def _words(text: str) -> _Words:
    """Split a text into words without case, width and punctuation, as UTF-8."""
    if not text.isascii():
        text = _FOREIGN_SIGNS.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return text.encode("utf-8", "replace").translate(_TABLE, _INSIDE).split()


def _runs(words: _Words, step: int) -> Iterator[int]:
    """Hash runs of words, in a long text every `step`-th of them."""
    every = 1 if len(words) <= _EXACT_TEXT else step
    return map(hash, zip(*(words[start::every] for start in range(_RUN)), strict=False))


def _contains(words: _Words, run: Sequence[bytes]) -> bool:
    return b" %b " % b" ".join(run) in b" %b " % b" ".join(words)
