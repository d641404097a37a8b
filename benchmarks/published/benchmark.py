"""A published benchmark: its items, its official score, and the suite that this product trains on."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Final

from benchmarks.published.sources import Source
from skillopt.errors import UsageError
from skillopt.protocols import Harness, Model
from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import Split, Suite, Task, VerifierSpec, digest_of

__all__ = [
    "KIND",
    "Benchmark",
    "Item",
    "LeftOut",
    "Reading",
    "count_faults",
    "draw",
    "keep",
    "suite_of",
    "verifiers_of",
]

KIND: Final = "published"
"""Kind of the verifier of every task here; the command passes its class to the product."""

_TOLD: Final = 600
_RANK: Final = {Split.TEST: 0, Split.VAL: 1, Split.TRAIN: 2}
"""Of items with the same prompt the first one stays: a test item is never left out for a train item."""


@dataclass(frozen=True, slots=True)
class Item:
    """One question of a benchmark.

    Args:
        id: Unique in the benchmark.
        split: As published, or as the benchmark's `splits` says.
        prompt: What the target is told.
        expected: What the scorer compares with, as text.
        gold: An answer that must pass.
        wrong: The gold answer with one thing changed, which must fail.
        shown: What feedback may name as expected.
        tag: Kind of question, for splits and reports.
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
class LeftOut:
    """An item that is no task here, and why."""

    id: str
    reason: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read of a benchmark: items, and what cannot be an item."""

    items: tuple[Item, ...]
    left_out: tuple[LeftOut, ...] = ()

    def of(self, split: Split) -> list[Item]:
        """List the items of a split."""
        return [item for item in self.items if item.split is split]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """How a benchmark is read and scored.

    Args:
        source: What it is, and where its files come from.
        read: Reads its items from a folder.
        score: The official score of an answer, given what is expected: in [0, 1]; 1 is passed.
        loop: Makes a harness of a model where the target needs the benchmark's own tools.
    """

    source: Source
    read: Callable[[Path], Reading]
    score: Callable[[str, str], float]
    loop: Callable[[Model], Harness] | None = None

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


def keep(benchmark: Benchmark, reading: Reading) -> Reading:
    """Leave out items that repeat a prompt, whose gold answer fails, or that pass with nothing or a wrong answer."""
    kept: list[Item] = []
    left_out = list(reading.left_out)
    prompts: dict[str, str] = {}
    for item in sorted(reading.items, key=lambda one: _RANK[one.split]):
        reason = _fault(benchmark, item, prompts)
        if reason:
            left_out.append(LeftOut(item.id, reason))
        else:
            kept.append(item)
            prompts[_words(item.prompt)] = item.id
    order = {item.id: at for at, item in enumerate(reading.items)}
    return Reading(tuple(sorted(kept, key=lambda one: order[one.id])), tuple(left_out))


def _fault(benchmark: Benchmark, item: Item, prompts: Mapping[str, str]) -> str:
    if twin := prompts.get(_words(item.prompt)):
        return f"same prompt as {twin}"
    if not benchmark.passes(item.gold, item):
        return "its gold answer fails"
    if benchmark.passes("", item):
        return "an empty answer passes"
    return "a changed gold answer passes" if benchmark.passes(item.wrong, item) else ""


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
