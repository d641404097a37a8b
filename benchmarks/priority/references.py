"""Models whose place is known: the truth itself, chance, and the support by evidence alone.

Owns what they reply. They are told the case, which no optimizer model is. Does not own the simulated proposer
(landscapes).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from benchmarks.landscapes.proposer import seeded
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.priority.cases import Case
from skillopt.demo.prompts import read_prompt
from skillopt.loop.citation_support import ground
from skillopt.protocols import Model
from skillopt.rollouts import Reply, Usage
from skillopt.skills.edits import Edit

__all__ = ["REFERENCES"]


@dataclass(frozen=True, slots=True)
class _Told:
    """Replies with an order of the candidates, and with some of them as its proposals."""

    identity: str
    order: Sequence[str]
    proposed: Sequence[Edit]

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:  # noqa: ARG002 - it costs nothing
        """Bound a call, which costs nothing."""
        return Usage(calls=1)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - the reply is fixed
        """Rank or propose."""
        if read_prompt(prompt).task == "rank edits":
            return Reply(json.dumps({"order": list(self.order)}), Usage(calls=1))
        return Reply(json.dumps({"edits": [_shown(edit) for edit in self.proposed]}), Usage(calls=1))


def _oracle(case: Case) -> Model:
    """Know the gains: rank by them, and propose all that helps."""
    ranked = sorted(case.edits, key=lambda edit: -case.gains[edit.id])
    return _Told("oracle", _ids(ranked), [edit for edit in ranked if case.gains[edit.id] > 0])


def _random(case: Case) -> Model:
    """Know nothing: rank at random, and propose some of what could be done."""
    ranked, proposed, draw = list(case.edits), list(case.actions), seeded(case.seed, "random", case.name)
    draw.shuffle(ranked)
    draw.shuffle(proposed)
    return _Told("random", _ids(ranked), proposed[: len(ranked) // 2])


def _grounded(case: Case) -> Model:
    """Know how far the cited rollouts support each candidate: rank by that, and propose what they speak for."""
    numbers = ground(case.edits, case.shown)
    ranked = sorted(case.edits, key=lambda edit: -numbers[edit.id])
    return _Told("grounding", _ids(ranked), [edit for edit in ranked if numbers[edit.id] > 0.5])  # noqa: PLR2004 - it says nothing


REFERENCES: Final[Mapping[str, Callable[[Case], Model]]] = MappingProxyType(
    {
        "oracle": _oracle,
        "grounding": _grounded,
        "random": _random,
        "simulated": lambda case: SimulatedModel(case.world, case.seed),
    }
)
"""Each by name; `simulated` is the proposer of the landscapes with the habits of its world."""


def _ids(edits: Sequence[Edit]) -> list[str]:
    return [edit.id for edit in edits]


def _shown(edit: Edit) -> dict[str, object]:
    parts = {"op": edit.op.value, "anchor": edit.anchor, "section": edit.section, "content": edit.content}
    kept = {name: part for name, part in parts.items() if part}
    return kept | {"rationale": edit.rationale, "tasks": list(edit.tasks)}
