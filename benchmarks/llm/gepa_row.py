"""GEPA from PyPI with a real model, by `gepa.optimize` with its defaults and its own reflection prompt.

The candidate is the text below the frontmatter. It learns from the suite's train tasks and chooses by its val tasks, as
the published loop does, and ends before a batch that the cap does not hold.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

from benchmarks.peers.contestants import make_ready
from skillopt import Skill, Suite
from skillopt.errors import AnswersPendingError
from skillopt.execution.calls import EvaluateResult
from skillopt.protocols import Model
from skillopt.rollouts import Rollout
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Split, Task

_PART: Final = "document"

Evaluating = Callable[[Skill, Suite], EvaluateResult]
"""Runs a skill on the val tasks of a suite."""


@dataclass(frozen=True, slots=True)
class GepaResult:
    """What GEPA would hand over, and what it took."""

    skill: Skill
    rollouts: int
    calls: int


def train_by_gepa(start: Skill, suite: Suite, model: Model, run: Evaluating, rollouts: int, seed: int) -> GepaResult:
    """Let GEPA run until its next batch does not fit."""
    make_ready()
    play = _Play(start, run, rollouts)
    asked: list[str] = []

    def reflect(prompt: str | list[dict[str, Any]]) -> str:
        asked.append(str(prompt))
        try:
            return model.reply(str(prompt)).text
        except AnswersPendingError as error:  # GEPA goes on after what its reflection raises
            play.pending, play.is_spent = error, True
            raise

    found: Any = import_module("gepa").optimize(
        seed_candidate={_PART: start.document.text[start.document.body_start :]},
        trainset=list(suite.tasks(Split.TRAIN)),
        valset=list(suite.tasks(Split.VAL)),
        adapter=play,
        reflection_lm=reflect,
        max_metric_calls=rollouts,
        seed=seed,
        logger=play,
        stop_callbacks=[lambda _: play.is_spent],
    )
    if play.pending:
        raise play.pending
    return GepaResult(play.skill(found.best_candidate), play.spent, len(asked))


@dataclass(slots=True)
class _Play:
    """GEPA's adapter and logger in one."""

    start: Skill
    run: Evaluating
    most: int
    spent: int = 0
    is_spent: bool = False
    pending: AnswersPendingError | None = None
    propose_new_texts: None = field(default=None)

    def skill(self, candidate: Mapping[str, str]) -> Skill:
        """Put the frontmatter before a candidate."""
        head = self.start.document.text[: self.start.document.body_start]
        return self.start.with_document(SkillDocument(head + candidate[_PART]))

    def evaluate(self, batch: Sequence[Task], candidate: Mapping[str, str], capture_traces: bool = False) -> object:  # noqa: FBT001, FBT002 - GEPA's signature
        """Run a batch, or say that it does not fit, which GEPA takes for one that scores nothing."""
        rollouts: list[Rollout | None] = [None] * len(batch)
        if self.spent + len(batch) > self.most:
            self.is_spent = True
        else:
            self.spent += len(batch)
            suite = Suite("batch", tuple((Split.VAL, task) for task in batch))
            rollouts = [runs[0] for runs in self.run(self.skill(candidate), suite).tasks.values()]
        scores = [one.score.value if one and one.score else 0.0 for one in rollouts]
        made = import_module("gepa.core.adapter").EvaluationBatch
        traces = list(zip(batch, rollouts, strict=True)) if capture_traces else None
        return made(outputs=scores, scores=scores, trajectories=traces)

    def make_reflective_dataset(
        self,
        candidate: Mapping[str, str],  # noqa: ARG002 - GEPA's signature
        eval_batch: Any,  # noqa: ANN401 - GEPA's type
        components: Sequence[str],
    ) -> dict[str, list[dict[str, str]]]:
        """Show every rollout of the minibatch with its feedback, under the names that GEPA's documentation uses."""
        rows = [
            {
                "Inputs": task.prompt,
                "Generated Outputs": rollout.trajectory.answer,
                "Feedback": rollout.score.feedback or "all correct",
            }
            for task, rollout in eval_batch.trajectories
            if rollout and rollout.score
        ]
        return dict.fromkeys(components, rows)

    def log(self, *_: object, **__: object) -> None:
        """Say nothing of what GEPA logs."""
