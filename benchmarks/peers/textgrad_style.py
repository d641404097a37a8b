"""A loop of TextGrad's shape; TextGrad itself is not run.

Owns the loop of TextGrad's prompt-optimization example: a minibatch of 3, one rewrite of the whole
text from its feedback, a pass over `val`, and back to the text before when its mean fell. Choices: the
rewrite is at most 3 edits, one for each task of the batch; the mean to compare with is the stored one,
as in the example; a tie is kept.
"""

from statistics import fmean

from benchmarks.peers.batches import minibatches
from benchmarks.peers.exchange import Arena, failures

__all__ = ["train"]

_BATCH = 3


def train(arena: Arena) -> None:
    """Rewrite until the rollouts are spent."""
    text = arena.terms.start
    mean = _val_mean(arena, text)
    arena.returns(text, mean)
    for batch in minibatches(arena.terms.train, _BATCH, arena.terms.seed):
        failing = failures(arena.run(text, batch))
        if not failing:
            continue
        rewritten = arena.propose(text, failing, _BATCH).text
        found = _val_mean(arena, rewritten)
        if found >= mean and rewritten != text:
            arena.accepts(text, rewritten)
            text, mean = rewritten, found
            arena.returns(text, mean)


def _val_mean(arena: Arena, text: str) -> float:
    return fmean(outcome.score for outcome in arena.run(text, arena.terms.val))
