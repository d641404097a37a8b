"""Reflection: from failing rollouts to the patch to try, with what was refused, left over, or rivals it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.errors import EditConflictError
from skillopt.loop.candidates import plan_readings, rotate
from skillopt.loop.citation_support import ground
from skillopt.loop.consultation import Stage, consult_in_halves
from skillopt.loop.course import Course
from skillopt.loop.edit_budget import clip
from skillopt.loop.edit_checks import Refusal, check_edits, join_edits
from skillopt.loop.events import Event
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.minibatches import MinibatchReflection
from skillopt.loop.reading_pool import ReadingPool
from skillopt.prompts.failure_groups import FailureGroup, group_failures, render_failures
from skillopt.prompts.failure_kinds import NamedFailure
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.prompts.stages import EDITS_SCHEMA, REFLECTION_SCHEMA, Aim, Told, ask_reflection
from skillopt.prompts.tried_edits import TriedEdit
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Change, Edit, Patch, apply_edits
from skillopt.tasks import Task

__all__ = ["Briefing", "Proposal", "Rival", "propose_edits"]

_OVER_BUDGET: Final = "over the edit budget of its step"
_Measured = tuple[Task, Rollout]


@dataclass(frozen=True, slots=True)
class Briefing:
    """What the optimizer model is told beside the evidence."""

    document: SkillDocument
    digest: str = ""
    tried: tuple[TriedEdit, ...] = ()
    memory: str = ""
    by_people: tuple[PeoplesRefusal, ...] = ()
    readings: int = 1

    @property
    def told(self) -> Told:
        """What a prompt says of earlier steps."""
        return Told(self.digest, self.tried, self.memory)


@dataclass(frozen=True, slots=True)
class Rival:
    """An alternative to edits of the patch: it changes the same text, so that only one of them can be taken."""

    change: Change
    instead_of: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a reflection came to."""

    patch: Patch
    refused: tuple[Refusal, ...] = ()
    untried: tuple[Refusal, ...] = ()
    rivals: tuple[Rival, ...] = ()
    findings: tuple[Event, ...] = ()
    failures: tuple[NamedFailure, ...] = ()
    shown: tuple[str, ...] = ()


def propose_edits(
    briefing: Briefing, measured: Sequence[_Measured], settings: Settings, step: int, budget: int
) -> Course[Proposal]:
    """Turn rollouts into the patch to try; where no prompt gets an answer the patch is empty and a finding says so."""
    published = MinibatchReflection(briefing.document, briefing.told, settings, step)
    failures = [pair for pair in measured if pair[1].score is not None and not pair[1].score.passed]
    if settings.minibatch_size:
        successes = [pair for pair in measured if pair[1].score is not None and pair[1].score.passed]
        pool = yield from published.reflect(failures, successes, budget)
    else:
        stage = Stage(REFLECTION_SCHEMA if settings.name_failures else EDITS_SCHEMA, f"step {step}")
        pool = yield from _reflect(stage, briefing, failures, settings, budget)
    edits = {key: edit.named(f"s{step}e{number}") for number, (key, edit) in enumerate(pool.edits.items(), 1)}
    numbers = ground(tuple(edits.values()), measured)
    gained = pool.gained(edits, numbers)
    sound, unsound = check_edits(briefing.document, tuple(edits.values()), settings.allow, briefing.by_people)
    alone = {change.edit: change for change in sound}
    if settings.minibatch_size:
        ranked = yield from published.rank(tuple(alone), budget)
    else:
        ranked = _most_cited_first(alone)
    changes = [alone[edit] for edit in sorted(ranked, key=lambda edit: -gained[edit.id])]
    kept = clip(changes, budget, settings.token_budget)
    patch, rivals, conflicts = _join(briefing.document, kept, settings)
    return Proposal(
        patch,
        (*unsound, *conflicts),
        tuple((change.edit, _OVER_BUDGET) for change in changes if change not in kept),
        rivals,
        tuple(pool.findings(step, edits, numbers)),
        tuple(pool.failures.values()),
        pool.shown,
    )


def _reflect(
    stage: Stage, briefing: Briefing, failures: Sequence[_Measured], settings: Settings, budget: int
) -> Course[ReadingPool]:
    """Reflect on all failures that fit one prompt, in each reading."""
    groups = group_failures(failures)
    if not groups:
        return ReadingPool()
    pool = ReadingPool(shown=render_failures(groups)[1])
    readings = plan_readings(max(settings.proposal_groups, briefing.readings))
    kinds, tokens = settings.name_failures, settings.token_budget
    asked = [
        [
            (Aim(failures=True, budget=budget, tokens=tokens, focus=reading.focus, kinds=kinds), group)
            for group in rotate(groups, reading.turn)
        ]
        for reading in readings
    ]

    def ask(part: Sequence[tuple[Aim, FailureGroup]]) -> str:
        evidence, _ = render_failures([group for _, group in part])
        return ask_reflection(briefing.document, evidence, part[0][0], briefing.told)

    answers = yield from consult_in_halves(stage, asked, ask, read_reflection)
    for reading, answer in zip(readings, answers, strict=True):
        pool.note(answer.replies, {task.id for task, _ in failures} if kinds else ())
        pool.skipped += [(tuple(task for _, group in part for task in group.ids), why) for part, why in answer.skipped]
        pool.take(reading.name, [edit for reply in answer.replies for edit in reply.edits])
    return pool


def _most_cited_first(edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """Put edits in order by how many tasks they are to mend; equals stay as the model gave them."""
    return tuple(sorted(edits, key=lambda edit: -len(edit.tasks)))


def _join(
    document: SkillDocument, ranked: Sequence[Change], settings: Settings
) -> tuple[Patch, tuple[Rival, ...], tuple[Refusal, ...]]:
    """Join edits to a patch; one that changes the same text as a better one is a rival, others are refused."""
    patch, conflicts = join_edits(document, ranked, settings.allow)
    alone = {change.edit: change for change in ranked}
    collides = {
        edit: tuple(kept.edit.id for kept in patch.changes if _collide(document, kept.edit, edit))
        for edit, _ in conflicts
    }
    rivals = tuple(Rival(alone[edit], names) for edit, names in collides.items() if names)
    return patch, rivals, tuple((edit, reason) for edit, reason in conflicts if not collides[edit])


def _collide(document: SkillDocument, first: Edit, second: Edit) -> bool:
    """Return whether two edits, each of them sound, change the same text."""
    try:
        apply_edits(document, [first, second])
    except EditConflictError:
        return True
    return False
