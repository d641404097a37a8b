"""What kinds of edit have brought over the steps of a run: the revision gain.

Owns counting it from the run's events alone, so that a resumed run knows the same, and saying it in a line that
the optimizer model reads. Does not own comparing candidates of one step (groups) or the model's own notes (epochs).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from skillopt.edits import Op
from skillopt.events import EditScreened, Event, FailuresNamed, GateDecided
from skillopt.gate import Outcome
from skillopt.groups import OPS

__all__ = ["RevisionGains"]


@dataclass(frozen=True, slots=True)
class _Tried:
    """An edit that was tried: what it did, about which kind of failure, its gain in score, and whether it is in."""

    op: Op
    kind: str
    gain: float
    won: bool


class RevisionGains:
    """The record of a run, by kind of edit and by kind of failure.

    Source:
        The gain of a revision over the one before as a signal beside the comparison inside a group is the second
        level of Skill-R1 (arXiv:2605.09359); counting it by kind of edit, and as words, is ours.
    """

    def __init__(self) -> None:
        self._tried: dict[str, _Tried] = {}
        self._kinds: dict[str, str] = {}

    def note(self, event: Event) -> None:
        """Note what became of edits: alone on train tasks, and in the gate; the gate has the last word."""
        match event:
            case FailuresNamed():
                self._kinds |= dict(event.edits)
            case EditScreened() if event.tasks:
                kind = self._kinds.get(event.edit.id, "")
                self._tried[event.edit.id] = _Tried(event.edit.op, kind, event.after - event.before, event.kept)
            case GateDecided() if event.verdict.outcome in {Outcome.ACCEPT, Outcome.REJECT}:
                self._judge(event)
            case _:
                pass

    def _judge(self, event: GateDecided) -> None:
        """Take the gate's word for each edit; one that no screen measured gets its share of the gain."""
        won = event.verdict.outcome is Outcome.ACCEPT
        for change in event.changes:
            edit = change.edit
            share = _Tried(edit.op, self._kinds.get(edit.id, ""), event.verdict.gain / len(event.changes), won)
            self._tried[edit.id] = replace(self._tried.get(edit.id, share), won=won)

    @property
    def order(self) -> tuple[Op, ...]:
        """Give the kinds of edit, those first that won most often, each counted as one more won and one more lost."""
        return tuple(sorted(OPS, key=lambda op: -_rate(self._by_op(op))))

    @property
    def line(self) -> str:
        """Say what has won so far; empty before anything was tried."""
        edits = [(op.value, self._by_op(op)) for op in OPS]
        names = sorted({tried.kind for tried in self._tried.values()} - {""})
        kinds = [(f"about {name}", [one for one in self._tried.values() if one.kind == name]) for name in names]
        told = [f"{name} won {_summary(found)}" for name, found in (*edits, *kinds) if found]
        return f"Edits so far: {'; '.join(told)}." if told else ""

    def with_memory(self, memory: str) -> str:
        """Put the line before the model's notes."""
        return "\n".join(part for part in (self.line, memory) if part)

    def _by_op(self, op: Op) -> list[_Tried]:
        return [one for one in self._tried.values() if one.op is op]


def _rate(found: Sequence[_Tried]) -> float:
    return (1 + sum(tried.won for tried in found)) / (2 + len(found))


def _summary(found: Sequence[_Tried]) -> str:
    """Say how many won, and how much more they gained on average than those that lost."""
    won = [tried.gain for tried in found if tried.won]
    lost = [tried.gain for tried in found if not tried.won]
    margin = (fmean(won) if won else 0.0) - (fmean(lost) if lost else 0.0)
    return f"{len(won)} of {len(found)} ({margin:+.2f})"
