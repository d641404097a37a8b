"""The wire between the driver and a peer's own interpreter: JSON lines over its standard streams.

Owns both directions' messages and the peer's side. It imports the standard library alone. Does not
own starting the peer (processes) or what is asked for (exchange).
"""

import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, TextIO

from benchmarks.peers.exchange import Arena, BudgetSpentError, Edit, Outcome, Proposal, Terms

__all__ = ["Link", "answer", "serve", "write_terms"]


class Link:
    """An `Arena` at the other end of a wire.

    Args:
        terms: What the run starts from.
        source: Where answers come from.
        sink: Where questions go.
    """

    def __init__(self, terms: Terms, source: TextIO, sink: TextIO) -> None:
        self.terms = terms
        self.left = terms.rollouts
        self._source = source
        self._sink = sink

    def run(self, text: str, tasks: Sequence[str]) -> list[Outcome]:
        """Run each task once with the document; the same again is a new draw.

        Raises:
            BudgetSpentError: There are more tasks than rollouts left; none was run.
        """
        if len(tasks) > self.left:
            raise BudgetSpentError
        self.left -= len(tasks)
        return [Outcome(*row) for row in self._ask("run", text, list(tasks))]

    def propose(self, text: str, failing: Sequence[Outcome], edits: int, rejected: Sequence[str] = ()) -> Proposal:
        """Ask the optimizer model for edits."""
        found = self._ask("propose", text, [asdict(outcome) for outcome in failing], edits, list(rejected))
        return Proposal(found["text"], tuple(Edit(op, line, tuple(tasks)) for op, line, tasks in found["edits"]))

    def returns(self, text: str, reported: float | None = None) -> None:
        """Say which document would be handed over if training ended now."""
        self._say("returns", text, reported)

    def accepts(self, parent: str, child: str) -> None:
        """Say what a gate let through."""
        self._say("accepts", parent, child)

    def rank(self, supports: Sequence[int]) -> list[int]:
        """Ask the optimizer model to order edits."""
        return [int(at) for at in self._ask("rank", list(supports))]

    def called(self) -> None:
        """Count a call of the optimizer model that neither proposes nor ranks."""
        self._say("called")

    def done(self) -> None:
        """Say that training has ended."""
        self._say("done")

    def _say(self, what: str, *parts: object) -> None:
        self._sink.write(json.dumps([what, *parts]) + "\n")
        self._sink.flush()

    def _ask(self, what: str, *parts: object) -> Any:  # noqa: ANN401 - the shape depends on the question
        self._say(what, *parts)
        return json.loads(self._source.readline())


def serve(train: Callable[[Arena], None]) -> int:
    """Train once for each line of terms on standard input; the peer's own prints go to standard error."""
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as sink, contextlib.redirect_stdout(sys.stderr):
        os.dup2(2, 1)
        for line in sys.stdin:
            told = json.loads(line)
            link = Link(Terms(**told | {"train": tuple(told["train"]), "val": tuple(told["val"])}), sys.stdin, sink)
            with contextlib.suppress(BudgetSpentError):
                train(link)
            link.done()
    return 0


def write_terms(terms: Terms) -> str:
    """Write the line that starts a run."""
    return json.dumps(asdict(terms)) + "\n"


def answer(arena: Arena, line: str) -> str | None:
    """Do what a peer's line asks for, and give the line to answer with.

    Args:
        arena: Where it is done.
        line: From the peer.

    Returns:
        The answer, empty where none is expected; None when training has ended.

    Raises:
        ValueError: The line asks for nothing known.
    """
    what, *parts = json.loads(line)
    match what:
        case "run":
            outcomes = arena.run(parts[0], parts[1])
            return json.dumps([[found.task, found.score, found.feedback] for found in outcomes]) + "\n"
        case "propose":
            made = arena.propose(parts[0], [Outcome(**row) for row in parts[1]], parts[2], parts[3])
            edits = [[edit.op, edit.line, edit.tasks] for edit in made.edits]
            return json.dumps({"text": made.text, "edits": edits}) + "\n"
        case "rank":
            return json.dumps(arena.rank(parts[0])) + "\n"
        case "returns" | "accepts" | "called":
            getattr(arena, what)(*parts)
            return ""
        case "done":
            return None
        case _:
            raise ValueError(f"expected run, propose, rank, returns, accepts, called or done, found {what!r}")
