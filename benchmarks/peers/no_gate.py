"""A loop without a gate: every proposal is kept.

Owns the loop. Choices: 12 train tasks a step, at most 4 edits from those that failed, as in the loops
with a gate; `val` is never run, so no score is reported; the last document is handed over. Where nothing
does harm this is the fastest way to every rule, at the price of a document full of useless lines. In the
worlds strong, weak and hostile it does best too: their optimizer model proposes to delete only lines that
are wrong, so that harm goes without being measured. A model that knows that much needs no gate.
"""

from benchmarks.peers.batches import minibatches
from benchmarks.peers.exchange import Arena, failures

__all__ = ["train"]

_BATCH = 12
_EDITS = 4


def train(arena: Arena) -> None:
    """Edit until the rollouts are spent."""
    text = arena.terms.start
    for batch in minibatches(arena.terms.train, _BATCH, arena.terms.seed):
        if failing := failures(arena.run(text, batch)):
            text = arena.propose(text, failing, _EDITS).text
            arena.returns(text)
