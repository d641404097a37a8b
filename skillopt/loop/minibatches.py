"""Reflection of the published loop: minibatches of failures and of successes, merged and ranked by the model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from skillopt.errors import ReplyError
from skillopt.loop.consultation import Answered, Stage, consult, consult_in_halves
from skillopt.loop.course import Course
from skillopt.prompts.evidence import ROLLOUT_TOKENS, render_rollouts
from skillopt.prompts.proposed_edits import ProposedEdit, Reflection, read_reflection
from skillopt.prompts.stages import (
    EDITS_SCHEMA,
    RANKING_SCHEMA,
    REFLECTION_SCHEMA,
    Aim,
    Told,
    ask_merge,
    ask_ranking,
    ask_reflection,
    read_ranking,
)
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit
from skillopt.tasks import Task

__all__ = ["MERGE_SIZE", "MinibatchReflection"]

MERGE_SIZE: Final = 8
"""Proposals joined by one merge, as in the published loop."""

C = TypeVar("C")
_Measured = tuple[Task, Rollout]
_Edits = tuple[ProposedEdit, ...]


@dataclass(frozen=True, slots=True)
class MinibatchReflection:
    """Asks about minibatches, then joins and orders what they propose."""

    document: SkillDocument
    told: Told
    settings: Settings
    name: str

    def reflect(
        self,
        measured: Sequence[_Measured],
        budget: int,
        note: Callable[[Answered[_Measured, Reflection]], None],
    ) -> Course[_Edits]:
        """Reflect on failures and on successes, note what the replies say, and merge what they propose."""
        sides = []
        for failures in (True, False):
            group = [pair for pair in measured if pair[1].score and pair[1].score.passed is not failures]
            answer = yield from self._ask(group, Aim(failures, budget, self.settings.token_budget))
            sides.append([reply.edits for reply in answer.replies])
            note(answer)
        merged = [(yield from self._merge(sides[0])), (yield from self._merge(sides[1]))]
        return (yield from self._merge(merged))

    def rank(self, edits: Sequence[Edit], budget: int) -> Course[tuple[Edit, ...]]:
        """Put edits in order, best first; as many as fit need none, and without an answer they stay as they stand."""
        if len(edits) <= budget:
            return tuple(edits)
        prompt = ask_ranking(self.document, edits, budget=budget, memory=self.told.memory)
        try:
            return (
                yield from consult(Stage(RANKING_SCHEMA, self.name), prompt, lambda reply: read_ranking(reply, edits))
            )
        except ReplyError:
            return tuple(edits)

    def _ask(self, group: Sequence[_Measured], aim: Aim) -> Course[Answered[_Measured, Reflection]]:
        """Ask about all minibatches of failures or of successes."""

        def ask(minibatch: Sequence[_Measured]) -> str:
            return ask_reflection(self.document, render_rollouts(minibatch, ROLLOUT_TOKENS), aim, self.told)

        stage = Stage(REFLECTION_SCHEMA if aim.failures else EDITS_SCHEMA, self.name)
        minibatches = _chunks(group, self.settings.minibatch_size)
        return (yield from consult_in_halves(stage, minibatches, ask, read_reflection))

    def _merge(self, proposals: Sequence[_Edits]) -> Course[_Edits]:
        """Merge proposals in a tree to one; a lone proposal needs no merge, and an unanswered one joins by code."""
        level = [edits for edits in proposals if edits]
        while len(level) > 1:
            groups, level = _chunks(level, MERGE_SIZE), []
            for group in groups:
                level.append((yield from self._join(group)) if len(group) > 1 else group[0])
        return level[0] if level else ()

    def _join(self, group: Sequence[_Edits]) -> Course[_Edits]:
        prompt = ask_merge(self.document, group, memory=self.told.memory)
        try:
            merged = yield from consult(Stage(EDITS_SCHEMA, self.name), prompt, read_reflection)
        except ReplyError:
            return tuple(edit for edits in group for edit in edits)
        return merged.edits


def _chunks(items: Sequence[C], size: int) -> list[tuple[C, ...]]:
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]
