"""A one-shot rewrite: look at every train task once, write the document once, and stop.

Owns no loop. Choices: the proposer sees all failures together and may add one line for each symptom;
`val` is run once, for the score that is reported, and nothing is chosen by it; there is no gate.
"""

from statistics import fmean

from benchmarks.peers.exchange import Arena, failures

__all__ = ["train"]

_NO_LIMIT = 1000


def train(arena: Arena) -> None:
    """Spend one pass over `train` and one over `val`."""
    terms = arena.terms
    text = arena.propose(terms.start, failures(arena.run(terms.start, terms.train)), _NO_LIMIT).text
    arena.returns(text)
    arena.returns(text, fmean(outcome.score for outcome in arena.run(text, terms.val)))
