"""From rollouts to ranked edits: minibatches, hierarchical merge, checks, ranking, the edit budget.

Owns the order of these stages and the one attempt to repair an unreadable reply. Does not own the
prompts (stages), which edits may be tried (edit_checks) or what becomes of them (optimizer).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from skillopt.budget import Schedule, clip
from skillopt.documents import SkillDocument
from skillopt.edit_checks import Refusal, check_edits, join_edits
from skillopt.edits import Edit, Patch
from skillopt.errors import ReplyError
from skillopt.evidence import render_rollouts
from skillopt.ports import Runner
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.stages import (
    EDIT_COUNT_SCHEMA,
    EDITS_SCHEMA,
    RANKING_SCHEMA,
    ProposedEdit,
    ask_edit_count,
    ask_merge,
    ask_ranking,
    ask_reflection,
    ask_repair,
    read_edit_count,
    read_edits,
    read_ranking,
)
from skillopt.tasks import Task

__all__ = ["Briefing", "Proposal", "consult", "propose"]

R = TypeVar("R")
C = TypeVar("C")
_Measured = tuple[Task, Rollout]


@dataclass(frozen=True, slots=True)
class Briefing:
    """What the optimizer model is told beside the evidence."""

    document: SkillDocument
    rejected: tuple[str, ...]
    memory: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a reflection came to: the patch to try, and the edits that were refused with the reason."""

    patch: Patch
    refused: tuple[Refusal, ...]


def consult(runner: Runner, prompts: Sequence[str], read: Callable[[str], R], schema: str) -> tuple[R, ...]:
    """Ask prompts and read the replies; a reply that cannot be read is asked for once more.

    Args:
        runner: Asks the optimizer model.
        prompts: What to ask.
        read: Reads a reply.
        schema: JSON schema of the replies.

    Raises:
        ReplyError: A repaired reply cannot be read either.
    """
    read_back: list[R] = []
    for prompt, reply in zip(prompts, runner.replies(prompts, schema), strict=True):
        try:
            read_back.append(read(reply.text))
        except ReplyError as error:
            (again,) = runner.replies([ask_repair(prompt, reply.text, str(error))], schema)
            read_back.append(read(again.text))
    return tuple(read_back)


def propose(
    runner: Runner, briefing: Briefing, measured: Sequence[_Measured], settings: Settings, step: int, budget: int
) -> Proposal:
    """Turn a step's rollouts into the patch to try.

    Args:
        runner: Asks the optimizer model.
        briefing: The incumbent and what is known so far.
        measured: Tasks with rollouts that have a score.
        settings: Sizes and limits.
        step: Number of the step; it prefixes the ids of edits.
        budget: Most edits to try.

    Raises:
        ReplyError: A reply could not be read, not even after one repair.
    """
    proposed = _reflect(runner, briefing, measured, settings, budget)
    edits = [edit.named(f"s{step}e{number}") for number, edit in enumerate(proposed, 1)]
    sound, refused = check_edits(briefing.document, edits, settings.allow)
    alone = {change.edit: change for change in sound}
    ranked = _rank(runner, briefing, tuple(alone), settings, budget)
    changes = [alone[edit] for edit in ranked]
    kept = clip(changes, _allowed(runner, briefing, ranked, settings, budget), settings.token_budget)
    patch, conflicts = join_edits(briefing.document, kept, settings.allow)
    dropped = [
        (edit, "over the edit budget of this step") for edit in ranked if edit not in {change.edit for change in kept}
    ]
    return Proposal(patch, (*refused, *conflicts, *dropped))


def _reflect(
    runner: Runner, briefing: Briefing, measured: Sequence[_Measured], settings: Settings, budget: int
) -> tuple[ProposedEdit, ...]:
    """Reflect on minibatches of failures and of successes, and merge what comes of it."""
    failures = [pair for pair in measured if pair[1].score is not None and not pair[1].score.passed]
    successes = [pair for pair in measured if pair[1].score is not None and pair[1].score.passed]
    prompts, failing = [], 0
    for group, is_failure in ((failures, True), (successes, False)):
        for minibatch in _chunks(group, settings.minibatch_size):
            evidence = render_rollouts(minibatch, settings.evidence_tokens)
            prompts.append(
                ask_reflection(
                    briefing.document,
                    evidence,
                    failures=is_failure,
                    budget=budget,
                    rejected=briefing.rejected,
                    memory=briefing.memory,
                )
            )
            failing += is_failure
    replies = consult(runner, prompts, read_edits, EDITS_SCHEMA)
    sides = [_merge(runner, briefing, side, settings.merge_size) for side in (replies[:failing], replies[failing:])]
    return _merge(runner, briefing, sides, settings.merge_size)


def _merge(
    runner: Runner, briefing: Briefing, proposals: Sequence[tuple[ProposedEdit, ...]], size: int
) -> tuple[ProposedEdit, ...]:
    """Merge proposals in a tree of `size` to one; a lone proposal needs no merge."""
    level = [edits for edits in proposals if edits]
    while len(level) > 1:
        groups = _chunks(level, size)
        prompts = [ask_merge(briefing.document, group, memory=briefing.memory) for group in groups if len(group) > 1]
        merged = iter(consult(runner, prompts, read_edits, EDITS_SCHEMA))
        level = [next(merged) if len(group) > 1 else group[0] for group in groups]
    return level[0] if level else ()


def _rank(
    runner: Runner, briefing: Briefing, edits: Sequence[Edit], settings: Settings, budget: int
) -> tuple[Edit, ...]:
    """Put edits in order, best first; fewer than fit need no order unless their number is chosen."""
    if len(edits) <= budget and settings.schedule is not Schedule.AUTONOMOUS:
        return tuple(edits)
    prompt = ask_ranking(briefing.document, edits, budget=budget, memory=briefing.memory)
    return consult(runner, [prompt], lambda reply: read_ranking(reply, edits), RANKING_SCHEMA)[0] if edits else ()


def _allowed(runner: Runner, briefing: Briefing, edits: Sequence[Edit], settings: Settings, budget: int) -> int:
    """Give the number of edits to try; under the autonomous schedule the model chooses it."""
    if settings.schedule is not Schedule.AUTONOMOUS or not edits:
        return budget
    prompt = ask_edit_count(edits, budget=budget, rejected=briefing.rejected)
    return consult(runner, [prompt], lambda reply: read_edit_count(reply, budget), EDIT_COUNT_SCHEMA)[0]


def _chunks(items: Sequence[C], size: int) -> list[tuple[C, ...]]:
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]
