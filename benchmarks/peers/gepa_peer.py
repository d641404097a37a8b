"""GEPA from PyPI, through `gepa.optimize`.

Choices, for both configurations:

- The candidate is one text, the whole document. `evaluate` is one rollout a task, without cache (the
  default).
- `custom_candidate_proposer` asks the proposer that everybody has; it sees the failing tasks of the
  minibatch, with their feedback. The seed, `trainset` and `valset` are those of the world.
- Handed over is what GEPA would return: the candidate with the highest mean on `valset`.
- `gepa`: defaults (minibatch 3, Pareto selection); a proposal has at most 4 edits, which with a
  minibatch of 3 means one for each failing task.
- `gepa, tuned`: the best configuration known to us here: minibatch 12, at most 4 edits,
  `candidate_selection_strategy="current_best"`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import gepa  # type: ignore[import-not-found]  # `make_ready` of contestants installs it, in a folder of its own
from gepa.core.adapter import EvaluationBatch  # type: ignore[import-not-found]  # as above

from benchmarks.peers.arena import Outcome, SimulatedArena, failures

_PART = "document"
_OPTIONS: Mapping[str, tuple[int, Mapping[str, object]]] = {
    "gepa": (4, {}),
    "gepa, tuned": (4, {"reflection_minibatch_size": 12, "candidate_selection_strategy": "current_best"}),
}


def train(arena: SimulatedArena) -> None:
    """Let GEPA run until it has spent the rollouts."""
    play = _Play(arena)
    gepa.optimize(
        seed_candidate={_PART: arena.start},
        trainset=list(arena.train),
        valset=list(arena.val),
        adapter=play,
        custom_candidate_proposer=play.propose,
        max_metric_calls=arena.rollouts,
        seed=arena.seed,
        logger=play,
        callbacks=[play],
        stop_callbacks=[play.is_spent],
        **_OPTIONS[arena.peer][1],
    )
    if play.trouble:
        raise RuntimeError(f"GEPA went on after this: {play.trouble}")


class _Play:
    """GEPA's adapter, proposer, logger and callback in one."""

    propose_new_texts = None

    def __init__(self, arena: SimulatedArena) -> None:
        self._arena = arena
        self._spent = False
        self.trouble = ""

    def evaluate(self, batch: Sequence[str], candidate: Mapping[str, str], capture_traces: bool = False) -> object:  # noqa: FBT001, FBT002 - GEPA's signature
        """Run a batch."""
        self._spent = len(batch) > self._arena.left
        outcomes = self._arena.run(candidate[_PART], batch)
        scores = [outcome.score for outcome in outcomes]
        return EvaluationBatch(outputs=scores, scores=scores, trajectories=outcomes if capture_traces else None)

    def make_reflective_dataset(
        self,
        candidate: Mapping[str, str],  # noqa: ARG002 - GEPA's signature
        eval_batch: Any,  # noqa: ANN401 - GEPA's type
        components: Sequence[str],
    ) -> dict[str, list[dict[str, Any]]]:
        """Show what failed."""
        return {part: [asdict(outcome) for outcome in failures(eval_batch.trajectories)] for part in components}

    def propose(
        self,
        candidate: Mapping[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components: Sequence[str],
    ) -> dict[str, str]:
        """Ask the proposer."""
        edits = _OPTIONS[self._arena.peer][0]
        failing = {part: [Outcome(**row) for row in reflective_dataset[part]] for part in components}
        return {part: self._arena.propose(candidate[part], failing[part], edits) for part in components}

    def is_spent(self, _: object) -> bool:
        """Return whether the last batch did not fit, which GEPA may take for a proposal that failed."""
        return self._spent

    def log(self, message: str, *_: object, **__: object) -> None:
        """Keep the first exception that GEPA only logs."""
        if "Exception" in message and not self._spent:
            self.trouble = self.trouble or message

    def on_iteration_end(self, event: Mapping[str, Any]) -> None:
        """Note what is on top of the pool."""
        state = event["state"]
        texts = [candidate[_PART] for candidate in state.program_candidates]
        means = state.program_full_scores_val_set
        top = max(range(len(means)), key=lambda at: means[at])
        self._arena.returns(texts[top])
