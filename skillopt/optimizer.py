"""The loop: rollouts, reflection, bounded edits, the gate, once-an-epoch updates, the sealed test.

Owns the order of things and nothing else; every stage lives in its own module. It is deterministic
given settings, seed and the runner's answers, which is why resuming a run is running it again.
Does not own presets (settings), what a verdict means (gate) or keeping versions (versions).
"""

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from random import Random

from skillopt.budget import scheduled_edits
from skillopt.caps import BudgetReached, CappedRunner
from skillopt.documents import GUIDANCE, Skill, SkillDocument
from skillopt.edit_checks import check_change, check_edits, join_edits
from skillopt.edits import Change, Patch
from skillopt.epochs import compare_epochs, propose_guidance, remember
from skillopt.errors import InvalidMeasurementError, ReplyError
from skillopt.events import (
    BaselineMeasured,
    EditRefused,
    EditScreened,
    EpochEnded,
    Event,
    GateDecided,
    MemoryUpdated,
    RunEnded,
    RunStarted,
    SealedTestMeasured,
    StepFailed,
    StepStarted,
    TrainMeasured,
    VersionAccepted,
)
from skillopt.gate import GateRule, Outcome, compare, least_gain, noise_floor, tally
from skillopt.gating import Gatekeeper, check_coverage, first_failure
from skillopt.ports import RolloutRequest, Runner
from skillopt.reflection import Briefing, propose
from skillopt.screening import SCREEN_TRIALS, screen
from skillopt.settings import Settings
from skillopt.tasks import Split, Suite, Task

__all__ = ["Optimizer"]


class Optimizer:
    """One run of the loop over one skill; iterate `events()` to drive it.

    Args:
        skill: Where training starts.
        suite: Tasks in three splits.
        settings: All that shapes the run.
        runner: Answers rollouts and prompts.
    """

    def __init__(self, skill: Skill, suite: Suite, settings: Settings, runner: Runner) -> None:
        self.skill = self._start = self._epoch_start = skill
        self._suite = suite
        self._settings = settings
        self._train, self._val = suite.tasks(Split.TRAIN), suite.tasks(Split.VAL)
        self._unbounded = runner
        self._runner = CappedRunner(runner, settings, 2 * len(suite.tasks(Split.TEST)))
        self._gatekeeper = Gatekeeper(self._val, settings, self._runner)
        self._rejected: deque[str] = deque(maxlen=settings.buffer_size)
        self._accepted: list[str] = []
        self._versions = 0
        self._sealed_rollouts = 0
        self._memory = ""

    def events(self) -> Iterator[Event]:
        """Run the loop to its end, yielding what happens as it happens."""
        steps_per_epoch = -(-len(self._train) // self._settings.batch_size)
        total = steps_per_epoch * self._settings.epochs
        yield RunStarted(self.skill.name, self.skill.digest, self._suite.name, self._suite.digest, total)
        reason = f"all {self._settings.epochs} epochs done"
        try:
            yield from self._baseline()
            idle = 0
            for epoch in range(1, self._settings.epochs + 1):
                before = self._versions
                for number, batch in enumerate(self._batches(epoch), 1):
                    yield from self._step(epoch, (epoch - 1) * steps_per_epoch + number, total, batch)
                yield from self._end_epoch(epoch, epoch * steps_per_epoch)
                yield EpochEnded(epoch, self._versions - before)
                idle = 0 if self._versions > before else idle + 1
                if idle == self._settings.patience > 0:
                    reason = f"nothing accepted for {idle} epochs"
                    break
        except BudgetReached as reached:
            reason = str(reached)
        yield from self._sealed_test()
        yield RunEnded(
            reason, self._versions, self._runner.rollouts_asked + self._sealed_rollouts, self._runner.calls_asked
        )

    def _batches(self, epoch: int) -> Iterator[Sequence[Task]]:
        """Shuffle the train split and cut it; every task is seen once an epoch."""
        order = list(self._train)
        self._random("batches", epoch).shuffle(order)
        for start in range(0, len(order), self._settings.batch_size):
            yield order[start : start + self._settings.batch_size]

    def _baseline(self) -> Iterator[Event]:
        """Measure the first skill on `val`; repeated, it tells the noise before anything is decided."""
        trials = self._gatekeeper.baseline(self.skill)
        noise = noise_floor(trials, self._settings.metric)
        smallest = least_gain(len(self._val), self._settings.confidence)
        measured = tally(rollout for rollouts in trials for rollout in rollouts)
        yield BaselineMeasured(measured, noise, smallest)

    def _step(self, epoch: int, step: int, steps: int, batch: Sequence[Task]) -> Iterator[Event]:
        """Roll out a batch, reflect, and gate the candidate that comes of it."""
        settings = self._settings
        budget = scheduled_edits(settings.schedule, step, steps, settings.edit_budget, settings.min_edits)
        yield StepStarted(epoch, step, budget)
        rollouts = self._runner.rollouts([RolloutRequest(self.skill, task, epoch - 1) for task in batch])
        check_coverage(f"step {step}", rollouts, settings.coverage)
        yield TrainMeasured(step, tally(rollouts))
        measured = [pair for pair in zip(batch, rollouts, strict=True) if pair[1].score is not None]
        briefing = Briefing(self.skill.document, tuple(self._rejected), self._memory)
        try:
            proposal = propose(self._runner, briefing, measured, settings, step, budget)
        except ReplyError as error:
            yield StepFailed(step, "reflection", str(error))
            return
        for edit, reason in proposal.refused:
            self._rejected.append(f"{edit.summary}: {reason}")
            yield EditRefused(step, edit, reason)
        patch = proposal.patch
        if settings.screen_trials and patch.changes:
            failing = [task for task, rollout in measured if rollout.score is not None and not rollout.score.passed]
            patch = yield from self._screen(step, patch.changes, (*failing, *self._train))
        if patch.changes:
            yield from self._gate(epoch, step, "edits", patch.document, patch.changes)
        else:
            yield StepFailed(step, "reflection", "no edit was left to try")

    def _screen(self, step: int, changes: Sequence[Change], tasks: Sequence[Task]) -> Generator[Event, None, Patch]:
        """Try each edit alone; give the patch of those that helped."""
        settings, document = self._settings, self.skill.document
        alone, _ = check_edits(document, [change.edit for change in changes], settings.allow)
        by_id = {task.id: task for task in tasks}
        trial = SCREEN_TRIALS + step * settings.screen_trials
        found = screen(self._runner, self.skill, alone, by_id, settings, trial)
        for one in found:
            edit = one.change.edit
            yield EditScreened(step, edit, one.tasks, one.before, one.after, one.kept, one.reason)
            if one.tasks and not one.kept:
                self._rejected.append(f"{edit.summary}: {one.reason}")
        return join_edits(document, [one.change for one in found if one.kept], settings.allow)[0]

    def _gate(
        self, epoch: int, step: int, kind: str, document: SkillDocument, changes: tuple[Change, ...]
    ) -> Iterator[Event]:
        """Compare a candidate with the incumbent on `val`, and take it or remember why not."""
        candidate = self.skill.with_document(document)
        verdict = self._gatekeeper.decide(f"step {step}", self.skill, candidate)
        yield GateDecided(step, kind, changes, verdict)
        lines = [change.edit.summary for change in changes] or [kind]
        if verdict.outcome is Outcome.ACCEPT:
            self.skill = candidate
            self._accepted += lines
            self._versions += 1
            asked = self._runner.rollouts_asked
            yield VersionAccepted(self._versions, epoch, step, kind, document.text, changes, verdict, asked)
        else:
            self._rejected.extend(f"{line}: {verdict.outcome.value}, {verdict.reason}" for line in lines)

    def _end_epoch(self, epoch: int, step: int) -> Iterator[Event]:
        """Compare this epoch's skill with the last one's; gate the guidance and renew the memory."""
        settings = self._settings
        if epoch > 1 and settings.slow_tasks:
            size = min(settings.slow_tasks, len(self._train))
            sample = self._random("slow update", epoch).sample(self._train, size)
            trial = settings.epochs + epoch
            comparison = compare_epochs(self._runner, self._epoch_start, self.skill, sample, trial)
            try:
                if settings.meta_update:
                    self._memory = remember(
                        self._runner, self._memory, self._accepted, tuple(self._rejected), comparison
                    )
                    yield MemoryUpdated(epoch, self._memory)
                guided = propose_guidance(self._runner, self.skill.document, comparison)
                yield from self._gate_guidance(epoch, step, guided)
            except ReplyError as error:
                yield StepFailed(step, "slow update", str(error))
        self._epoch_start = self.skill

    def _gate_guidance(self, epoch: int, step: int, guided: SkillDocument) -> Iterator[Event]:
        """Gate new guidance like any other candidate, unless there is none or the lint refuses it."""
        # Compared with the region already there, so that only its content is judged, not our marks.
        marked = self.skill.document.with_region(GUIDANCE, "")
        problem = check_change(marked, guided, self._settings.allow)
        if problem:
            yield StepFailed(step, "slow update", problem)
        elif guided.text != self.skill.document.text:
            yield from self._gate(epoch, step, "slow update", guided, ())

    def _sealed_test(self) -> Iterator[Event]:
        """Score the first and the last skill on `test`, once, when something was accepted."""
        tasks = self._suite.tasks(Split.TEST)
        if not self._versions:
            return
        requests = [RolloutRequest(skill, task) for skill in (self._start, self.skill) for task in tasks]
        rollouts = self._unbounded.rollouts(requests)
        before, after = rollouts[: len(tasks)], rollouts[len(tasks) :]
        settings = self._settings
        verdict = compare(
            before,
            after,
            rule=GateRule.PAIRED,
            metric=settings.metric,
            confidence=settings.confidence,
            coverage=settings.coverage,
        )
        if verdict.outcome is Outcome.INVALID:
            raise InvalidMeasurementError(f"sealed test: {verdict.reason}{first_failure(rollouts)}")
        self._sealed_rollouts = len(rollouts)
        yield SealedTestMeasured(tally(before), tally(after), verdict)

    def _random(self, purpose: str, epoch: int) -> Random:
        return Random(f"{self._settings.seed}/{purpose}/{epoch}")
