"""Reflection of the published loop: minibatches of failures and of successes, merged and ranked by the model."""

from collections.abc import Sequence
from typing import Final, TypeVar

from skillopt.errors import ReplyError
from skillopt.loop.consultation import Answered, Stage, consult, consult_in_halves
from skillopt.loop.course import Course
from skillopt.loop.readings import ReadingPool, plan_readings, rotate
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


class MinibatchReflection:
    """Asks about minibatches, then joins and orders what they propose."""

    def __init__(self, document: SkillDocument, told: Told, settings: Settings, step: int) -> None:
        self._document, self._told, self._settings = document, told, settings
        self._name = f"step {step}"

    def reflect(
        self, failures: Sequence[_Measured], successes: Sequence[_Measured], budget: int
    ) -> Course[ReadingPool]:
        """Reflect on failures, in each reading of the group, and on successes; merge each reading."""
        settings, pool = self._settings, ReadingPool(shown=tuple(task.id for task, _ in failures))
        readings = plan_readings(settings.proposal_groups)
        failed = []
        for reading in readings:
            tokens, kinds = settings.token_budget, settings.name_failures
            aim = Aim(failures=True, budget=budget, tokens=tokens, focus=reading.focus, kinds=kinds)
            failed.append((yield from self._ask(rotate(failures, reading.turn), aim)))
        aim = Aim(failures=False, budget=budget, tokens=settings.token_budget)
        passed = self._read((yield from self._ask(successes, aim)), pool, named=False)
        for number, (reading, answers) in enumerate(zip(readings, failed, strict=True)):
            mine = self._read(answers, pool, named=settings.name_failures)
            sides = [(yield from self._merge(mine)), (yield from self._merge(passed if not number else []))]
            pool.take(reading.name, (yield from self._merge(sides)))
        return pool

    def rank(self, edits: Sequence[Edit], budget: int) -> Course[tuple[Edit, ...]]:
        """Put edits in order, best first; as many as fit need none, and without an answer they stay as they stand."""
        if len(edits) <= budget:
            return tuple(edits)
        prompt = ask_ranking(self._document, edits, budget=budget, memory=self._told.memory)
        try:
            (ranked,) = yield from consult(
                self._stage(RANKING_SCHEMA), [prompt], lambda reply: read_ranking(reply, edits)
            )
        except ReplyError:
            return tuple(edits)
        return ranked

    def _ask(self, group: Sequence[_Measured], aim: Aim) -> Course[tuple[Answered[_Measured, Reflection], ...]]:
        """Ask about all minibatches of failures or of successes."""

        def ask(minibatch: Sequence[_Measured]) -> str:
            return ask_reflection(self._document, render_rollouts(minibatch, ROLLOUT_TOKENS), aim, self._told)

        stage = self._stage(REFLECTION_SCHEMA if aim.kinds else EDITS_SCHEMA)
        minibatches = _chunks(group, self._settings.minibatch_size)
        return (yield from consult_in_halves(stage, minibatches, ask, read_reflection))

    def _read(
        self, answers: Sequence[Answered[_Measured, Reflection]], pool: ReadingPool, *, named: bool
    ) -> list[tuple[ProposedEdit, ...]]:
        """Note what was said and skipped; give the proposals."""
        for answer in answers:
            pool.note(answer.replies, pool.shown if named else ())
            pool.skipped += [(tuple(task.id for task, _ in part), reason) for part, reason in answer.skipped]
        return [reply.edits for answer in answers for reply in answer.replies]

    def _merge(self, proposals: Sequence[tuple[ProposedEdit, ...]]) -> Course[tuple[ProposedEdit, ...]]:
        """Merge proposals in a tree to one; a lone proposal needs no merge, and an unanswered one joins by code."""
        level = [edits for edits in proposals if edits]
        while len(level) > 1:
            groups, level = _chunks(level, MERGE_SIZE), []
            for group in groups:
                level.append((yield from self._join(group)) if len(group) > 1 else group[0])
        return level[0] if level else ()

    def _join(self, group: Sequence[tuple[ProposedEdit, ...]]) -> Course[tuple[ProposedEdit, ...]]:
        prompt = ask_merge(self._document, group, memory=self._told.memory)
        try:
            (merged,) = yield from consult(self._stage(EDITS_SCHEMA), [prompt], read_reflection)
        except ReplyError:
            return tuple(edit for edits in group for edit in edits)
        return merged.edits

    def _stage(self, schema: str) -> Stage:
        return Stage(schema, self._name)


def _chunks(items: Sequence[C], size: int) -> list[tuple[C, ...]]:
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]
