"""What an optimizer is given and what it may ask for, the same for all of them.

Owns the values that pass and the protocol of the two sides. It imports the standard library alone,
because peers' own environments import it too. Does not own the worlds (arena) or the wire (link).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

__all__ = ["Arena", "BudgetSpentError", "Edit", "Outcome", "Proposal", "Terms", "failures"]


class BudgetSpentError(Exception):
    """More rollouts were asked for than are left; training ends here."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a run starts from.

    Args:
        peer: Name of the optimizer, which may stand for a configuration of it.
        seed: Of whatever it draws.
        rollouts: Most it may ask for.
        start: The document to improve.
        train: Ids of the tasks to learn from.
        val: Ids of the tasks to choose by.
    """

    peer: str
    seed: int
    rollouts: int
    start: str
    train: tuple[str, ...]
    val: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one rollout of a task went: its score, and what an optimizer model may read of it."""

    task: str
    score: float
    feedback: str


@dataclass(frozen=True, slots=True)
class Edit:
    """One line added to a document or deleted from it, and the tasks it was proposed for."""

    op: str
    line: str
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What the optimizer model answered: edits, and the text with all of them made."""

    text: str
    edits: tuple[Edit, ...]


class Arena(Protocol):
    """What an optimizer may do."""

    @property
    def terms(self) -> Terms:
        """What the run starts from."""
        ...

    @property
    def left(self) -> int:
        """Rollouts that may still be asked for."""
        ...

    def run(self, text: str, tasks: Sequence[str]) -> list[Outcome]:
        """Run each task once with the document; the same again is a new draw.

        Raises:
            BudgetSpentError: There are more tasks than rollouts left; none was run.
        """
        ...

    def propose(self, text: str, failing: Sequence[Outcome], edits: int, rejected: Sequence[str] = ()) -> Proposal:
        """Ask the optimizer model for edits.

        Args:
            text: The document.
            failing: What went wrong with it.
            edits: Most edits.
            rejected: What was tried and not kept.
        """
        ...

    def returns(self, text: str, reported: float | None = None) -> None:
        """Say which document would be handed over if training ended now, and the score reported with it."""
        ...

    def accepts(self, parent: str, child: str) -> None:
        """Say that a gate let a document take the place of another, or stand beside it."""
        ...

    def rank(self, supports: Sequence[int]) -> list[int]:
        """Ask the optimizer model to order edits, the most important first.

        Args:
            supports: How many tasks each edit was proposed for.
        """
        ...

    def called(self) -> None:
        """Count a call of the optimizer model that neither proposes nor ranks."""
        ...


def failures(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Keep what went less than perfectly."""
    return [outcome for outcome in outcomes if outcome.score < 1]
