"""Drafting: from the rollouts of a batch to edits that are in the draft.

Owns the order of suspecting tasks, reflecting, refusing leaks and screening, and what is noted of each.
Does not own any of them, when to measure (loop.scheduling) or what the gate decides (loop.optimizer).
"""

from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from typing import Final

from skillopt.errors import ReplyError
from skillopt.gate.comparison import tally
from skillopt.gate.gate import check_coverage
from skillopt.loop.draft import Draft
from skillopt.loop.edit_budget import scheduled_edits
from skillopt.loop.edit_checks import check_edits, check_leaks
from skillopt.loop.events import EditRefused, EditScreened, Event, StepFailed, StepStarted, TrainMeasured
from skillopt.loop.memory import Lessons
from skillopt.loop.reflection import Briefing, propose
from skillopt.loop.scheduling import Readiness
from skillopt.loop.screen import SCREEN_TRIALS, screen
from skillopt.loop.suspect_verifiers import Suspects
from skillopt.protocols import RolloutRequest, Runner
from skillopt.rollouts import Rollout
from skillopt.safety.leaks import protect
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change, Edit, Op, apply_edits
from skillopt.tasks import Split, Suite, Task

__all__ = ["Drafter"]

_Shown = Sequence[tuple[Task, Rollout]]

_BUILDS_ON: Final = "it builds on one that is left out"


class Drafter:
    """Keeps the draft of a run and brings edits into it.

    Args:
        skill: Where training starts.
        suite: Its tasks; only those of `train` are run.
        settings: What shapes the run.
        runner: Answers rollouts and prompts.
        lessons: What the optimizer model is told of earlier steps.
    """

    def __init__(self, skill: Skill, suite: Suite, settings: Settings, runner: Runner, lessons: Lessons) -> None:
        self.draft = Draft(skill)
        self._start = skill
        self._settings = settings
        self._runner = runner
        self._lessons = lessons
        self._train = suite.tasks(Split.TRAIN)
        self._protected = protect(suite) if settings.scan_leaks else None
        self._suspects = Suspects(len(self._train), settings.suspect_share)
        self._on_trust: set[str] = set()
        self.readiness = Readiness(settings, len(self._train), len(suite.tasks(Split.VAL)))
        batches = -(-len(self._train) // settings.batch_size)
        self.steps = batches * settings.epochs * settings.reflections

    @property
    def tasks(self) -> list[Task]:
        """List the train tasks that are not set aside."""
        return [task for task in self._train if task.id not in self._suspects.set_aside]

    @property
    def due(self) -> bool:
        """Say whether waiting edits are worth a gate."""
        stubborn = set(self.draft.stubborn) - self._suspects.set_aside
        return self.readiness.due(self.draft, len(self._failing), len(stubborn))

    def accept(self, candidate: Skill) -> None:
        """Go on from a candidate that the gate has accepted."""
        self.draft.accept(candidate)
        self.readiness.note_verdict(self.draft, accepted=True)

    def keep(self) -> None:
        """Let waiting edits wait on, until more is known or more has come."""
        self.readiness.note_verdict(self.draft, accepted=False)

    def drop(self) -> None:
        """Go back to the incumbent."""
        if self.draft.pending:
            self.readiness.noise.forget()
        self.draft.drop()
        self.readiness.note_verdict(self.draft, accepted=False)

    def learn(self, epoch: int, first: int, batch: Sequence[Task]) -> Iterator[Event]:
        """Run the draft on a batch, and reflect while failures are open.

        Args:
            epoch: From 1; it is the trial.
            first: Step before the first of this batch.
            batch: Train tasks.
        """
        settings, draft = self._settings, self.draft
        rollouts = self._run(epoch, first + 1, batch)
        yield TrainMeasured(first + 1, tally(rollouts))
        shown = [pair for pair in zip(batch, rollouts, strict=True) if pair[1].score is not None]
        # Where outcomes repeat, a failure of what passed under this very draft is mostly noise; a second one is shown.
        steady = set() if self.readiness.trusting else {task.id for task in batch if draft.steady(task.id)}
        chance = {task.id for task, rollout in shown if not _passed(rollout)} & steady
        for task, rollout in shown:
            draft.note(task.id, passed=_passed(rollout))
        yield from self._note_batch(first + 1, [rollout for _, rollout in shown])
        yield from self._suspects.note(first + 1, rollouts)
        shown = [pair for pair in shown if pair[0].id not in self._suspects.set_aside | chance]
        for step in range(first + 1, first + settings.reflections + 1):
            if not shown:
                break
            yield from self._step(epoch, step, shown)
            shown = [(task, rollout) for task, rollout in shown if not _passed(rollout) and task.id in self._failing]

    def _note_batch(self, step: int, rollouts: Sequence[Rollout]) -> Iterator[Event]:
        """Note how the draft did; what was taken up on trust goes when a screen turns out to be able to tell."""
        trusting = self.readiness.trusting
        self.readiness.note_batch([(rollout.task_id, score) for rollout, score in self._scored(rollouts)])
        if trusting and not self.readiness.trusting and self._on_trust:
            for edit in self._remove(self._on_trust):
                own = "taken up on trust, but outcomes repeat well enough to try it alone"
                yield EditRefused(step, edit, own if edit.id in self._on_trust else _BUILDS_ON)
            self._on_trust.clear()

    def _remove(self, names: Collection[str]) -> list[Edit]:
        """Take waiting edits out of the draft again; give them and those that do not fit without them."""
        before = self.draft.waiting
        gone = self.draft.leave_out(names)
        self.readiness.note_removed([at for at, edit in enumerate(before) if edit in gone])
        return gone

    def _run(self, epoch: int, step: int, batch: Sequence[Task]) -> Sequence[Rollout]:
        """Run the draft on a batch."""
        rollouts = self._runner.rollouts([RolloutRequest(self.draft.skill, task, epoch - 1) for task in batch])
        check_coverage(f"step {step}", rollouts, self._settings.coverage)
        return rollouts

    def _step(self, epoch: int, step: int, shown: _Shown) -> Iterator[Event]:
        """Reflect on rollouts, try each edit alone where that tells something, and take up what is left."""
        settings, draft, lessons = self._settings, self.draft, self._lessons
        budget = scheduled_edits(settings.schedule, step, self.steps, settings.edit_budget, settings.min_edits)
        yield StepStarted(epoch, step, budget)
        briefing = Briefing(draft.skill.document, lessons.rejected, lessons.memory)
        try:
            proposal = propose(self._runner, briefing, shown, settings, step, budget)
        except ReplyError as error:
            yield StepFailed(step, "reflection", str(error))
            return
        yield from proposal.findings
        yield from self._suspects.claim(step, proposal.failures)
        for edit, reason in proposal.refused:
            lessons.refuse(edit, reason)
            yield EditRefused(step, edit, reason)
        edits: Sequence[Edit] = yield from self._refuse_leaks(step, proposal.patch.changes)
        if self.readiness.trusting:
            edits = yield from self._trust(step, edits)
            self._on_trust.update(edit.id for edit in edits)
        elif edits:
            scores = {task.id: settings.metric.of(rollout.score) for task, rollout in shown if rollout.score}
            edits = yield from self._screen(step, edits, scores)
        if not edits:
            yield StepFailed(step, "reflection", "no edit was left to try")
            return
        draft.take(edits)
        self.readiness.note_edits()

    def _refuse_leaks(self, step: int, changes: Sequence[Change]) -> Generator[Event, None, list[Edit]]:
        """Give the edits that carry no protected text into the draft."""
        clean: list[Edit] = []
        for edit in (change.edit for change in changes):
            after = apply_edits(self.draft.skill.document, [edit]).document
            problem = check_leaks(self._protected, self._start.document, after) if self._protected else ""
            if problem:
                self._lessons.refuse(edit, problem)
                yield EditRefused(step, edit, problem)
            else:
                clean.append(edit)
        return clean

    def _trust(self, step: int, edits: Sequence[Edit]) -> Generator[Event, None, list[Edit]]:
        """Give as many edits as may wait on trust; a deletion makes room."""
        room = self._settings.trust_edits - sum(_growth(edit) for edit in self.draft.waiting)
        kept: list[Edit] = []
        for edit in edits:
            if self._settings.screen_trials and _growth(edit) > 0 and room <= 0:
                yield EditRefused(step, edit, f"{self._settings.trust_edits} edits wait on trust already")
                continue
            room -= _growth(edit)
            kept.append(edit)
        return kept

    def _screen(
        self, step: int, edits: Sequence[Edit], scores: Mapping[str, float]
    ) -> Generator[Event, None, list[Edit]]:
        """Try each edit alone; give those that help, and note what the rollouts say of their tasks."""
        settings, draft = self._settings, self.draft
        alone, _ = check_edits(draft.skill.document, edits, settings.allow)
        train = sorted(self.tasks, key=lambda task: task.id not in scores)
        tasks = {task.id: (task, scores.get(task.id, 0.0)) for task in train}
        trial = SCREEN_TRIALS + step * settings.screen_trials
        kept: list[Edit] = []
        for one in screen(self._runner, draft.skill, alone, tasks, settings, trial):
            edit = one.change.edit
            yield EditScreened(step, edit, one.tasks, one.before, one.after, one.kept, one.reason)
            if one.kept:
                kept.append(edit)
            elif one.tasks:
                self._lessons.refuse(edit, one.reason)
            for task in (*one.passing, *(edit.tasks if one.kept else ())):
                draft.note(task, passed=True)
        return kept

    @property
    def _failing(self) -> set[str]:
        return set(self.draft.failing) - self._suspects.set_aside

    def _scored(self, rollouts: Sequence[Rollout]) -> list[tuple[Rollout, float]]:
        metric = self._settings.metric
        return [(rollout, metric.of(rollout.score)) for rollout in rollouts if rollout.score is not None]


def _growth(edit: Edit) -> int:
    """Count the lines of advice that an edit adds: one, none or one less."""
    return (edit.op is Op.ADD) - (edit.op is Op.DELETE)


def _passed(rollout: Rollout) -> bool:
    return rollout.score is not None and rollout.score.passed
