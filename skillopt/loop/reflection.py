"""Reflection: minibatches, hierarchical merge, checks, ranking, edit budget; one repair of an unreadable reply."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from skillopt.errors import ReplyError
from skillopt.loop.candidates import Reading, advantages, plan_readings, rotate, value_of
from skillopt.loop.citation_support import ground
from skillopt.loop.edit_budget import clip
from skillopt.loop.edit_checks import Refusal, check_edits, join_edits
from skillopt.loop.events import EditsGrounded, Event, FailuresNamed, PatchesCompared
from skillopt.prompts.evidence import ROLLOUT_TOKENS, render_rollouts
from skillopt.prompts.failure_kinds import NamedFailure, TaskFailureKind, kind_of
from skillopt.prompts.stages import (
    EDITS_SCHEMA,
    RANKING_SCHEMA,
    REFLECTION_SCHEMA,
    Aim,
    ProposedEdit,
    Reflection,
    ask_merge,
    ask_ranking,
    ask_reflection,
    ask_repair,
    read_edits,
    read_ranking,
    read_reflection,
)
from skillopt.protocols import Runner
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Patch
from skillopt.tasks import Task

__all__ = ["MERGE_SIZE", "Briefing", "Proposal", "consult", "propose_edits"]

MERGE_SIZE: Final = 8
"""Proposals joined by one merge, as in the published loop."""

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
    """What a reflection came to.

    Args:
        patch: The patch to try.
        refused: Edits that were refused, with the reason.
        findings: What there is to report of failures, support and candidate patches.
        failures: What the optimizer model calls the failures of tasks.
    """

    patch: Patch
    refused: tuple[Refusal, ...]
    findings: tuple[Event, ...] = ()
    failures: tuple[NamedFailure, ...] = ()


@dataclass(slots=True)
class _Pool:
    """The edits of all readings, each once, and what the readings said of kinds."""

    edits: dict[tuple[str, ...], ProposedEdit] = field(default_factory=dict)
    patches: list[tuple[str, tuple[tuple[str, ...], ...]]] = field(default_factory=list)
    kinds: dict[tuple[str, ...], TaskFailureKind] = field(default_factory=dict)
    failures: dict[str, NamedFailure] = field(default_factory=dict)

    def name(self, replies: Sequence[Reflection], shown: Collection[str]) -> None:
        """Note what replies say of kinds; a task that was not shown has none."""
        for reply in replies:
            stated = zip(reply.edits, reply.kinds, strict=True)
            self.kinds |= {_key(edit): kind for edit, kind in stated if kind is not None}
            self.failures |= {failure.task: failure for failure in reply.failures if failure.task in shown}

    def take(self, reading: Reading, edits: Sequence[ProposedEdit]) -> None:
        """Take up a candidate patch; an edit that is there already cites the tasks of both."""
        for edit in edits:
            known = self.edits.get(_key(edit), edit)
            tasks = tuple(dict.fromkeys((*known.tasks, *edit.tasks)))
            self.edits[_key(edit)] = known if tasks == known.tasks else known.model_copy(update={"tasks": tasks})
        self.patches.append((reading.name, tuple(dict.fromkeys(map(_key, edits)))))


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


def propose_edits(
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
    pool = _reflect(runner, briefing, measured, settings, budget)
    edits = {key: edit.named(f"s{step}e{number}") for number, (key, edit) in enumerate(pool.edits.items(), 1)}
    sound, refused = check_edits(briefing.document, tuple(edits.values()), settings.allow)
    alone = {change.edit: change for change in sound}
    numbers = ground(tuple(edits.values()), measured)
    gained = _compare(pool, edits, numbers)
    ranked: Sequence[Edit] = _rank(runner, briefing, tuple(alone), budget)
    ranked = sorted(ranked, key=lambda edit: -gained[edit.id])
    changes = [alone[edit] for edit in ranked]
    kept = clip(changes, budget, settings.token_budget)
    patch, conflicts = join_edits(briefing.document, kept, settings.allow)
    dropped = [
        (edit, "over the edit budget of this step") for edit in ranked if edit not in {change.edit for change in kept}
    ]
    findings = tuple(_findings(pool, edits, numbers, step))
    return Proposal(patch, (*refused, *conflicts, *dropped), findings, tuple(pool.failures.values()))


def _reflect(
    runner: Runner, briefing: Briefing, measured: Sequence[_Measured], settings: Settings, budget: int
) -> _Pool:
    """Reflect on minibatches of failures, in each reading of the group, and of successes; merge each reading."""
    failures = [pair for pair in measured if pair[1].score is not None and not pair[1].score.passed]
    successes = [pair for pair in measured if pair[1].score is not None and pair[1].score.passed]
    readings = plan_readings(settings.proposal_groups)
    prompts: list[str] = []
    for reading in readings:
        aim = Aim(failures=True, budget=budget, focus=reading.focus, kinds=settings.name_failures)
        prompts += _ask(briefing, rotate(failures, reading.turn), settings, aim)
    schema = REFLECTION_SCHEMA if settings.name_failures else EDITS_SCHEMA
    replies = consult(runner, prompts, read_reflection, schema)
    plain = _ask(briefing, successes, settings, Aim(failures=False, budget=budget))
    passed = [reply.edits for reply in consult(runner, plain, read_reflection, EDITS_SCHEMA)]
    pool = _Pool()
    if settings.name_failures:
        pool.name(replies, {task.id for task, _ in failures})
    share = len(prompts) // len(readings)
    for number, reading in enumerate(readings):
        failed = [reply.edits for reply in replies[number * share : (number + 1) * share]]
        sides = [_merge(runner, briefing, side, MERGE_SIZE) for side in (failed, passed if not number else ())]
        pool.take(reading, _merge(runner, briefing, sides, MERGE_SIZE))
    return pool


def _ask(briefing: Briefing, group: Sequence[_Measured], settings: Settings, aim: Aim) -> list[str]:
    """Write the prompts about minibatches of failures or of successes."""
    return [
        ask_reflection(
            briefing.document,
            render_rollouts(minibatch, ROLLOUT_TOKENS),
            aim,
            rejected=briefing.rejected,
            memory=briefing.memory,
        )
        for minibatch in _chunks(group, settings.minibatch_size)
    ]


def _key(edit: ProposedEdit) -> tuple[str, ...]:
    """Give what makes an edit the same edit."""
    return (edit.op.value, edit.anchor, edit.section, edit.content)


def _compare(pool: _Pool, edits: Mapping[tuple[str, ...], Edit], numbers: Mapping[str, float]) -> dict[str, float]:
    """Give by edit id the advantage of the best candidate patch that has the edit."""
    found = _advantages(pool, edits, numbers)
    return {
        edit.id: max(gain for gain, (_, keys) in zip(found, pool.patches, strict=True) if key in keys)
        for key, edit in edits.items()
    }


def _advantages(pool: _Pool, edits: Mapping[tuple[str, ...], Edit], numbers: Mapping[str, float]) -> tuple[float, ...]:
    return advantages([value_of([edits[key].id for key in keys], numbers) for _, keys in pool.patches])


def _findings(
    pool: _Pool,
    edits: Mapping[tuple[str, ...], Edit],
    numbers: Mapping[str, float],
    step: int,
) -> Iterator[Event]:
    """Yield what there is to report."""
    named = {failure.task: failure.kind for failure in pool.failures.values()}
    kinds = {edit.id: kind_of(pool.kinds.get(key), edit.tasks, named) for key, edit in edits.items()}
    if named or any(kinds.values()):
        told = tuple((name, kind.value) for name, kind in kinds.items() if kind is not None)
        yield FailuresNamed(step, tuple((task, kind.value) for task, kind in named.items()), told)
    if edits:
        yield EditsGrounded(step, tuple(numbers.items()))
    if len(pool.patches) > 1:
        names = (name for name, _ in pool.patches)
        yield PatchesCompared(step, tuple(zip(names, _advantages(pool, edits, numbers), strict=True)))


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


def _rank(runner: Runner, briefing: Briefing, edits: Sequence[Edit], budget: int) -> tuple[Edit, ...]:
    """Put edits in order, best first; as many as fit need none."""
    if len(edits) <= budget:
        return tuple(edits)
    prompt = ask_ranking(briefing.document, edits, budget=budget, memory=briefing.memory)
    return consult(runner, [prompt], lambda reply: read_ranking(reply, edits), RANKING_SCHEMA)[0]


def _chunks(items: Sequence[C], size: int) -> list[tuple[C, ...]]:
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]
