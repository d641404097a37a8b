"""The state of one training run: the draft, what was measured of it, what is remembered, what may still be spent."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from skillopt.gate.gate import Gate
from skillopt.loop.caps import CappedRunner, TrainRollouts, plan_rollouts
from skillopt.loop.consultation import Optimizer
from skillopt.loop.draft import Draft, Repeated
from skillopt.loop.edit_checks import Refusal, find_leaking_edits
from skillopt.loop.events import DraftChanged, EditRefused, Event, VerifierSuspected
from skillopt.loop.evidence import TrainEvidence
from skillopt.loop.memory import Memory, PeoplesRefusal, find_reworded
from skillopt.prompts.reviewing import FlaggedLine
from skillopt.protocols import Runner
from skillopt.rollouts import Rollout, Status, Stream
from skillopt.safety.leaks import index_protected_text
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.skills.edits import Edit
from skillopt.tasks import Split, Suite

_LONGEST_REASON: Final = 200  # characters: one line of a console


class SuspectVerifiers:
    """The suspects of one run; what it says follows from what it was told, in order."""

    def __init__(self) -> None:
        self._verdicts: dict[tuple[str, str], set[bool]] = defaultdict(set)
        self._failing: set[str] = set()
        self.flagged: set[str] = set()

    def add_rollouts(self, step: int, rollouts: Iterable[Rollout]) -> Iterator[VerifierSuspected]:
        """Note train rollouts; flag a task of which the same answer passed once and failed once.

        Only rollouts that ended well with an answer and wrote no files can be compared, because a trajectory does not
        hold what is in files.
        """
        for rollout in rollouts:
            task, answer, score = rollout.task_id, rollout.trajectory.answer, rollout.score
            if score is None:
                continue
            (self._failing.discard if score.passed else self._failing.add)(task)
            if rollout.status is not Status.OK or not answer.strip() or rollout.trajectory.files_changed:
                continue
            self._verdicts[task, answer].add(score.passed)
            if len(self._verdicts[task, answer]) > 1:
                yield from self._flag(step, task, "the same answer passed once and failed once", "measured")

    def add_claims(self, step: int, claims: Mapping[str, str]) -> Iterator[VerifierSuspected]:
        """Note of which tasks a model calls the verifier wrong; one counts for a task that failed when it ran last."""
        for task, reason in claims.items():
            if task in self._failing:
                plain = "".join(character if character.isprintable() else " " for character in reason)
                yield from self._flag(step, task, " ".join(plain.split())[:_LONGEST_REASON] or "no reason", "model")

    def _flag(self, step: int, task: str, reason: str, by: str) -> Iterator[VerifierSuspected]:
        if task not in self.flagged:
            self.flagged.add(task)
            yield VerifierSuspected(step, task, reason, by)


class TrainingRun:
    """What the stages of the loop share."""

    def __init__(
        self,
        skill: Skill,
        suite: Suite,
        settings: Settings,
        runner: Runner,
        spent: Sequence[float] = (),
        refused: Sequence[PeoplesRefusal] = (),
    ) -> None:
        self.start = self.epoch_start = skill
        self.first_text = skill.document
        """What is known from before any version; text that was added since is looked at for leaks as a whole."""
        self.shell_problem: Callable[[str, str], str] | None = None
        """Says why a shell cannot read a script; shells are programs, so it comes from outside."""
        self.suite, self.settings = suite, settings
        self.tasks, self.val, self.test = (suite.tasks(split) for split in Split)
        self.plan = plan_rollouts(suite, settings)
        self._refused = refused
        kept = self.plan.gate if settings.patch_tests else 0
        self.runner = CappedRunner(runner, settings, self.plan.test, kept)
        self.gate = Gate(self.val, settings, self.runner, looked=spent)
        self.rollouts = TrainRollouts(self.runner, Stream.LEARNING)
        self.optimizer = Optimizer(self.runner)
        self.all_teach = suite.folds is not None
        """Whether the tasks are so few that all of them teach, and judge by fresh runs."""
        self.taught = self.val if self.all_teach else self.tasks
        draw = self.random("learning", 0)
        self.evidence = TrainEvidence(skill, self.taught, draw, self.rollouts.measure, refused)
        self.suspects = SuspectVerifiers()
        self.protected = index_protected_text(suite) if settings.scan_leaks else None
        self.versions = self.step = 0
        self.test_rollouts = 0
        self.gated = self.told = ""
        self.flagged: tuple[FlaggedLine, ...] = ()
        self.reviewed = ("", "")
        """Texts that the reviewer compared last."""
        self.reflections = 0
        """How many there were; the number is part of the ids of their edits."""

    @property
    def draft(self) -> Draft:
        """The draft in training."""
        return self.evidence.draft

    @property
    def memory(self) -> Memory:
        """What is remembered of edits."""
        return self.evidence.memory

    @property
    def again(self) -> tuple[Repeated, ...]:
        """What in the draft says in other words what people refused."""
        return tuple(find_reworded(self.draft.waiting, self._refused, self.start.document).values())

    @property
    def steps(self) -> int:
        """Count the steps of the published loop; 0 where learning ends by what it finds."""
        return 0 if self.settings.patch_tests else self.batches * self.settings.epochs

    @property
    def batches(self) -> int:
        """Count the batches of an epoch of the published loop."""
        return -(-len(self.tasks) // self.settings.batch_size)

    def leaking_edits(self, skill: Skill, edits: Sequence[Edit]) -> list[Refusal]:
        """Find the edits without which a skill carries no protected text that was not there before any version."""
        if self.protected is None or not edits:
            return []
        return find_leaking_edits(self.protected, self.first_text, skill.document, edits)

    def suspicions(self, step: int) -> Iterator[Event]:
        """Flag the tasks whose verifier looks wrong by what was run since it was asked last."""
        yield from self.suspects.add_rollouts(step, self.rollouts.read())

    def drop_leaks(self, step: int) -> Iterator[Event]:
        """Take the edits out of the draft that carry protected text."""
        while leaking := dict(self.leaking_edits(self.draft.incumbent, self.draft.waiting)):
            self.draft.set([line for line in self.draft.lines if line.edit not in leaking])
            for edit, reason in leaking.items():
                self.memory.refused(edit, reason)
                yield EditRefused(step, edit, reason)

    def draft_changed(self, step: int | None = None) -> Iterator[Event]:
        """Tell of the draft where it is another text than the one told of last."""
        yield from self.drop_leaks(step or self.step)
        if self.draft.skill.digest != (self.told or self.start.digest):
            self.told = self.draft.skill.digest
            yield DraftChanged(step or self.step, self.draft.skill.document.text, self.draft.pending)

    def random(self, stream: str, epoch: int) -> Random:
        """Return the draws of one purpose in one epoch; no two streams share any."""
        return Random(f"{self.settings.seed}/{stream}/{epoch}")
