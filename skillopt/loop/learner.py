"""Learner: what one set of train tasks has taught so far: the draft, what fails under it, how much a run tells.

A symptom goes away by itself with some chance, and with the line that answers it with a greater one. One outcome is
then worth the logarithm of the ratio of the two (sequential probability ratio test, Wald 1945).
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Final

from skillopt.loop.course import Course, measure
from skillopt.loop.draft import Draft, Line
from skillopt.loop.memory import Memory, PeoplesRefusal
from skillopt.rollouts import JUDGED_LINE, Rollout, Score
from skillopt.settings import Metric
from skillopt.skills.document import Skill
from skillopt.tasks import JUDGED_KINDS, Task

__all__ = ["MOST_TRIES", "Learner", "PassRates", "Seen", "symptoms_of"]

_MOST_REPEATS = 5
_NOISY = 0.32
"""Sum of both kinds of error above which a run of the reference beside another one tells nothing."""


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
    def noisy(self) -> bool:
        """Whether one run tells little."""
        return self.without + 1 - self.answering > _NOISY

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


_MOST_LINES: Final = 40
_LONGEST: Final = 200
_LONGEST_FOUND: Final = 40
"""Characters of what was found instead that still name a failure; longer ones are the target's own words."""

_LEVELS: Final = 10
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


_SHOWN: Final = 24
"""Failing tasks of a reflection; three times as many where a decision about one line takes three runs or more."""

_PROBED: Final = 4
"""Tasks that may pass on top of the failures wanted, when the draft is run to find some."""

_AGAIN: Final = 8
"""Failing tasks that are run once more at the start, where some pass; if two pass now, all others are, too."""

_SOME: Final = (0.1, 0.9)
"""Share of failing tasks at the start between which noise is asked for."""

_LEFT_TO_CHANCE: Final = 0.005
"""Chance, by how often its edits survive, that the proposer finds an answer yet when a symptom is given up."""


_POOLED: Final = 0.2
"""Share of failures that pass by themselves from which one line takes too many runs to tell."""

_ASKED_OFTEN: Final = 8
"""Reruns without which that share is not known."""

_MANY: Final = 24
"""Tasks from which a symptom that one of them shows is more likely noise than something to learn."""

_IDLE: Final = 2
"""Steps without a new line after which learning ends; more of them find nothing that two do not."""

_DRY: Final = 12
"""Reflections in a row without a line that stays, after which no further one is worth its call."""

_FEWEST_TRIES: Final = 3
MOST_TRIES: Final = 20
"""Most reflections on one symptom."""


@dataclass(frozen=True, slots=True)
class Seen:
    """How a task went when it was run last: the rollout, its symptoms, and the digest of the text that it counts for.

    It is the text that was run, or, after an ablation, that text without lines that nothing was seen to need.
    """

    rollout: Rollout
    symptoms: frozenset[str]
    text: str


class Learner:
    """Learns from one set of tasks; a fold has its own, so that nothing passes from one fold to the other."""

    def __init__(
        self,
        incumbent: Skill,
        tasks: Sequence[Task],
        draw: Random,
        metric: Metric,
        most_tries: int = MOST_TRIES,
        *,
        refused: Sequence[PeoplesRefusal] = (),
    ) -> None:
        self.tasks = {task.id: task for task in tasks}
        self.draft = Draft(incumbent)
        self.memory = Memory(refused)
        self.rates = PassRates()
        self.draw = draw
        self.seen: dict[str, Seen] = {}
        self.start: dict[str, frozenset[str]] = {}
        self.tries: Counter[str] = Counter()
        self.kept, self.proposed = 1.0, 2.5
        self.dropped: list[Line] = []
        self.idle = self.dry = self.harm = self.visits = 0
        self.rechecked = ""
        self.pooled = False
        """Whether so many failures pass by themselves that lines are judged together."""
        self.scores: list[float] = []
        self.first_scores: list[float] = []
        self.asked_at = 0
        self._epoch: list[str] = []
        self._missing: Counter[str] = Counter()
        self._best_epoch = 0.0
        self._metric, self._most_tries = metric, most_tries
        self._observed: dict[tuple[str, str], frozenset[str]] = {}
        self._cited: set[str] = set()
        self._passed_again: set[str] = set()

    def run(self, skill: Skill, names: Iterable[str]) -> Course[dict[str, Seen]]:
        """Run tasks under a skill; what could not be measured is left out."""
        names = list(names)
        found = yield from self.run_all([(skill, name) for name in names])
        return {name: seen for name, seen in zip(names, found, strict=True) if seen is not None}

    def run_all(self, wanted: Sequence[tuple[Skill, str]]) -> Course[list[Seen | None]]:
        """Run tasks, each under a skill of its own, side by side; None for what could not be measured."""
        if not wanted:
            return []
        rollouts = yield from measure([(skill, self.tasks[name]) for skill, name in wanted])
        self._missing.update(name for (_, name), rollout in zip(wanted, rollouts, strict=True) if rollout is None)
        return [
            None if rollout is None else self._note(skill, name, rollout)
            for (skill, name), rollout in zip(wanted, rollouts, strict=True)
        ]

    def begin(self, rollouts: Iterable[Rollout]) -> None:
        """Take up rollouts of the incumbent that were made already."""
        for rollout in rollouts:
            if rollout.task_id in self.tasks and rollout.score is not None:
                seen = self._note(self.draft.incumbent, rollout.task_id, rollout)
                self.first_scores += self._scores({rollout.task_id: seen})

    def _note(self, skill: Skill, name: str, rollout: Rollout) -> Seen:
        symptoms, digest = symptoms_of(self.tasks[name], rollout), skill.digest
        before, is_draft = self._observed.get((digest, name)), digest == self.draft.skill.digest
        answered = self.answered
        if before and is_draft and (not answered or before & self._cited - answered):
            self.rates.rerun(gone=not symptoms)
        self._observed[digest, name] = symptoms
        self.start.setdefault(name, symptoms)
        seen = Seen(rollout, symptoms, digest)
        if is_draft:
            self.seen[name] = seen
        return seen

    def cite(self, symptoms: Iterable[str]) -> None:
        """Note that edits were proposed for symptoms."""
        self._cited.update(symptoms)

    def revive(self, shown: Mapping[str, Seen]) -> list[Line]:
        """Return dropped lines whose symptoms have come back, once each: what nothing seemed to need was needed."""
        found = []
        for line in list(self.dropped):
            symptoms = frozenset().union(*line.targets.values())
            targets = {name: seen.symptoms & symptoms for name, seen in shown.items() if seen.symptoms & symptoms}
            if targets:
                self.dropped.remove(line)
                found.append(Line(line.edit, targets, line.packed))
        return found

    def forget(self, line: Line) -> None:
        """Take back that a line answers its symptoms: they are asked about again."""
        for name, targets in line.targets.items():
            for symptom in targets:
                self.tries[symptom] = 0
            if name in self.seen:
                self.seen[name] = Seen(self.seen[name].rollout, targets, "")

    @property
    def answered(self) -> frozenset[str]:
        """The symptoms that kept lines answer."""
        return _symptoms_of((*self.draft.accepted, *self.draft.lines))

    @property
    def share(self) -> float:
        """The share of proposed lines that survived ablation, with a prior of 1 in 2.5."""
        return min(0.95, self.kept / self.proposed)

    def gave_up(self, symptom: str) -> bool:
        """Return whether so many reflections have failed at a symptom that another one is not worth its call."""
        tries = math.ceil(math.log(_LEFT_TO_CHANCE) / math.log(1 - self.share))
        return self.tries[symptom] >= min(self._most_tries, max(_FEWEST_TRIES, tries))

    def live(self, symptoms: Iterable[str]) -> frozenset[str]:
        """Return the symptoms that are not given up."""
        return frozenset(symptom for symptom in symptoms if not self.gave_up(symptom))

    def pick(self) -> Course[dict[str, Seen]]:
        """Return failing tasks under the draft as it is: known ones first, then tasks never run, then passed ones."""
        first, noisy = not self.visits, self.rates.noisy
        wanted = self._wanted
        order = [name for name in self.tasks if name not in self._unmeasurable]
        self.draw.shuffle(order)
        digest = self.draft.skill.digest
        known = [name for name in order if name in self.seen and self.live(self.seen[name].symptoms)]
        found = {name: self.seen[name] for name in known if self.seen[name].text == digest and not noisy}
        fresh = [name for name in order if name not in self.seen]
        passed = [name for name in order if name in self.seen and not self.seen[name].symptoms]
        passed = [name for name in passed if self.seen[name].text != digest and name not in self._passed_again]
        some = wanted if first or self.idle else max(6, wanted // 3)
        runs = 0
        groups = (
            ([name for name in known if name not in found], wanted, wanted + _PROBED),
            (fresh, some, wanted + _PROBED if first else 10),
            (passed, some, 10),
        )
        for group, most, limit in groups:
            runs += yield from self._find(group, found, most, limit - runs)
            if group is passed:
                self._passed_again.update(name for name in passed if self.seen[name].text == digest)
        if first:
            yield from self._rerun_some(found, len(self.seen))
            # Later reruns are of tasks that failed by chance, and make any target look noisy; with few tasks an epoch
            # of them tells no more than the runs of one line.
            asked = self.rates.reruns >= _ASKED_OFTEN and len(self.tasks) >= _MANY
            self.pooled = asked and self.rates.without > _POOLED
        return dict(list(found.items())[: max(wanted, 24)])

    @property
    def _wanted(self) -> int:
        """Count the failing tasks that a reflection is to see."""
        return _SHOWN * (3 if self.rates.repeats >= 3 else 1) * (2 if self.idle else 1)  # noqa: PLR2004 - see _SHOWN

    def _find(self, group: Sequence[str], found: dict[str, Seen], most: int, limit: int) -> Course[int]:
        """Run tasks of a group until enough of them fail; give how many were run."""
        runs = 0
        while runs < min(limit, len(group)) and len(found) < most:
            batch = group[runs : min(len(group), limit, runs + most - len(found))]
            runs += len(batch)
            self.visits += len(batch)
            new = yield from self.run(self.draft.skill, batch)
            if not self.asked_at:
                self.first_scores += self._scores(new)
            found |= {name: seen for name, seen in new.items() if self.live(seen.symptoms)}
        return runs

    def _rerun_some(self, found: dict[str, Seen], runs: int) -> Course[None]:
        """Where only some tasks fail at the start, ask whether it is noise; what passes now is not shown."""
        low, high = _SOME
        if not runs or not low <= len(found) / runs <= high:
            return
        names = list(found)
        again = yield from self.run(self.draft.skill, names[:_AGAIN])
        if sum(not seen.symptoms for seen in again.values()) > 1:
            again |= yield from self.run(self.draft.skill, names[_AGAIN:])
        for name, seen in again.items():
            if seen.symptoms:
                found[name] = seen
            elif self.rates.without < 0.3:  # noqa: PLR2004 - in more noise a pass says little
                del found[name]

    def next_batch(self, size: int) -> list[str]:
        """Return the next tasks of an epoch, in an order drawn for each."""
        if not self._epoch:
            self._epoch = list(self.tasks)
            self.draw.shuffle(self._epoch)
        batch, self._epoch = self._epoch[:size], self._epoch[size:]
        self.visits += len(batch)
        return batch

    def note_scores(self, found: Mapping[str, Seen]) -> None:
        """Note how a batch of an epoch went; an epoch that scored no higher than the best one is idle."""
        train = len(self.tasks)
        self.scores += self._scores(found)
        if self._epoch or len(self.scores) < train:
            return
        mean = fmean(self.scores[-train:])
        self.idle = 0 if mean > self._best_epoch + 1e-9 else self.idle + 1
        self._best_epoch = max(self._best_epoch, mean)

    def note_accepted(self) -> None:
        """Note that the draft has become the incumbent."""
        if self.scores:
            self.first_scores = self.scores[-len(self.tasks) :]

    def _scores(self, found: Mapping[str, Seen]) -> list[float]:
        return [self._metric.of(seen.rollout.score) for seen in found.values() if seen.rollout.score]

    @property
    def _unmeasurable(self) -> frozenset[str]:
        """The tasks that never ran, though it was tried more than once."""
        return frozenset(name for name, times in self._missing.items() if times > 1 and name not in self.seen)

    @property
    def open(self) -> bool:
        """Whether something is left to learn: a task never run, or an unanswered symptom that two tasks show."""
        if self.pooled:
            return False
        if self.dry >= _DRY:
            return False
        if self.tasks.keys() - self.seen.keys() - self._unmeasurable:
            return True
        counts = Counter(symptom for seen in self.seen.values() for symptom in seen.symptoms)
        answered = self.answered
        return any(
            count >= (2 if len(self.tasks) >= _MANY else 1) and symptom not in answered and not self.gave_up(symptom)
            for symptom, count in counts.items()
        )

    @property
    def done(self) -> bool:
        """Whether steps bring nothing new and nothing is left to learn."""
        return self.idle >= _IDLE and not self.open

    @property
    def stuck(self) -> tuple[str, ...]:
        """Name the tasks that fail and are not waited for: no line answers them, and every symptom was given up."""
        over, answered = self.dry >= _DRY, self.answered
        failing = {name: seen.symptoms for name, seen in self.seen.items() if not seen.symptoms <= answered}
        return tuple(sorted(name for name, symptoms in failing.items() if over or not self.live(symptoms)))

    @property
    def mended(self) -> float:
        """The share of tasks that failed under the incumbent and whose failures waiting lines answer."""
        before = _symptoms_of(self.draft.accepted)
        after = before | _symptoms_of(self.draft.lines)
        digest, good = self.draft.skill.digest, 0
        for name, symptoms in self.start.items():
            now = self.seen.get(name)
            if symptoms and not symptoms <= before:
                good += not now.symptoms if now is not None and now.text == digest else symptoms <= after
        return good / max(1, len(self.start))

    def lead(self, tasks: int) -> float:
        """Return the z that a paired test of the draft on fresh tasks may expect."""
        gain, (without, answering) = self.mended, (self.rates.without, self.rates.answering)
        changed = answering * (1 - without) + without * (1 - answering)
        spread = gain * changed + (1 - gain) * 2 * without * (1 - without)
        return gain * (answering - without) * math.sqrt(tasks / max(0.02, spread))

    def cover(self, lines: Sequence[Line], names: Sequence[str], times: int) -> list[str]:
        """Choose few tasks such that each line is seen on some of those that it cites."""
        need = [times * (2 if line.packed else 1) for line in lines]
        pool = [name for name in names if any(name in line.targets for line in lines)]
        self.draw.shuffle(pool)
        chosen: list[str] = []
        while pool and any(count > 0 for count in need):
            useful = [sum(n > 0 and name in line.targets for n, line in zip(need, lines, strict=True)) for name in pool]
            best = max(range(len(pool)), key=useful.__getitem__)
            if not useful[best]:
                break
            chosen.append(pool.pop(best))
            need = [n - (chosen[-1] in line.targets) for n, line in zip(need, lines, strict=True)]
        return chosen


def _symptoms_of(lines: Iterable[Line]) -> frozenset[str]:
    return frozenset(symptom for line in lines for targets in line.targets.values() for symptom in targets)
