"""Policy: what learning decides from its evidence: what to look at next, what is given up, and when it is over."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Final

from skillopt.loop.course import Course
from skillopt.loop.draft import Line
from skillopt.loop.evidence import PassRates, Seen, TrainEvidence
from skillopt.rollouts import Rollout
from skillopt.settings import Metric

_SHOWN: Final = 24
"""Failing tasks of a reflection; in noise and after an idle step more of them find nothing more (12 worlds)."""

_PROBED: Final = 4
"""Tasks that may pass on top of the failures wanted, when the draft is run to find some."""

_AGAIN: Final = 8
"""Failing tasks that are run once more at the start, where some pass; if two pass now, all others are, too."""

_SOME: Final = (0.1, 0.9)
"""Share of failing tasks at the start between which noise is asked for."""

_LEFT_TO_CHANCE: Final = 0.005
"""Chance, by how often its edits survive, that the proposer finds an answer yet when a symptom is given up."""

IDLE: Final = 2
"""Steps without a new line after which the draft goes to the gate, and learning ends; more find nothing else."""

_DRY: Final = 12
"""Reflections in a row without a line that stays, after which no further one is worth its call."""

_FEWEST_TRIES: Final = 3
MOST_TRIES: Final = 20
"""Most reflections on one symptom."""


_MANY_TASKS: Final = 24
"""Tasks from which an epoch tells more than the runs of one line, and what a single task shows is likely noise."""

_POOLED: Final = 0.2
"""Share of failures that pass by themselves from which one line takes too many runs to tell."""

_ASKED_OFTEN: Final = 8
"""Reruns without which that share is not known."""


class Epochs:
    """Epochs of a noisy target: edits are taken up together and judged by the scores of whole epochs of train tasks.

    When nearly half of all failures pass by themselves, some ten runs are needed to tell one line from none. Without
    this, the true score of a weak target ends .11 lower (12 seeds).
    """

    def __init__(self, evidence: TrainEvidence, metric: Metric) -> None:
        self.pooled = self.rose = False
        """Whether edits are judged together, and whether an epoch has just scored higher than each before."""
        self._evidence, self._metric = evidence, metric
        self._scores: list[float] = []
        self._order: list[str] = []
        self._best = 0.0

    def pool(self, rates: PassRates, tasks: int) -> None:
        """Decide after the first rollouts; later reruns are of tasks that failed by chance, and look noisy."""
        self.pooled = rates.reruns >= _ASKED_OFTEN and tasks >= _MANY_TASKS and rates.without > _POOLED

    def next_batch(self, size: int) -> list[str]:
        """Return the next tasks, in an order that is drawn for each epoch."""
        if not self._order:
            self._order = self._evidence.shuffled(self._evidence.tasks)
        batch, self._order = self._order[:size], self._order[size:]
        return batch

    def add(self, found: Mapping[str, Seen]) -> bool | None:
        """Note how a batch went; at the end of an epoch, return whether it scored higher than each before."""
        tasks, self.rose = len(self._evidence.tasks), False
        self._scores += [self._metric.of(seen.rollout.score) for seen in found.values() if seen.rollout.score]
        if self._order or len(self._scores) < tasks:
            return None
        mean = fmean(self._scores[-tasks:])
        self.rose, self._best = mean > self._best + 1e-9, max(self._best, mean)
        return self.rose


class Policy:
    """Decides by the evidence of one set of tasks."""

    def __init__(self, evidence: TrainEvidence, metric: Metric, most_tries: int = MOST_TRIES) -> None:
        self.evidence = evidence
        self.epochs = Epochs(evidence, metric)
        self.tries: Counter[str] = Counter()
        self.patches: Counter[str] = Counter()  # that were run on each task
        self.kept, self.proposed = 1.0, 2.5
        self.dropped: list[Line] = []
        self.idle = self.dry = 0
        self._first = True
        self._most_tries = most_tries
        self._passed_again: set[str] = set()

    def begin(self, rollouts: Iterable[Rollout]) -> None:
        """Take up rollouts of the incumbent that were made already."""
        evidence = self.evidence
        for rollout in rollouts:
            if rollout.task_id in evidence.tasks and rollout.score is not None:
                evidence.note(evidence.draft.incumbent, rollout)

    def note_step(self, proposed: int, reflections: int, *, learned: bool) -> None:
        """Count a step; what was proposed in it counts only now that it is known which of it stays."""
        self.proposed += proposed
        self.idle = 0 if learned else self.idle + 1
        self.dry = 0 if learned else self.dry + reflections

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

    def pick(self) -> Course[dict[str, Seen]]:
        """Return failing tasks under the draft as it is: known ones first, then tasks never run, then passed ones."""
        evidence, first, self._first = self.evidence, self._first, False
        seen, rates = evidence.seen, evidence.rates
        wanted = _SHOWN
        order = evidence.shuffled(name for name in evidence.tasks if name not in evidence.unmeasurable)
        digest = evidence.draft.skill.digest
        known = [name for name in order if name in seen and self.live(seen[name].symptoms)]
        found = {name: seen[name] for name in known if seen[name].text == digest and not rates.noisy}
        fresh = [name for name in order if name not in seen]
        passed = [name for name in order if name in seen and not seen[name].symptoms]
        passed = [name for name in passed if seen[name].text != digest and name not in self._passed_again]
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
                self._passed_again.update(name for name in passed if seen[name].text == digest)
        if first:
            yield from self._rerun_some(found, len(seen))
            self.epochs.pool(rates, len(evidence.tasks))
        return dict(list(found.items())[:wanted])

    def _find(self, group: Sequence[str], found: dict[str, Seen], most: int, limit: int) -> Course[int]:
        """Run tasks of a group until enough of them fail; return how many were run."""
        runs = 0
        while runs < min(limit, len(group)) and len(found) < most:
            batch = group[runs : min(len(group), limit, runs + most - len(found))]
            runs += len(batch)
            new = yield from self.evidence.run(self.evidence.draft.skill, batch)
            found |= {name: seen for name, seen in new.items() if self.live(seen.symptoms)}
        return runs

    def _rerun_some(self, found: dict[str, Seen], runs: int) -> Course[None]:
        """Where only some tasks fail at the start, ask whether it is noise; what passes now is not shown."""
        low, high = _SOME
        if not runs or not low <= len(found) / runs <= high:
            return
        names, skill = list(found), self.evidence.draft.skill
        again = yield from self.evidence.run(skill, names[:_AGAIN])
        if sum(not seen.symptoms for seen in again.values()) > 1:
            again |= yield from self.evidence.run(skill, names[_AGAIN:])
        for name, seen in again.items():
            if seen.symptoms:
                found[name] = seen
            elif self.evidence.rates.without < 0.3:  # noqa: PLR2004 - in more noise a pass says little
                del found[name]

    @property
    def _open(self) -> bool:
        """Whether something is left to learn: a task never run, or an unanswered symptom that two tasks show."""
        evidence = self.evidence
        if self.epochs.pooled or self.dry >= _DRY:
            return False
        if evidence.tasks.keys() - evidence.seen.keys() - evidence.unmeasurable:
            return True
        counts = Counter(symptom for seen in evidence.seen.values() for symptom in seen.symptoms)
        least, answered = 2 if len(evidence.tasks) >= _MANY_TASKS else 1, evidence.answered
        return any(
            count >= least and symptom not in answered and not self.gave_up(symptom)
            for symptom, count in counts.items()
        )

    @property
    def done(self) -> bool:
        """Whether steps bring nothing new and nothing is left to learn."""
        return self.idle >= IDLE and not self._open

    @property
    def stuck(self) -> tuple[str, ...]:
        """Name the tasks that fail and are not waited for: no line answers them, and every symptom was given up."""
        over, answered = self.dry >= _DRY, self.evidence.answered
        failing = {name: seen.symptoms for name, seen in self.evidence.seen.items() if not seen.symptoms <= answered}
        return tuple(sorted(name for name, symptoms in failing.items() if over or not self.live(symptoms)))

    def lead(self, tasks: int) -> float:
        """Return the z that a paired test of the draft on fresh tasks may expect."""
        rates, gain = self.evidence.rates, self.evidence.mended
        without, answering = rates.without, rates.answering
        changed = answering * (1 - without) + without * (1 - answering)
        spread = gain * changed + (1 - gain) * 2 * without * (1 - without)
        return gain * (answering - without) * math.sqrt(tasks / max(0.02, spread))
