"""Optimizer models that let down: one that tires of its right lines, and one that fails at some prompts for good.

Owns counting what was offered, dropping what is no longer, and which prompts fail. Does not own what is proposed
(proposer).
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from benchmarks.landscapes.lines import read
from benchmarks.landscapes.proposer import seeded
from benchmarks.landscapes.worlds import World
from skillopt.errors import FailureKind, ProviderError
from skillopt.protocols import Model
from skillopt.rollouts import Reply, Usage

_T = TypeVar("_T")


@dataclass(slots=True)
class Offers:
    """Counts how often each right line was offered, and says what is offered still."""

    world: World
    seed: int
    _made: Counter[int] = field(default_factory=Counter)

    def left(self, edits: Sequence[_T], text_of: Callable[[_T], str]) -> list[_T]:
        """Return the edits that are offered still, and count them; one that says no rule always is."""
        return [edit for edit in edits if self._offers(read(text_of(edit)).rules)]

    def _offers(self, rules: Iterable[int]) -> bool:
        habits = self.world.habits
        tired = False
        for rule in rules:
            self._made[rule] += 1
            late = seeded(self.seed, "late", rule, self._made[rule]).random() < habits.late
            tired = tired or (0 < habits.offers < self._made[rule] and not late)
        return not tired


@dataclass(slots=True)
class _AroundModel:
    """What models have of the one that they are around."""

    model: Model

    @property
    def identity(self) -> str:
        """Name the model, which the world tells how it lets down."""
        return self.model.identity

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call."""
        return self.model.worst_case(prompt, system=system)


@dataclass(slots=True)
class FadingModel(_AroundModel):
    """A model whose replies lack what it no longer offers; a prompt asked again is answered as before."""

    offers: Offers
    _answered: dict[str, Reply] = field(default_factory=dict)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer a prompt; only reflections offer anything new."""
        if prompt not in self._answered:
            reply = self.model.reply(prompt, system=system, schema=schema)
            self._answered[prompt] = self._faded(reply) if prompt.lstrip().startswith("Task: reflect") else reply
        return self._answered[prompt]

    def _faded(self, reply: Reply) -> Reply:
        found = json.loads(reply.text)
        found["edits"] = self.offers.left(found["edits"], json.dumps)
        return Reply(json.dumps(found), reply.usage)


@dataclass(slots=True)
class FailingModel(_AroundModel):
    """A model that fails at some prompts whenever they are asked, as at one that a content filter refuses."""

    share: float
    seed: int

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer a prompt."""
        if seeded(self.seed, "fails", prompt).random() < self.share:
            raise ProviderError(FailureKind.BAD_REQUEST, "simulated content filter: this prompt is never answered")
        return self.model.reply(prompt, system=system, schema=schema)
