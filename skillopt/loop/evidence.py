"""Evidence: what the rollouts of train tasks have shown: what fails under the draft, and what a run tells.

A symptom goes away by itself with some chance, and with the line that answers it with a greater one. One outcome is
then worth the logarithm of the ratio of the two (sequential probability ratio test, Wald 1945).
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.loop.draft import Draft, Line
from skillopt.loop.memory import Memory, PeoplesRefusal
from skillopt.rollouts import JUDGED_LINE, Rollout, Score
from skillopt.skills.document import Skill
from skillopt.tasks import JUDGED_KINDS, Task

_MOST_REPEATS = 5  # the noisiest target that rates allow would take 13, too many for one line


@dataclass(slots=True)
class PassRates:
    """What reruns have shown so far; a prior of little weight until then."""

    gone: float = 0.2
    reruns: float = 2.0
    held: float = 0.0
    answered: float = 0.0

    @property
    def without(self) -> float:
        """The chance that a symptom is gone though nothing answers it, in [0.05, 0.6]."""
        return min(0.6, max(0.05, self.gone / self.reruns))

    @property
    def answering(self) -> float:
        """The chance that it is gone with the line that answers it, in [0.6, 0.95]."""
        least = max(self.without + 0.25, 0.6)
        return min(0.95, max(least, (self.held + 4 * (1 - self.without)) / (self.answered + 4)))

    @property
    def for_it(self) -> float:
        """The evidence that one run with the symptom gone is for a line: log-likelihood ratio, > 0."""
        return math.log(self.answering / self.without)

    @property
    def against(self) -> float:
        """The evidence that one run with the symptom there is against a line, > 0."""
        return math.log((1 - self.without) / (1 - self.answering))

    @property
    def repeats(self) -> int:
        """The runs that a decision about one line takes, from 1 to 5."""
        rate = self.answering
        return max(1, min(_MOST_REPEATS, round(2 / (rate * self.for_it - (1 - rate) * self.against))))

    def rerun(self, *, gone: bool) -> None:
        """Note that a failing task was run again, under the same text, that answers nothing of it."""
        self.reruns += 1
        self.gone += gone

    def answer(self, *, held: bool) -> None:
        """Note that a task whose symptoms are answered was run."""
        self.answered += 1
        self.held += held


_MOST_LINES: Final = 40  # of feedback: a symptom further down is of no use to a reader
_LONGEST: Final = 200  # characters of a symptom: what differs later is seldom another failure
_LONGEST_FOUND: Final = 40
"""Characters of what was found instead that still name a failure; longer ones are the target's own words."""

_LEVELS: Final = 10  # tenths of a score: finer ones are a judge's noise
_FOUND = re.compile(r"\b(?:found|got|but was|actual(?:ly)?)\b:?")
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d.,:]*(?![\w])")
_VOLATILE = re.compile(r"0x[0-9a-f]+|\b\d+(?:\.\d+)? ?m?s\b|/\S*/")


def symptoms_of(task: Task, rollout: Rollout) -> frozenset[str]:
    """Return what is wrong, one string each, the same for the same failure of another rollout.

    A line of feedback is a symptom without what changes from run to run: addresses, durations, folders, and numbers
    or long text that the target produced. Where a model judges, if only in part, or nothing is said, the tenths of the
    score that are missing are symptoms too.

    >>> from skillopt.rollouts import Status, Trajectory
    >>> from skillopt.tasks import VerifierSpec
    >>> task = Task("t", "Add.", VerifierSpec("json", "{}"))
    >>> def failed(text): return Rollout("t", "", 0, Trajectory(), Status.OK, Score(0.0, False, text))
    >>> sorted(symptoms_of(task, failed("$.sum: expected 2, found 3")))
    ['$.sum: expected 2, found #']
    """
    score = rollout.score
    if score is None or score.passed:
        return frozenset()
    if task.verifier.kind in JUDGED_KINDS:
        return frozenset(_missing(score))
    lines = frozenset(_lines(score.feedback))
    return lines | frozenset(_missing(score)) if task.verifier.judged or not lines else lines


def _lines(feedback: str) -> Iterator[str]:
    written = (line for line in feedback.splitlines()[:_MOST_LINES] if not line.startswith(JUDGED_LINE))
    for line in written:
        plain = " ".join(_VOLATILE.sub("#", line.casefold()).split())
        if plain:
            yield _without_values(plain)[:_LONGEST]


def _without_values(line: str) -> str:
    """Leave out what the target produced, where a line says what was found."""
    marks = list(_FOUND.finditer(line))
    if not marks:
        return line
    head, tail = line[: marks[-1].end()], line[marks[-1].end() :]
    return head + _NUMBER.sub("#", tail) if len(tail) <= _LONGEST_FOUND else head


def _missing(score: Score) -> Iterator[str]:
    """Name the tenths of the score that are missing; a rollout that did not pass lacks at least one."""
    reached = min(int(score.value * _LEVELS + 1e-9), _LEVELS - 1)
    yield from (f"score below {level / _LEVELS:g}" for level in range(reached + 1, _LEVELS + 1))


@dataclass(frozen=True, slots=True)
class Seen:
    """How a task went when it was run last: the rollout, its symptoms, and the digest of the text that ran."""

    rollout: Rollout
    symptoms: frozenset[str]
    text: str


class TrainEvidence:
    """What was seen of the tasks that teach."""

    def __init__(
        self,
        incumbent: Skill,
        tasks: Sequence[Task],
        draw: Random,
        measure: Callable[[Sequence[tuple[Skill, Task]]], Sequence[Rollout | None]],
        refused: Sequence[PeoplesRefusal] = (),
    ) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.draft = Draft(incumbent)
        self.memory = Memory(refused)
        self.rates = PassRates()
        self.draw, self.measure = draw, measure
        self.seen: dict[str, Seen] = {}
        self.start: dict[str, frozenset[str]] = {}
        self.first: dict[str, Rollout] = {}
        """How each task went when it was run first, and what was wrong."""
        self._missing: Counter[tuple[str, str]] = Counter()
        self._observed: dict[tuple[str, str], frozenset[str]] = {}
        self._cited: set[str] = set()

    def shuffled(self, names: Iterable[str]) -> list[str]:
        """Return tasks in an order that is drawn."""
        order = list(names)
        self.draw.shuffle(order)
        return order

    def run(self, skill: Skill, names: Iterable[str]) -> dict[str, Seen]:
        """Run tasks under a skill; what could not be measured is left out."""
        names = list(names)
        found = self.run_all([(skill, name) for name in names])
        return {name: seen for name, seen in zip(names, found, strict=True) if seen is not None}

    def run_all(self, wanted: Sequence[tuple[Skill, str]]) -> list[Seen | None]:
        """Run tasks, each under a skill of its own, side by side; None for what could not be measured."""
        if not wanted:
            return []
        return self.note_all(wanted, self.measure([(skill, self.tasks[name]) for skill, name in wanted]))

    def note_all(self, wanted: Sequence[tuple[Skill, str]], rollouts: Sequence[Rollout | None]) -> list[Seen | None]:
        """Take up what rollouts of tasks have shown, each under a skill of its own."""
        pairs = zip(wanted, rollouts, strict=True)
        self._missing.update((skill.digest, name) for (skill, name), rollout in pairs if rollout is None)
        return [
            None if rollout is None else self.note(skill, rollout)
            for (skill, _), rollout in zip(wanted, rollouts, strict=True)
        ]

    def note(self, skill: Skill, rollout: Rollout) -> Seen:
        """Take up a rollout of a task under a skill."""
        name, digest = rollout.task_id, skill.digest
        symptoms = symptoms_of(self.tasks[name], rollout)
        before, is_draft = self._observed.get((digest, name)), digest == self.draft.skill.digest
        answered = self.answered
        if before and is_draft and (not answered or before & self._cited - answered):
            self.rates.rerun(gone=not symptoms)
        self._observed[digest, name] = symptoms
        self.start.setdefault(name, symptoms)
        self.first.setdefault(name, rollout)
        seen = Seen(rollout, symptoms, digest)
        if is_draft:
            self.seen[name] = seen
        return seen

    def cite(self, symptoms: Iterable[str]) -> None:
        """Note that edits were proposed for symptoms."""
        self._cited.update(symptoms)

    @property
    def answered(self) -> frozenset[str]:
        """The symptoms that kept lines answer."""
        lines = (*self.draft.accepted, *self.draft.lines)
        return frozenset(symptom for line in lines for symptom in line.about)

    @property
    def unmeasurable(self) -> frozenset[str]:
        """The tasks that twice could not be measured under the draft as it is, or were never measured at all."""
        digest, tries = self.draft.skill.digest, Counter[str]()
        for (_, name), times in self._missing.items():
            tries[name] += times
        return frozenset(
            name for name in tries if self._missing[digest, name] > 1 or (tries[name] > 1 and name not in self.seen)
        )

    def cover(self, lines: Sequence[Line], names: Sequence[str], times: int) -> list[str]:
        """Choose few tasks such that each line is seen on some of those that it cites."""
        need = [times * (2 if line.packed else 1) for line in lines]
        pool = self.shuffled(name for name in names if any(name in line.targets for line in lines))
        chosen: list[str] = []
        while pool and any(count > 0 for count in need):
            useful = [sum(n > 0 and name in line.targets for n, line in zip(need, lines, strict=True)) for name in pool]
            best = max(range(len(pool)), key=useful.__getitem__)
            if not useful[best]:
                break
            chosen.append(pool.pop(best))
            need = [n - (chosen[-1] in line.targets) for n, line in zip(need, lines, strict=True)]
        return chosen
