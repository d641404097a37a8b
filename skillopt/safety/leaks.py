"""Detect leaks: text of verifiers, answers or held-out tasks in an edit, or one training answer memorised.

1. *Quote*: eight words in a row, the length that is common for decontamination.
2. *Values*: numbers and names that one task alone has: two of a held-out task, one long one, six of a training answer,
   or values of three tasks.
3. *Row*: the first two cells of a row of a held-out answer. 4. *Id*: the id of a task, where no rule has it as a word.

What the skill or training shows is no secret: with the feedback of its verifiers, but no criterion of a rubric; with
folds, what two verifiers or more can say. What several training answers have is a rule. Case, width, spaces and
punctuation are ignored. Encoded, spelled out, translated or rephrased text passes unseen, and so does one short value.
"""

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Final

from skillopt.tasks import JUDGED_KINDS, Split, Suite, Task

_RUN: Final = 8  # words in a row that make a quote
_LEAST_VALUE: Final = 4  # characters: shorter values are in every text
_LONG_VALUE: Final = 9  # characters: longer than a date or an order's number, which a rule may show
_HELD_OUT_VALUES: Final = 2  # one may be an example by chance
_TRAIN_VALUES: Final = 6  # a rule may show a row of a training task: at most five values in the demo's tables
_TABLE: Final = 3  # tasks whose answers make a table
_NAME_WORDS: Final = 6  # longer cells are sentences, which are found as quotes
_LEAST_ROW: Final = 8  # characters of two cells: shorter ones, as `1,2`, are in every table

_CODE: Final = (".bash", ".go", ".java", ".js", ".pl", ".py", ".rb", ".rs", ".sh", ".sql", ".ts")
_NUMBERS: Final = re.compile(r"\d+")
_LEAST_ID: Final = 4  # characters: a shorter id is a word
_SERIES: Final = 3  # ids that differ in a number only: `utf8` and `iso-8601` are words of a rule
_QUOTED: Final = re.compile(  # literals of most languages; what stands side by side is one text
    r"""(?:(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`[^`]*`)\s*[rbfu]{0,2})+""", re.DOTALL
)

_DIGIT: Final = re.compile(rb"[0-9]")
_YEAR: Final = re.compile(rb"(?:19|20)\d\d")
_CELLS: Final = re.compile(r"[,;|\t]")
# Signs inside values and names are dropped, so that `CON-0425` is one word however it is punctuated.
# Other signs divide words.
_INSIDE: Final = b".-/:_'+`*~#@\\^$%"
_SPACED: Final = dict.fromkeys(_INSIDE, " ")
_TABLE_OF_SIGNS: Final = bytes(
    code if code >= 0x80 or chr(code).isalnum() else 0x20  # noqa: PLR2004 - the end of ASCII
    for code in range(256)
)
_FOREIGN_SIGNS: Final = re.compile(r"[^\w\x00-\x7f]+")

Words = list[bytes]


class LeakClass(StrEnum):
    """Which protected text an edit shares."""

    VERIFIER = "verifier"
    HELD_OUT_ANSWER = "held-out answer"
    HELD_OUT_TASK = "held-out task"
    TRAIN_ANSWER = "training answer"
    TASK_ID = "task id"


LEAK_REASON: Final = (  # the same for every class, or it would tell which texts are kept for checking
    "it repeats text of a task, of an answer or of a verifier; write the rule that leads to such results, in words of "
    "its own and without names or values of single tasks"
)

_Values = dict[tuple[bytes, ...], frozenset[tuple[LeakClass, int]]]


@dataclass(frozen=True, slots=True)
class ProtectedText:
    """Hashes of runs of words by class, values and first cells by task, what training shows, and ids of tasks."""

    runs: dict[LeakClass, frozenset[int]]
    values: _Values
    rows: _Values
    shown: tuple[bytes, bytes, bytes]
    ids: frozenset[bytes] = frozenset()


def index_protected_text(suite: Suite) -> ProtectedText:
    """Index the text of a suite that edits must not contain; of one fold as `train`, that of the suite in folds."""
    suite = suite.whole or suite
    suite = replace(suite, splits=tuple((split, task.with_image_files) for split, task in suite.splits))
    runs: dict[LeakClass, set[int]] = {kind: set() for kind in LeakClass}
    shared: Counter[int] = Counter()
    values: _Values = defaultdict(frozenset)
    rows: _Values = defaultdict(frozenset)
    for at, (split, task) in enumerate(suite.splits):
        for kind, texts in _protected(split, task).items():
            words = [split_words(text) for text in texts]
            found = set(chain.from_iterable(map(_runs, words)))
            shared.update(found if kind is LeakClass.TRAIN_ANSWER else ())
            runs[kind] |= found
            # Options are compared as values too: a number may be all there is of an answer.
            place = {(_answer_class(split) if kind is LeakClass.VERIFIER else kind, at)}
            held_out = texts if split is not Split.TRAIN and kind is not LeakClass.VERIFIER else ()
            numbers = (
                (word,)
                for word in chain.from_iterable(words)
                if len(word) >= _LEAST_VALUE and _DIGIT.search(word) and not _YEAR.fullmatch(word)
            )
            for value in chain(numbers, *map(_names, held_out)):
                values[value] |= place
            for row in chain(*map(_first_cells, held_out if kind is LeakClass.HELD_OUT_ANSWER else ())):
                rows[row] |= place
    runs[LeakClass.TRAIN_ANSWER] = {run for run, tasks in shared.items() if tasks == 1}
    runs[LeakClass.VERIFIER] -= _open_runs(suite)
    train = suite.tasks(Split.TRAIN)
    reference = (text for task in train for text in (*task.verifier.leaves, *(one.text for one in task.verifier.files)))
    files = (file.text for task in train for file in task.files)
    shown = _joined(task.prompt for task in train), _joined(files), _joined(reference)
    ids = frozenset(chain.from_iterable(map(split_words, _numbered(suite))))
    return ProtectedText({kind: frozenset(found) for kind, found in runs.items()}, values, rows, shown, ids)


def find_leaks(protected: ProtectedText, added: str, skill: str) -> tuple[LeakClass, ...]:
    """Find the classes of protected text in an edit; the text of the skill before it is no secret."""
    found, known = set[LeakClass](), split_words(skill)
    for words in (split_words(added), split_words(added.translate(_SPACED))):
        found.update(_quoted(protected, words, known), _pointed(protected, words, known))
        if protected.ids & set(words) - set(known):
            found.add(LeakClass.TASK_ID)
    return tuple(kind for kind in LeakClass if kind in found)


def _quoted(protected: ProtectedText, words: Words, known: Words) -> Iterator[LeakClass]:
    """Find runs of words that only protected text has."""
    runs = list(_runs(words))
    fresh = set(runs) - set(_runs(known))
    for kind, secret in protected.runs.items():
        starts = [start for start, run in enumerate(runs) if run in fresh and run in secret]
        starts = [start for start in starts if not _is_shown(protected, kind, words[start : start + _RUN])]
        covered = len({start + offset for start in starts for offset in range(_RUN)})
        # A rule may show a line of a training task as its example; it may not consist of one.
        if covered and (kind is not LeakClass.TRAIN_ANSWER or covered >= min(2 * _RUN, len(words) / 2)):
            yield kind


def _pointed(protected: ProtectedText, words: Words, known: Words) -> Iterator[LeakClass]:
    """Find values and rows that point at tasks: none that is shown, or that several training answers have."""
    said, found = _joined_words(known), defaultdict[tuple[LeakClass, int], list[tuple[bytes, ...]]](list)
    runs = {tuple(words[start : start + size]) for start in range(len(words)) for size in range(1, 2 * _NAME_WORDS + 1)}
    known_runs = (run for run in runs if run in protected.values or run in protected.rows)
    for value in (run for run in known_runs if _joined_words(run) not in said):
        places = protected.values.get(value, frozenset())
        answers = sum(kind is LeakClass.TRAIN_ANSWER for kind, _ in places)
        for place in places:
            if answers == 1 if place[0] is LeakClass.TRAIN_ANSWER else not _is_shown(protected, place[0], value):
                found[place].append(value)
        yield from (kind for kind, _ in protected.rows.get(value, ()) if not _is_shown(protected, kind, value))
    tasks = Counter(kind for kind, _ in found)
    for (kind, _), values in found.items():
        if kind is LeakClass.TRAIN_ANSWER:
            is_leak = len(values) >= _TRAIN_VALUES
        else:
            is_long = any(len(one) == 1 and len(one[0]) >= _LONG_VALUE for one in values)
            is_table = tasks[kind] >= _TABLE and kind is LeakClass.HELD_OUT_ANSWER
            is_leak = len(values) >= _HELD_OUT_VALUES or is_long or is_table
        if is_leak:
            yield kind


def _names(text: str) -> Iterator[tuple[bytes, ...]]:
    """List the cells of a table that are names of several words with capitals."""
    for cell in (cell.strip(" []{}\"'") for line in text.splitlines() for cell in _CELLS.split(line)):
        words = tuple(split_words(cell))
        if 1 < len(words) <= _NAME_WORDS and all(word[:1].isupper() for word in cell.split()):
            yield words


def _first_cells(text: str) -> Iterator[tuple[bytes, ...]]:
    """List the first two cells of the rows below a head."""
    for line in text.splitlines()[1:]:
        cells = [tuple(split_words(cell)) for cell in _CELLS.split(line.strip().removeprefix("|"))[:2]]
        row = tuple(chain.from_iterable(cells))
        if len(cells) > 1 and all(cells) and len(row) <= 2 * _NAME_WORDS and len(b"".join(row)) >= _LEAST_ROW:
            yield row


def _numbered(suite: Suite) -> Iterator[str]:
    """List the ids of tasks that are numbered alike: of one word each, and of which a rule knows none by chance."""
    names = [task.id for _, task in suite.splits if len(split_words(task.id)) == 1 and len(task.id) >= _LEAST_ID]
    shapes = [_NUMBERS.sub("#", name) for name in names]
    for name, shape in zip(names, shapes, strict=True):
        if shape not in (name, "#") and shapes.count(shape) >= _SERIES:
            yield name


def _is_shown(protected: ProtectedText, kind: LeakClass, run: Sequence[bytes]) -> bool:
    """Return whether training tasks show a run of words: for held-out text in their answers too, as rules come from."""
    prompts, files, verifiers = protected.shown
    others = {LeakClass.TRAIN_ANSWER: (), LeakClass.VERIFIER: (files,)}.get(kind, (files, verifiers))
    wanted = _joined_words(run)
    return any(wanted in text for text in (prompts, *others))


def _open_runs(suite: Suite) -> set[int]:
    """Collect the runs of words that verifiers can show to a proposer on training tasks."""
    teaching = [task for split, task in suite.splits if suite.folds or split is Split.TRAIN]
    said = Counter(
        chain(*({run for text in _feedback_texts(task) for run in _runs(split_words(text))} for task in teaching))
    )
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


def _joined(texts: Iterable[str]) -> bytes:
    return b"\n".join(_joined_words(split_words(text)) for text in texts)


def _joined_words(words: Sequence[bytes]) -> bytes:
    return b" %b " % b" ".join(words)


def _runs(words: Words) -> Iterator[int]:
    return map(hash, zip(*(words[start:] for start in range(_RUN)), strict=False))


def split_words(text: str) -> Words:
    """Split a text into words without case, width and punctuation, as UTF-8."""
    if not text.isascii():
        text = _FOREIGN_SIGNS.sub(" ", unicodedata.normalize("NFKC", text).casefold())
    return text.encode("utf-8", "replace").lower().translate(_TABLE_OF_SIGNS, _INSIDE).split()
