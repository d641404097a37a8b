"""A published benchmark: its items, its official score, and the suite that this product trains on."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final

from benchmarks.published.sources import Source
from skillopt.errors import UsageError
from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import Split, Suite, Task, VerifierSpec, digest_of

KIND: Final = "published"
"""Kind of the verifier of every task here; the command passes its class to the product."""

_TOLD: Final = 600
_RANK: Final = {Split.TEST: 0, Split.VAL: 1, Split.TRAIN: 2}
"""Of items with the same prompt the first one stays: a test item is never left out for a train item."""

_PROMPTS: Final = Path(__file__).parent / "prompts"
_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")


def prompt_of(benchmark: str, **values: str) -> str:
    """Fill in the prompt of a benchmark, in one pass."""
    template = (_PROMPTS / f"{benchmark}.md").read_text(encoding="utf-8").rstrip("\n")
    return _PLACEHOLDER.sub(lambda found: values[found[1]], template)


def split_of(text: str, *splits: Split) -> Split:
    """Choose a split by the digest of a text, where none is published."""
    return splits[int(digest_of(text)[:8], 16) % len(splits)]


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a benchmark, with an answer that must pass (`gold`) and one that must fail (`wrong`).

    `expected` is what the scorer compares with, `shown` what feedback may name, `tag` the kind of question.
    """

    id: str
    split: Split
    prompt: str
    expected: str
    gold: str
    wrong: str
    shown: str
    tag: str = ""


@dataclass(frozen=True, slots=True)
class Tried:
    """Whether the gold answer of an item, nothing, and a changed gold answer pass."""

    gold: bool
    nothing: bool
    wrong: bool

    @property
    def fault(self) -> str:
        """Why the item cannot be a task; empty where it can."""
        if not self.gold:
            return "its gold answer fails"
        if self.nothing:
            return "doing nothing passes"
        return "a changed gold answer passes" if self.wrong else ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An item that is no task here, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """Items of a benchmark, and what was left out of them."""

    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...] = ()

    def of(self, split: Split) -> list[Item]:
        """List the items of a split."""
        return [item for item in self.items if item.split is split]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How a benchmark is read, and the official score in [0, 1] of an answer, given what is expected."""

    source: Source
    read: Callable[[Path], Reading]
    score: Callable[[str, str], float]

    @property
    def name(self) -> str:
        """Its name on the command line."""
        return self.source.name

    def published(self, scores: Sequence[float]) -> float:
        """Return the number that others publish: the mean score, or the share of tasks passed."""
        return fmean(scores if self.source.metric == "score" else [float(score == 1.0) for score in scores])

    def passes(self, answer: str, item: Item) -> bool:
        """Return whether an answer passes."""
        return self.score(answer, item.expected) == 1.0


def try_out(benchmark: Benchmark, items: Sequence[Item]) -> Mapping[str, Tried]:
    """Try each item with its gold answer, an empty one and a changed one."""
    passes = benchmark.passes
    return {item.id: Tried(passes(item.gold, item), passes("", item), passes(item.wrong, item)) for item in items}


def keep(benchmark: Benchmark, reading: Reading, tried: Mapping[str, Tried] | None = None) -> Reading:
    """Leave out items that repeat a prompt, whose gold answer fails, or that pass with nothing or a wrong answer."""
    found = try_out(benchmark, reading.items) if tried is None else tried
    kept, left_out, prompts = set[str](), list(reading.left_out), dict[str, str]()
    for item in sorted(reading.items, key=lambda one: _RANK[one.split]):
        twin = prompts.get(_words(item.prompt))
        if reason := f"same prompt as {twin}" if twin else found[item.id].fault:
            left_out.append(LeftOut(item.id, reason))
        else:
            kept.add(item.id)
            prompts[_words(item.prompt)] = item.id
    return Reading(tuple(item for item in reading.items if item.id in kept), tuple(left_out))


def _words(prompt: str) -> str:
    return " ".join(prompt.casefold().split())


def draw(reading: Reading, most: int | None) -> Reading:
    """Take at most so many items of each split, the same ones for everybody: those with the lowest digests."""
    if most is None:
        return reading
    chosen = {
        item.id
        for split in Split
        for item in sorted(reading.of(split), key=lambda one: digest_of(one.id, one.prompt))[:most]
    }
    return replace(reading, items=tuple(item for item in reading.items if item.id in chosen))


def suite_of(benchmark: Benchmark, reading: Reading) -> Suite:
    """Make the suite, with the splits of the items."""
    sizes = Counter(item.split for item in reading.items)
    if missing := [split for split in Split if not sizes[split]]:
        raise UsageError(f"{benchmark.name}: expected items in train, val and test, found none in {', '.join(missing)}")
    return Suite(benchmark.name, tuple((item.split, _task(item)) for item in reading.items))


def _task(item: Item) -> Task:
    options = json.dumps({"expected": item.expected, "shown": item.shown}, sort_keys=True)
    return Task(item.id, item.prompt, VerifierSpec(KIND, options), tags=(item.tag,) if item.tag else ())


def verifiers_of(benchmark: Benchmark) -> dict[str, Callable[[VerifierSpec], "_OfficialScore"]]:
    """Give the kind of verifier that the tasks of a benchmark name."""
    return {KIND: lambda spec: _OfficialScore(benchmark, spec)}


class _OfficialScore:
    """Scores an answer by the rules of the benchmark; feedback says what was expected, as training data do."""

    def __init__(self, benchmark: Benchmark, spec: VerifierSpec) -> None:
        given: dict[str, str] = json.loads(spec.options)
        self._benchmark, self._expected, self._shown = benchmark, given["expected"], given["shown"]

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - only the answer counts
        """Score the final answer."""
        value = self._benchmark.score(trajectory.answer, self._expected)
        if value == 1.0:
            return Score(1.0, passed=True)
        said = " ".join(trajectory.answer.split())[-_TOLD:] or "nothing"
        return Score(value, passed=False, feedback=f"expected {self._shown[:_TOLD]}, found {said}")


def count_faults(left_out: Iterable[LeftOut]) -> Sequence[tuple[str, int]]:
    """Count what was left out, by reason; the name of a twin does not count."""
    reasons = Counter(one.reason.partition(" as ")[0] for one in left_out)
    return reasons.most_common()
