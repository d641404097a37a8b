"""The loop: rollouts, reflection, bounded edits, the gate, once-an-epoch updates, the sealed test.

Owns the order of things and nothing else; every stage lives in its own module. It is deterministic
given settings, seed and the runner's answers, which is why resuming a run is running it again.
Does not own presets (settings), what a verdict means (gate) or keeping versions (versions).
"""

from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

from skillopt.budget import scheduled_edits
from skillopt.caps import BudgetReached, CappedRunner
from skillopt.contamination import protect
from skillopt.documents import GUIDANCE, Skill, SkillDocument
from skillopt.drafts import Draft
from skillopt.edit_checks import check_change, check_edits, check_leaks
from skillopt.edits import Change, Edit, apply_edits
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
from skillopt.gains import RevisionGains
from skillopt.gate import GateRule, Outcome, compare, noise_floor, tally
from skillopt.gating import Gatekeeper, check_coverage, first_failure, resolvable_gain
from skillopt.ports import RolloutRequest, Runner
from skillopt.reflection import Briefing, propose
from skillopt.rollouts import Rollout
from skillopt.screening import SCREEN_TRIALS, screen
from skillopt.settings import Settings
from skillopt.suspicion import Suspects
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
        self._start = self._epoch_start = skill
        self._draft = Draft(skill)
        self._suite = suite
        self._settings = settings
        self._train, self._val = suite.tasks(Split.TRAIN), suite.tasks(Split.VAL)
        self._unbounded = runner
        kept = 2 * len(self._val) if settings.gate_edits != 1 else 0
        self._runner = CappedRunner(runner, settings, 2 * len(suite.tasks(Split.TEST)), kept)
        self._gatekeeper = Gatekeeper(self._val, settings, self._runner)
        self._protected = protect(suite) if settings.scan_leaks else None
        self._batches_per_epoch = -(-len(self._train) // settings.batch_size)
        self._rejected: deque[str] = deque(maxlen=settings.buffer_size)
        self._accepted: list[str] = []
        self._versions = self._idle_batches = self._undecided = self._sealed_rollouts = 0
        self._memory = ""
        self._gains = RevisionGains()
        self._suspects = Suspects(len(self._train), settings.suspect_share)

    def events(self) -> Iterator[Event]:
        """Run the loop to its end, yielding what happens as it happens."""
        for event in self._run():
            self._gains.note(event)
            yield event

    def _run(self) -> Iterator[Event]:
        """Run the loop."""
        yield RunStarted(self._start.name, self._start.digest, self._suite.name, self._suite.digest, self._steps)
        try:
            yield from self._baseline()
            reason = yield from self._epochs()
        except BudgetReached as reached:
            reason = str(reached)
        yield from self._last_gate()
        yield from self._sealed_test()
        asked = self._runner.rollouts_asked + self._sealed_rollouts
        yield RunEnded(reason, self._versions, asked, self._runner.calls_asked)

    @property
    def _steps(self) -> int:
        """Count the steps of the run: each reflection on each batch of each epoch."""
        return self._batches_per_epoch * self._settings.epochs * self._settings.reflections

    @property
    def _trained(self) -> list[Task]:
        """List the train tasks that are not set aside."""
        return [task for task in self._train if task.id not in self._suspects.set_aside]

    @property
    def _notes(self) -> str:
        """Give what the optimizer model is told of earlier steps."""
        return self._gains.with_memory(self._memory) if self._settings.revision_gains else self._memory

    def _epochs(self) -> Generator[Event, None, str]:
        """Go through the train split again and again; say why it ended."""
        settings, idle = self._settings, 0
        for epoch in range(1, settings.epochs + 1):
            before, waiting = self._versions, len(self._draft.pending)
            for number, batch in enumerate(self._shuffled(epoch)):
                first = ((epoch - 1) * self._batches_per_epoch + number) * settings.reflections
                yield from self._batch(epoch, first, batch)
            yield from self._end_epoch(epoch, epoch * self._batches_per_epoch * settings.reflections)
            yield EpochEnded(epoch, self._versions - before)
            idle = 0 if self._versions > before or len(self._draft.pending) > waiting else idle + 1
            if idle == settings.patience > 0:
                return f"nothing new for {idle} epochs"
        return f"all {settings.epochs} epochs done"

    def _shuffled(self, epoch: int) -> Iterator[Sequence[Task]]:
        """Shuffle the train split and cut it; every task is seen once an epoch."""
        order = self._trained
        self._random("batches", epoch).shuffle(order)
        for start in range(0, len(order), self._settings.batch_size):
            yield order[start : start + self._settings.batch_size]

    def _baseline(self) -> Iterator[Event]:
        """Measure the first skill on `val`; repeated, it tells the noise before anything is decided."""
        trials = self._gatekeeper.baseline(self._start)
        noise = noise_floor(trials, self._settings.metric)
        smallest = resolvable_gain(len(self._val), self._settings)
        measured = tally(rollout for rollouts in trials for rollout in rollouts)
        yield BaselineMeasured(measured, noise, smallest)

    def _batch(self, epoch: int, first: int, batch: Sequence[Task]) -> Iterator[Event]:
        """Run the draft on a batch, reflect while failures are open, and gate when it is due."""
        settings, draft = self._settings, self._draft
        rollouts = self._runner.rollouts([RolloutRequest(draft.skill, task, epoch - 1) for task in batch])
        check_coverage(f"step {first + 1}", rollouts, settings.coverage)
        yield TrainMeasured(first + 1, tally(rollouts))
        shown = [pair for pair in zip(batch, rollouts, strict=True) if pair[1].score is not None]
        for task, rollout in shown:
            draft.note(task.id, passed=_passed(rollout))
        yield from self._suspects.note(first + 1, rollouts)
        shown = [pair for pair in shown if pair[0].id not in self._suspects.set_aside]
        yield from self._prune(first + 1, [task for task, rollout in shown if not _passed(rollout)])
        self._idle_batches += 1
        for step in range(first + 1, first + settings.reflections + 1):
            yield from self._step(epoch, step, shown)
            left = set(draft.failing) - self._suspects.set_aside
            shown = [(task, rollout) for task, rollout in shown if not _passed(rollout) and task.id in left]
            if not shown:
                break
        if self._gate_is_due():
            yield from self._gate(epoch, step, "edits", draft.skill, draft.pending)

    def _step(self, epoch: int, step: int, shown: Sequence[tuple[Task, Rollout]]) -> Iterator[Event]:
        """Reflect on rollouts, try each edit alone, and take up those that help."""
        settings, draft = self._settings, self._draft
        budget = scheduled_edits(settings.schedule, step, self._steps, settings.edit_budget, settings.min_edits)
        yield StepStarted(epoch, step, budget)
        briefing = Briefing(draft.skill.document, tuple(self._rejected), self._notes, self._gains.order)
        try:
            proposal = propose(self._runner, briefing, shown, settings, step, budget)
        except ReplyError as error:
            yield StepFailed(step, "reflection", str(error))
            return
        yield from proposal.findings
        yield from self._suspects.claim(step, proposal.failures)
        for edit, reason in proposal.refused:
            self._rejected.append(f"{edit.summary}: {reason}")
            yield EditRefused(step, edit, reason)
        edits: Sequence[Edit] = yield from self._refuse_leaks(step, proposal.patch.changes)
        if settings.screen_trials and edits:
            scores = {task.id: settings.metric.of(rollout.score) for task, rollout in shown if rollout.score}
            edits = yield from self._screen(step, edits, scores)
        if not edits:
            yield StepFailed(step, "reflection", "no edit was left to try")
            return
        draft.take(edits)
        self._idle_batches = 0

    def _refuse_leaks(self, step: int, changes: Sequence[Change]) -> Generator[Event, None, list[Edit]]:
        """Give the edits that carry no protected text into the draft."""
        clean: list[Edit] = []
        for edit in (change.edit for change in changes):
            after = apply_edits(self._draft.skill.document, [edit]).document
            problem = check_leaks(self._protected, self._start.document, after) if self._protected else ""
            if problem:
                self._rejected.append(f"{edit.summary}: {problem}")
                yield EditRefused(step, edit, problem)
            else:
                clean.append(edit)
        return clean

    def _screen(
        self, step: int, edits: Sequence[Edit], scores: Mapping[str, float]
    ) -> Generator[Event, None, list[Edit]]:
        """Try each edit alone; give those that help, and note what the rollouts say of their tasks."""
        settings, draft = self._settings, self._draft
        alone, _ = check_edits(draft.skill.document, edits, settings.allow)
        train = sorted(self._trained, key=lambda task: task.id not in scores)
        tasks = {task.id: (task, scores.get(task.id, 0.0)) for task in train}
        trial = SCREEN_TRIALS + step * settings.screen_trials
        kept: list[Edit] = []
        for one in screen(self._runner, draft.skill, alone, tasks, settings, trial):
            edit = one.change.edit
            yield EditScreened(step, edit, one.tasks, one.before, one.after, one.kept, one.reason)
            if one.kept:
                kept.append(edit)
            elif one.tasks:
                self._rejected.append(f"{edit.summary}: {one.reason}")
            for task in (*one.passing, *(edit.tasks if one.kept else ())):
                draft.note(task, passed=True)
        return kept

    def _prune(self, step: int, failing: Sequence[Task]) -> Iterator[Event]:
        """Where tasks have regressed, try to delete what was added since, and take up what mends most."""
        settings, draft = self._settings, self._draft
        regressed = draft.regressed([task.id for task in failing]) if settings.prune_lines else ()
        if not regressed:
            return
        tasks = {task.id: task for task in failing if task.id in regressed}
        trial = SCREEN_TRIALS + (self._steps + step) * settings.screen_trials
        again = self._runner.rollouts([RolloutRequest(draft.skill, task, trial - 1) for task in tasks.values()])
        for rollout in again:
            if rollout.score is not None:
                draft.note(rollout.task_id, passed=rollout.score.passed)
        broken = [task for task in regressed if task in draft.failing]
        deletions = [replace(edit, id=f"s{step}{edit.id}") for edit in draft.suspects(broken, settings.prune_lines)]
        alone, _ = check_edits(draft.skill.document, deletions, settings.allow)
        if not alone:
            return
        found = screen(
            self._runner, draft.skill, alone, {name: (task, 0.0) for name, task in tasks.items()}, settings, trial
        )
        best = max((one for one in found if one.kept), key=lambda one: one.after - one.before, default=None)
        for one in found:
            yield EditScreened(step, one.change.edit, one.tasks, one.before, one.after, one is best, one.reason)
        draft.take([best.change.edit] if best else [])

    def _gate_is_due(self) -> bool:
        """Say whether waiting edits are worth a gate: enough of them, or nothing new has come for a while."""
        settings, draft = self._settings, self._draft
        if len(draft.pending) <= self._undecided:
            return False
        if 0 < settings.gate_edits <= len(draft.pending):
            return True
        left = set(draft.failing) - self._suspects.set_aside
        return self._idle_batches >= settings.gate_patience or (draft.seen == len(self._train) and not left)

    def _gate(self, epoch: int, step: int, kind: str, candidate: Skill, changes: tuple[Change, ...]) -> Iterator[Event]:
        """Compare a candidate with the incumbent on `val`, and take it, let it wait, or remember why not."""
        draft, text = self._draft, candidate.document.text
        verdict = self._gatekeeper.decide(f"step {step}", draft.incumbent, candidate)
        yield GateDecided(step, kind, changes, verdict, text)
        lines = [change.edit.summary for change in changes] or [kind]
        if verdict.outcome is Outcome.ACCEPT:
            draft.accept(candidate)
            self._undecided = 0
            self._accepted += lines
            self._versions += 1
            asked = self._runner.rollouts_asked
            yield VersionAccepted(self._versions, epoch, step, kind, text, changes, verdict, asked)
        elif verdict.outcome is Outcome.INCONCLUSIVE and self._settings.gate_edits != 1:
            self._undecided = len(draft.pending)
        else:
            self._rejected.extend(f"{line}: {verdict.outcome.value}, {verdict.reason}" for line in lines)
            draft.drop()
            self._undecided = 0

    def _last_gate(self) -> Iterator[Event]:
        """Gate what still waits, with what was kept back for it."""
        draft = self._draft
        self._runner.release()
        if len(draft.pending) <= self._undecided:
            return
        try:
            yield from self._gate(self._settings.epochs, self._steps, "edits", draft.skill, draft.pending)
        except BudgetReached as reached:
            yield StepFailed(self._steps, "gate", str(reached))

    def _end_epoch(self, epoch: int, step: int) -> Iterator[Event]:
        """Compare this epoch's skill with the last one's; gate the guidance and renew the memory."""
        settings, draft = self._settings, self._draft
        if epoch > 1 and settings.slow_tasks:
            if len(draft.pending) > self._undecided:
                yield from self._gate(epoch, step, "edits", draft.skill, draft.pending)
            if draft.pending:
                return  # guidance is written for what was accepted, and edits still wait on top of it
            size = min(settings.slow_tasks, len(self._trained))
            sample = self._random("slow update", epoch).sample(self._trained, size)
            trial = settings.epochs + epoch
            comparison = compare_epochs(self._runner, self._epoch_start, self._draft.incumbent, sample, trial)
            try:
                if settings.meta_update:
                    self._memory = remember(
                        self._runner, self._notes, self._accepted, tuple(self._rejected), comparison
                    )
                    yield MemoryUpdated(epoch, self._memory)
                guided = propose_guidance(self._runner, self._draft.incumbent.document, comparison)
                yield from self._gate_guidance(epoch, step, guided)
            except ReplyError as error:
                yield StepFailed(step, "slow update", str(error))
        self._epoch_start = self._draft.incumbent

    def _gate_guidance(self, epoch: int, step: int, guided: SkillDocument) -> Iterator[Event]:
        """Gate new guidance like any other candidate, unless there is none or the lint refuses it."""
        # Compared with the region already there, so that only its content is judged, not our marks.
        marked = self._draft.incumbent.document.with_region(GUIDANCE, "")
        problem = check_change(marked, guided, self._settings.allow)
        if problem:
            yield StepFailed(step, "slow update", problem)
        elif guided.text != self._draft.incumbent.document.text:
            yield from self._gate(epoch, step, "slow update", self._draft.incumbent.with_document(guided), ())

    def _sealed_test(self) -> Iterator[Event]:
        """Score the first and the last skill on `test`, once, when something was accepted."""
        tasks = self._suite.tasks(Split.TEST)
        if not self._versions:
            return
        requests = [RolloutRequest(skill, task) for skill in (self._start, self._draft.incumbent) for task in tasks]
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


def _passed(rollout: Rollout) -> bool:
    return rollout.score is not None and rollout.score.passed
