"""Learn and check: every task once, one reflection on all that fails, the whole patch on failing and passing tasks.

From the first patch test on there is a draft. What broke passing tasks is found and taken out, what moved nothing waits
for the next patch, and tasks that still fail are reflected on again while that pays.
"""

from collections import Counter, defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from typing import Final

from skillopt.gate.comparison import Pairs, tally
from skillopt.loop.ablation import ablate
from skillopt.loop.caps import BudgetReached
from skillopt.loop.draft import Draft, Line
from skillopt.loop.events import EditRefused, Event, StepFailed, TasksSetAside, TrainMeasured
from skillopt.loop.evidence import Seen
from skillopt.loop.patch_test import (
    PatchTest,
    effect_of,
    leave_out,
    locate_harm,
    moves,
    moves_little,
    run_patch_test,
    take_apart,
    try_apart,
)
from skillopt.loop.proposing import propose_lines
from skillopt.loop.training_run import TrainingRun
from skillopt.prompts.tried_edits import render_effect, write_digest
from skillopt.rollouts import Rollout
from skillopt.safety.escaping import count_noun

_MANY_TASKS: Final = 24
"""Tasks from which what a single task shows is likely noise, and not all failing tasks run with a patch."""

_OF_EACH: Final = 3
"""Runs of each line of a patch, where more tasks fail than `_MANY_TASKS`."""

_FEWEST_BESIDE: Final = 6
"""Passing tasks that run beside a patch at least, whatever share of the rollouts left that takes."""
_SHARE_BESIDE: Final = 4  # a fourth: learning needs the rest
_MOST_BESIDE: Final = 16
"""Passing tasks beside a first patch at most: with 8 the world `contexts` loses .05 ± .03 (20 seeds)."""
_PROBED: Final = 4  # passing tasks that broke and run once more

_WAITS: Final = 1
"""Patches for which a line that moved nothing waits."""

_DRY: Final = 12
"""Reflections in a row without a line that helps, and on one symptom, after which no further one is worth its call."""

_FEWEST_HARMED: Final = 2
"""Tasks that pass again without a line of the draft from which it goes: one does by chance."""

_MOST_HARMFUL: Final = 3
"""Lines that may harm one task at once."""


class Learner:
    """Learns from the tasks of one run."""

    def __init__(self, run: TrainingRun) -> None:
        self.run, self.evidence = run, run.evidence
        self.known: dict[str, Seen] = {}
        """How each task went last, or is taken to go, with the draft and the lines that wait."""
        self.waiting: list[Line] = []
        self.tries: Counter[str] = Counter()
        self.patches: Counter[str] = Counter()
        self.ablated: set[Line] = set()
        self.dry = 0
        self._waited: Counter[Line] = Counter()
        self._silent = 0
        """Replies in a row without an edit."""
        self._again = set[str]()
        self._fresh = set[str]()
        """Tasks that ran since the draft was changed last."""
        self._searched = set[tuple[str, str]]()
        self._most_tries = max(run.settings.patch_tests, _DRY * (len(self.evidence.tasks) >= _MANY_TASKS))

    @property
    def draft(self) -> Draft:
        """The draft in training."""
        return self.evidence.draft

    def begin(self, rollouts: Iterable[Rollout]) -> None:
        """Take up rollouts of the first text that were made already."""
        for rollout in rollouts:
            if rollout.task_id in self.evidence.tasks and rollout.score is not None:
                self.known[rollout.task_id] = self.evidence.note(self.draft.incumbent, rollout)

    def learn(self) -> Iterator[Event]:
        """Take step after step until nothing fails that another reflection is worth its call for."""
        for _ in range(2):  # what could not be measured is tried once more
            self._measure([name for name in self.evidence.tasks if name not in self.known])
        yield from self.run.suspicions(self.run.step)
        yield TrainMeasured(self.run.step + 1, tally(seen.rollout for seen in self.known.values()))
        while True:
            self._run_again()
            yield from self._find_hidden_harm()
            if self.dry or not self.failing:
                # What failed by an earlier draft may pass by this one, or fail by something else.
                failed = [name for name, seen in self.known.items() if seen.symptoms or not seen.text]
                stale = [name for name in failed if name not in self._fresh]
                stale = self.evidence.shuffled(stale)[: min(_MANY_TASKS, self.run.runner.free)]
                self._measure(stale)
                self._fresh.update(stale)
                yield from self._explain()
            failing = self.failing
            if not failing or self.dry >= _DRY:
                return
            self.run.step += 1
            yield from self._take_step(failing)
            yield from self.run.suspicions(self.run.step)
            yield from self.run.draft_changed()

    def _explain(self) -> Iterator[Event]:
        """Leave the new lines of the draft out one by one, and all that nothing needs together."""
        lines = [line for line in self.draft.lines if line not in self.ablated]
        if not lines:
            return
        before, memory = self.draft.lines, self.evidence.memory
        full = self.run.settings.evidence == "full"
        for test in ablate(self.evidence, lines, self.known, lambda: self.run.runner.free, full=full):
            yield test.told(self.run.step)
            if not test.kept:
                shown = render_effect(*test.failing) if test.failing else ""
                memory.tried(test.line.edit, test.reason, shown, test.line.about)
                self.tries.update(dict.fromkeys(test.line.about, -1))
        self.ablated.update(self.draft.lines)
        if self.draft.lines != before:
            yield from self.run.draft_changed()

    @property
    def failing(self) -> dict[str, Seen]:
        """Return the tasks that fail by something that is not given up."""
        tries, most = self.tries, self._most_tries
        return {name: seen for name, seen in self.known.items() if any(tries[one] < most for one in seen.symptoms)}

    def pairs(self) -> Pairs:
        """Return how each task went at the start and last, of those that ran since."""
        first = self.evidence.first
        ran = [(first[name], seen.rollout) for name, seen in self.known.items() if seen.rollout is not first[name]]
        return Pairs([before for before, _ in ran], [after for _, after in ran])

    def name_failing(self) -> Iterator[TasksSetAside]:
        """Name the tasks that fail at the end, with the reason of each."""
        reasons: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.evidence.tasks):
            if name not in self.known or self.known[name].symptoms:
                reasons[self._why_failing(name)].append(name)
        if reasons:
            told = tuple((reason, tuple(names)) for reason, names in reasons.items())
            yield TasksSetAside(told, len(self.evidence.tasks))

    def _why_failing(self, name: str) -> str:
        patches, memory = self.patches[name], self.evidence.memory
        if name not in self.known:
            return "could not be measured" if name in self.evidence.unmeasurable else "not run"
        if name in self.run.suspects.flagged:
            return "its verifier looks wrong"
        if patches:
            return f"failed under {count_noun(patches, 'patch', 'patches')}"
        refused = memory.refused_for.get(name)
        return f"every edit for it was refused: {refused}" if refused else "no edit was proposed for it"

    def _measure(self, names: Sequence[str]) -> None:
        names = names[: self.run.runner.free] if self.run.runner.free else names
        self.known |= self.evidence.run(self.draft.skill, names)

    def _run_again(self) -> None:
        """Run failing tasks once more that a line answers: most fail by noise, or show what is left to answer."""
        failing, carried = self.failing, self.draft.build([*self.draft.lines, *self.waiting])
        answered = frozenset[str]().union(*(line.about for line in self.draft.lines))
        names = [name for name, seen in failing.items() if seen.symptoms <= answered and name not in self._again]
        self._again.update(names)
        partly = [name for name, seen in failing.items() if seen.text == "" and name not in names]
        names += self.evidence.shuffled(partly)[:_MANY_TASKS]
        if self.run.runner.free:
            self.known |= self.evidence.run(carried, names[: self.run.runner.free])

    def _find_hidden_harm(self) -> Iterator[Event]:
        """Take a line out of the draft beside which tasks fail that passed at first, or that other lines answer.

        It goes even where more tasks need it: a proposer that is told of it words it anew, and nothing else would.
        """
        evidence, lines, digest = self.evidence, self.draft.lines, self.draft.skill.digest
        answered = frozenset[str]().union(*(line.about for line in lines))
        stuck = [
            name
            for name, seen in self.failing.items()
            if not evidence.start[name] or (seen.symptoms <= answered and name in self._again)
        ]
        for name in [name for name in stuck if (name, digest) not in self._searched][:_PROBED]:
            if len(stuck) < _FEWEST_HARMED or self.run.runner.free < 4 * len(stuck):
                return
            self._searched.add((name, digest))
            harmful = locate_harm(evidence, lines, [line for line in lines if name not in line.targets], name)
            left = [line for line in lines if line is not harmful]
            ran = evidence.run(evidence.draft.build(left), stuck if harmful else [])
            if harmful is None or sum(not seen.symptoms for seen in ran.values()) < _FEWEST_HARMED:
                continue
            reason = f"{name} fails beside it and passes without it"
            evidence.memory.tried(harmful.edit, reason)
            yield EditRefused(self.run.step, harmful.edit, reason)
            self.draft.set(left)
            for one in [one for one, seen in self.known.items() if one in harmful.targets and not seen.symptoms]:
                self.known[one] = Seen(evidence.first[one], evidence.start[one], "")
            self.known |= ran
            self.dry = 0
            yield from self.run.draft_changed()
            return

    def _take_step(self, failing: Mapping[str, Seen]) -> Iterator[Event]:
        """Reflect on failing tasks, test the patch on them and on passing ones, and take up what helps."""
        run, evidence = self.run, self.evidence
        carried = [*self.draft.lines, *self.waiting]
        if self._silent:  # the same prompt would get the same reply; a shorter one is easier to answer, too
            some = evidence.shuffled(failing)[: max(1, len(failing) >> self._silent)]
            failing = {name: failing[name] for name in some}
        known = len(evidence.memory)
        lines = yield from propose_lines(run, evidence, run.step, carried, failing, digest=self._digest())
        self._silent = 0 if lines or len(evidence.memory) > known else self._silent + 1
        if not lines:
            self.dry += 1
            self.tries.update(_symptoms(failing))
            yield StepFailed(run.step, "reflection", "no edit was left to try")
            return
        test = yield from self._test([*self.waiting, *lines], failing)
        helped = test.helped(evidence)
        for line in lines:
            if line not in test.lines:
                evidence.memory.untried(line.edit, "the tasks that it cites do not fail now")
                continue
            effect = effect_of(line, failing, test.after)
            sides = ("before the patch", "with the whole patch")
            shown = render_effect(effect[0].rollout, effect[1].rollout, sides) if effect else ""
            evidence.memory.kept(line.edit) if line in helped else evidence.memory.unmoved(line.edit, shown)
        before = self.draft.lines
        good, beside = [*before, *helped], dict[str, Seen]()
        if helped:
            self.draft.set(good)  # handed over should a cap end the run now
            yield from run.draft_changed()
            try:
                good = yield from self._without_riders(lines, good, test)
                self.draft.set(good)
                yield from self._check(before, good, beside, test)
            except BudgetReached:
                if before and not self._gains(test, good, beside):
                    self.draft.set(before)
                raise
            good = good if self._gains(test, good, beside) else list(before)
            self.draft.set(good)
        self._note(failing, test, beside, [line for line in helped if line in good])

    def _test(self, lines: Sequence[Line], failing: Mapping[str, Seen]) -> Generator[Event, None, PatchTest]:
        """Run the whole patch on failing tasks, as far as the cap allows."""
        evidence, free = self.evidence, self.run.runner.free
        lines = [line for line in lines if line.targets.keys() & failing.keys()]
        cited = [name for name in failing if any(name in line.targets for line in lines)]
        names = evidence.shuffled(cited)
        if len(names) > min(_MANY_TASKS, max(1, free)):
            names = evidence.cover(lines, cited, max(_OF_EACH, evidence.rates.repeats))[: max(1, free)]
        test = run_patch_test(evidence, self.draft.lines, lines, names)
        yield test.told(self.run.step)
        self.patches.update(list(test.after))
        try:
            while moves_little(evidence, test):
                found, harmful = try_apart(evidence, self.draft.lines, test)
                if harmful is not None:
                    better = leave_out(evidence, self.draft.lines, test, harmful)
                    if better is not None:
                        test, reason = better, "lines beside it do not do what they do without it"
                        evidence.memory.tried(harmful.edit, reason)
                        yield EditRefused(self.run.step, harmful.edit, reason)
                        continue
                if found:
                    take_apart(evidence, test, found)
                return test
        except BudgetReached:
            return test
        return test

    def _without_riders(
        self, new: Sequence[Line], good: list[Line], test: PatchTest
    ) -> Generator[Event, None, list[Line]]:
        """Drop lines that had waited, and seem to help beside new ones for the same symptoms, unless they do."""
        answered = frozenset[str]().union(*(line.about for line in good if line in new))
        riders = [line for line in good if line in self.waiting and line.about <= answered]
        names = [name for name in sorted(test.moved) if any(name in line.targets for line in riders)]
        names = names[: min(_FEWEST_BESIDE, self.run.runner.free)]
        rest = [line for line in good if line not in riders]
        ran = self.evidence.run(self.evidence.draft.build(rest), names)
        if 2 * sum(moves(rest, seen) for seen in ran.values()) <= len(ran):
            return good
        for line in riders:
            reason = "no loss without it beside another edit for the same failure"
            self.evidence.memory.tried(line.edit, reason)
            yield EditRefused(self.run.step, line.edit, reason)
        return rest

    def _gains(self, test: PatchTest, good: Sequence[Line], beside: Mapping[str, Seen]) -> bool:
        """Return whether lines mend more tasks than they break, as far as passing ones were run beside them."""
        if not test.after:  # nothing could be measured: the gate says what that means
            return True
        moved = sum(any(name in line.targets for line in good) for name in test.moved)
        passing = sum(not seen.symptoms for seen in self.known.values())
        ran = [seen for name, seen in beside.items() if name not in test.moved]
        return moved > passing * sum(bool(seen.symptoms) for seen in ran) / max(1, len(ran))

    def _check(
        self, before: Sequence[Line], good: list[Line], beside: dict[str, Seen], test: PatchTest
    ) -> Iterator[Event]:
        """Run what helps on passing tasks, and take out what breaks them."""
        evidence = self.evidence
        passing = [name for name, seen in self.known.items() if not seen.symptoms]
        free = self.run.runner.free
        most = _FEWEST_BESIDE if before else _MOST_BESIDE
        size = min(len(passing), free, max(_FEWEST_BESIDE, min(most, free // _SHARE_BESIDE)))
        sample = self._spread(passing, size)
        mine = [name for name in sorted(test.moved) if test.apart][: min(_FEWEST_BESIDE, max(0, free - size))]
        skill = evidence.draft.build(good)
        beside |= evidence.run(skill, [*sample, *mine])
        broken = [name for name, seen in beside.items() if seen.symptoms]
        again = evidence.run(skill, broken[: min(_PROBED, self.run.runner.free)])
        beside |= {name: seen for name, seen in again.items() if not seen.symptoms}
        broken = [name for name, seen in again.items() if seen.symptoms]
        most = self.run.runner.rollouts_asked + free // _SHARE_BESIDE
        while broken and self.run.runner.rollouts_asked < most:
            harmful = self._find_harm(before, good, broken[0])
            left = [line for line in good if line not in harmful]
            ran = evidence.run(evidence.draft.build(left), broken)
            mends = [name for name in broken if name in ran and not ran[name].symptoms]
            if not harmful or not mends:
                broken = broken[1:]
                continue
            if (above := self._place_above(before, harmful, left, test, mends)) is not None:
                good[:], ran = above
                beside |= ran
                broken = [name for name in broken if name not in mends]
                continue
            for line in harmful:
                reason = f"{broken[0]} fails beside it and passes without it"
                evidence.memory.tried(line.edit, reason)
                yield EditRefused(self.run.step, line.edit, reason)
            good[:] = left
            beside |= {name: ran[name] for name in mends}
            broken = [name for name in broken if name not in mends]

    def _find_harm(self, before: Sequence[Line], good: Sequence[Line], name: str) -> list[Line]:
        """Find the new lines beside which a task fails, one after the other until it passes without them."""
        harmful: list[Line] = []
        for _ in range(_MOST_HARMFUL):
            left = [line for line in good if line not in harmful]
            new = [line for line in left if line not in before]
            pool = [line for line in new if name not in line.targets] or new
            found = locate_harm(self.evidence, left, pool, name)
            if found is None:
                break
            harmful.append(found)
        return harmful

    def _place_above(
        self,
        before: Sequence[Line],
        harmful: Sequence[Line],
        others: Sequence[Line],
        test: PatchTest,
        mends: Sequence[str],
    ) -> tuple[list[Line], dict[str, Seen]] | None:
        """Put lines above the others where that breaks nothing: some rules must stand above those that they harm."""
        if not any(name in line.targets for line in before for name in mends):
            return None
        lines = [line.placed_first(self.run.step, number) for number, line in enumerate(harmful)] + list(others)
        own = [name for name in sorted(test.moved) if any(name in line.targets for line in harmful)][:_OF_EACH]
        ran = self.evidence.run(self.evidence.draft.build(lines), [*mends, *own])
        return None if not ran or any(seen.symptoms for seen in ran.values()) else (lines, ran)

    def _spread(self, names: Sequence[str], size: int) -> list[str]:
        """Draw tasks, the first of each tag before others, so that rare kinds are among them."""
        order, seen, first = self.evidence.shuffled(names), set[str](), list[str]()
        for name in order:
            tags = set(self.evidence.tasks[name].tags) - seen
            if tags:
                seen |= tags
                first.append(name)
        return list(dict.fromkeys([*first, *order]))[:size]

    def _note(
        self, failing: Mapping[str, Seen], test: PatchTest, beside: Mapping[str, Seen], taken: Sequence[Line]
    ) -> None:
        """Note how tasks went, what was mended, and which lines wait for the next patch."""
        done = frozenset[str]().union(*(line.about for line in taken))
        for symptom in _symptoms(failing):
            self.tries[symptom] = 0 if symptom in done else self.tries[symptom] + 1
        self.dry = 0 if taken else self.dry + 1
        self._fresh = set(test.after) if taken else self._fresh.union(test.after)
        for name, seen in failing.items():
            own = frozenset[str]().union(*(line.targets.get(name, frozenset()) for line in taken))
            if own and name not in test.after:
                self.known[name] = Seen(seen.rollout, seen.symptoms - own, "")
        self.known |= {
            name: seen
            for name, seen in test.after.items()
            if name not in test.moved or any(name in line.targets for line in taken)
        }
        self.known |= beside
        helped = test.helped(self.evidence)
        rest = [line for line in test.lines if line not in helped]
        self._waited.update(rest)
        self.waiting = [line for line in rest if self._waited[line] <= _WAITS]
        self.evidence.memory.settle([line.edit for line in self.waiting])

    def _digest(self) -> str:
        """Say what passes."""
        tasks = self.evidence.tasks
        aside = sum(bool(seen.symptoms) for seen in self.known.values()) - len(self.failing)
        passed = [(tasks[name], not seen.symptoms) for name, seen in self.known.items()]
        return write_digest(passed, aside=aside)


def _symptoms(failing: Mapping[str, Seen]) -> frozenset[str]:
    return frozenset[str]().union(*(seen.symptoms for seen in failing.values()))
