"""The loop: a baseline, batches that bring edits into a draft, the gate, epoch ends, the release check.

Owns the order of things and nothing else; every stage lives in its own module. It is deterministic
given settings, seed and the runner's answers, which is why resuming a run is running it again.
Does not own presets (presets), what a verdict means (gate.comparison) or keeping versions (versions.repository).
"""

from collections.abc import Generator, Iterator, Sequence
from random import Random

from skillopt.gate.comparison import Outcome, noise_floor, tally
from skillopt.gate.gate import Gatekeeper, resolvable_gain
from skillopt.loop.caps import BudgetReached, CappedRunner
from skillopt.loop.events import (
    BaselineMeasured,
    EpochEnded,
    Event,
    GateDecided,
    RunEnded,
    RunStarted,
    SealedTestMeasured,
    StepFailed,
    VersionAccepted,
)
from skillopt.loop.memory import Lessons
from skillopt.loop.release_check import Released, check_release
from skillopt.loop.slow_update import compare_epochs, guide
from skillopt.loop.step import Drafter
from skillopt.protocols import Runner
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change
from skillopt.tasks import Split, Suite, Task

__all__ = ["Optimizer"]


class Optimizer:
    """One run of the loop over one skill; iterate `events()` to drive it.

    Args:
        skill: Where training starts.
        suite: Tasks in three splits.
        settings: All that shapes the run.
        runner: Answers rollouts and prompts.
        released: What the last skill is compared with on the sealed test; where training starts, unless it is given.
    """

    def __init__(
        self, skill: Skill, suite: Suite, settings: Settings, runner: Runner, released: Released | None = None
    ) -> None:
        self._start = self._epoch_start = skill
        self._suite, self._settings, self._unbounded = suite, settings, runner
        self._released = released or Released(skill)
        self._train, self._val, self._test = (suite.tasks(split) for split in Split)
        kept = 2 * len(self._val) if settings.gate_edits != 1 else 0
        self._runner = CappedRunner(runner, settings, 2 * len(self._test), kept)
        self._lessons = Lessons(settings)
        self._drafter = Drafter(skill, suite, settings, self._runner, self._lessons)
        self._gatekeeper = Gatekeeper(self._val, settings, self._runner, noise=self._drafter.readiness.noise)
        self._batches = -(-len(self._train) // settings.batch_size)
        self._versions = 0

    def events(self) -> Iterator[Event]:
        """Run the loop to its end, yielding what happens as it happens."""
        start, suite = self._start, self._suite
        yield RunStarted(start.name, start.digest, suite.name, suite.digest, self._drafter.steps)
        try:
            yield from self._baseline()
            reason = yield from self._epochs()
        except BudgetReached as reached:
            reason = str(reached)
        yield from self._last_gate()
        asked = self._runner.rollouts_asked
        if self._versions:
            last = self._drafter.draft.incumbent
            for event in check_release(self._unbounded, self._released, last, self._test, self._settings):
                asked += 2 * len(self._test) if isinstance(event, SealedTestMeasured) else 0
                yield event
        yield RunEnded(reason, self._versions, asked, self._runner.calls_asked)

    def _baseline(self) -> Iterator[Event]:
        """Measure the first skill on `val`; repeated, it tells the noise before anything is decided."""
        settings, noise = self._settings, self._drafter.readiness.noise
        trials = self._gatekeeper.baseline(self._start, self._drafter.readiness.repeats)
        noise.settle()
        measured = tally(rollout for rollouts in trials for rollout in rollouts)
        floor, gain = noise_floor(trials, settings.metric), resolvable_gain(len(self._val), settings, noisy=noise.high)
        yield BaselineMeasured(measured, floor, gain)

    def _epochs(self) -> Generator[Event, None, str]:
        """Go through the train split again and again; say why it ended."""
        settings, draft, idle = self._settings, self._drafter.draft, 0
        for epoch in range(1, settings.epochs + 1):
            before, waiting = self._versions, len(draft.pending)
            for number, batch in enumerate(self._shuffled(epoch)):
                first = ((epoch - 1) * self._batches + number) * settings.reflections
                yield from self._drafter.learn(epoch, first, batch)
                if self._drafter.due:
                    yield from self._gate(epoch, first + settings.reflections, draft.skill, draft.pending)
            yield from self._end_epoch(epoch, epoch * self._batches * settings.reflections)
            yield EpochEnded(epoch, self._versions - before)
            idle = 0 if self._versions > before or len(draft.pending) > waiting else idle + 1
            if idle == settings.patience > 0:
                return f"nothing new for {idle} epochs"
        return f"all {settings.epochs} epochs done"

    def _shuffled(self, epoch: int) -> Iterator[Sequence[Task]]:
        """Shuffle the train split and cut it; every task is seen once an epoch."""
        order, size = self._drafter.tasks, self._settings.batch_size
        self._random("batches", epoch).shuffle(order)
        yield from (order[start : start + size] for start in range(0, len(order), size))

    def _gate(self, epoch: int, step: int, candidate: Skill, changes: tuple[Change, ...]) -> Iterator[Event]:
        """Compare a candidate with the incumbent on `val`, and take it, let it wait, or remember why not."""
        drafter, text = self._drafter, candidate.document.text
        kind = "edits" if changes else "slow update"
        rounds = self._runner.affords(2 * len(self._val))
        verdict = self._gatekeeper.decide(f"step {step}", drafter.draft.incumbent, candidate, rounds)
        asked = self._runner.rollouts_asked
        yield GateDecided(step, kind, changes, verdict, text, asked)
        lines = [change.edit.summary for change in changes] or [kind]
        if verdict.outcome is Outcome.ACCEPT:
            drafter.accept(candidate)
            self._lessons.accepted += lines
            self._versions += 1
            yield VersionAccepted(self._versions, epoch, step, kind, text, changes, verdict, asked)
        elif self._waits(verdict.outcome):
            drafter.keep()
        else:
            self._lessons.reject(lines, f"{verdict.outcome.value}, {verdict.reason}")
            drafter.drop()

    def _waits(self, outcome: Outcome) -> bool:
        """Say whether a candidate that was not accepted may get better yet: it is undecided, or grows on trust."""
        trusting = self._settings.trust_noise > 0 and self._drafter.readiness.trusting
        return self._settings.gate_edits != 1 and (trusting or outcome is Outcome.INCONCLUSIVE)

    def _last_gate(self) -> Iterator[Event]:
        """Gate what still waits, with what was kept back for it."""
        draft, epochs = self._drafter.draft, self._settings.epochs
        self._runner.release()
        if self._drafter.readiness.waiting(draft):
            try:
                yield from self._gate(epochs, self._drafter.steps, draft.skill, draft.pending)
            except BudgetReached as reached:
                yield StepFailed(self._drafter.steps, "gate", str(reached))

    def _end_epoch(self, epoch: int, step: int) -> Iterator[Event]:
        """Compare this epoch's skill with the last one's; gate the guidance and renew the memory."""
        settings, draft, tasks = self._settings, self._drafter.draft, self._drafter.tasks
        if epoch > 1 and settings.slow_tasks:
            if self._drafter.readiness.waiting(draft):
                yield from self._gate(epoch, step, draft.skill, draft.pending)
            if draft.pending:
                return  # guidance is written for what was accepted, and edits still wait on top of it
            sample = self._random("slow update", epoch).sample(tasks, min(settings.slow_tasks, len(tasks)))
            trial = settings.epochs + epoch
            comparison = compare_epochs(self._runner, self._epoch_start, draft.incumbent, sample, trial)
            at = (epoch, step)
            guided = yield from guide(self._runner, self._lessons, settings, draft.incumbent, comparison, at)
            if guided is not None:
                yield from self._gate(epoch, step, guided, ())
        self._epoch_start = draft.incumbent

    def _random(self, purpose: str, epoch: int) -> Random:
        return Random(f"{self._settings.seed}/{purpose}/{epoch}")
