"""Reflection on failing rollouts: the patch to try, as lines with the symptoms that each is to mend."""

from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from skillopt.errors import EditConflictError
from skillopt.loop.consultation import Stage, consult_in_halves
from skillopt.loop.course import Course
from skillopt.loop.draft import Line, clip
from skillopt.loop.edit_checks import Refusal, check_edits, join_edits
from skillopt.loop.events import EditRefused, Event, StepStarted
from skillopt.loop.learner import Learner, Seen
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.minibatches import MinibatchReflection
from skillopt.loop.readings import ReadingPool, ground, plan_readings, rotate
from skillopt.loop.training_run import TrainingRun
from skillopt.prompts.failure_groups import FailureGroup, group_failures, render_failures
from skillopt.prompts.failure_kinds import NamedFailure
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.prompts.stages import EDITS_SCHEMA, REFLECTION_SCHEMA, Aim, Told, ask_reflection
from skillopt.prompts.tried_edits import TriedEdit
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, Edit, Patch, apply_edits, split_lines
from skillopt.tasks import Task

__all__ = ["Briefing", "Proposal", "Rival", "make_lines", "propose_edits", "propose_lines"]

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


def propose_lines(
    run: TrainingRun,
    learner: Learner,
    step: int,
    carried: Sequence[Line],
    shown: Mapping[str, Seen],
    digest: str = "",
) -> Course[list[Line]]:
    """Ask for a patch; give its sound edits as lines, each with the symptoms that it is to mend."""
    settings, memory = run.settings, learner.memory
    skill = learner.draft.build(carried)
    yield StepStarted(1, step, settings.edit_budget)
    pairs = [(learner.tasks[name], seen.rollout) for name, seen in shown.items()]
    briefing = Briefing(skill.document, digest, memory.listing(), memory.notes, memory.by_people, learner.readings)
    proposal = yield from propose_edits(briefing, pairs, settings, run.next_proposal(), settings.edit_budget)
    yield from proposal.findings
    yield from run.suspects.add_claims(step, proposal.failures)
    learner.aside = run.suspects.set_aside
    for edit, reason in proposal.refused:
        memory.refused(edit, reason)
        yield EditRefused(step, edit, reason)
    rivals = ((rival.change.edit, f"it rivals {', '.join(rival.instead_of)}") for rival in proposal.rivals)
    for edit, reason in (*proposal.untried, *rivals):
        memory.untried(edit, reason)
        yield EditRefused(step, edit, reason)
    clean = yield from _refuse_leaks(run, learner, step, proposal.patch.changes, skill)
    lines = make_lines(
        [part for edit in clean for part in (split_lines(edit) if edit.line_tasks else (edit,))],
        {name: seen.symptoms for name, seen in shown.items()},
    )
    learner.cite(symptom for line in lines for targets in line.targets.values() for symptom in targets)
    return lines


def make_lines(edits: Sequence[Edit], shown: Mapping[str, frozenset[str]]) -> list[Line]:
    """Say of each edit what it is to mend.

    That is what all tasks share which it cites. Where they share nothing, or one task shows several things, it is what
    no other edit is for.
    """
    cited = [[name for name in dict.fromkeys(edit.tasks) if name in shown] or list(shown) for edit in edits]
    shared = [frozenset.intersection(*(shown[name] for name in names)) for names in cited]
    claimed: dict[str, set[str]] = defaultdict(set)
    for names, symptoms in zip(cited, shared, strict=True):
        if len(symptoms) == 1 and len(names) > 1:
            for name in names:
                claimed[name] |= symptoms
    lines = []
    for edit, names, symptoms in zip(edits, cited, shared, strict=True):
        targets = {name: symptoms or shown[name] for name in names}
        targets = {
            name: (found if len(found) == 1 else found - claimed[name]) or found for name, found in targets.items()
        }
        lines.append(Line(edit, targets, packed=len(edit.content.strip().splitlines()) > 1))
    return lines


def _refuse_leaks(
    run: TrainingRun, learner: Learner, step: int, changes: Sequence[Change], skill: Skill
) -> Generator[Event, None, list[Edit]]:
    """Return the edits that carry no protected text into the draft."""
    edits = [change.edit for change in changes]
    leaking = dict(run.leaking_edits(skill, edits))
    for edit in edits:
        if edit in leaking:
            learner.memory.refused(edit, leaking[edit])
            yield EditRefused(step, edit, leaking[edit])
    return [edit for edit in edits if edit not in leaking]
