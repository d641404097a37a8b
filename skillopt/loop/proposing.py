"""Reflection on failing rollouts: the patch to try, as lines with the symptoms that each is to mend."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Final, TypeVar

from skillopt.errors import ReplyError
from skillopt.loop.consultation import Answered, Optimizer, Stage
from skillopt.loop.draft import Line, clip
from skillopt.loop.edit_checks import Refusal, check_edits, join_edits
from skillopt.loop.events import EditRefused, EditUnreadable, Event, PromptSkipped, StepStarted
from skillopt.loop.evidence import Seen, TrainEvidence
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.training_run import TrainingRun
from skillopt.prompts import stages
from skillopt.prompts.evidence import ROLLOUT_TOKENS, render_rollouts
from skillopt.prompts.failure_groups import FailureGroup, group_failures
from skillopt.prompts.proposed_edits import ProposedEdit, Reflection
from skillopt.prompts.reflection_replies import ReflectionReader
from skillopt.rollouts import Rollout
from skillopt.safety.leaks import ProtectedText
from skillopt.settings import Settings, SkillMode
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Patch, split_lines
from skillopt.tasks import Task

MERGE_SIZE: Final = 8
"""Proposals joined by one merge, as in the published loop."""

C = TypeVar("C")
_Measured = tuple[Task, Rollout]
_Edits = tuple[ProposedEdit, ...]


@dataclass(frozen=True, slots=True)
class MinibatchReflection:
    """Asks about minibatches, then joins and orders what they propose."""

    optimizer: Optimizer
    document: SkillDocument
    told: stages.Told
    settings: Settings
    name: str

    def reflect(
        self, measured: Sequence[_Measured], budget: int, note: Callable[[Answered[_Measured, Reflection]], None]
    ) -> _Edits:
        """Reflect on failures and on successes, note what the replies say, and merge what they propose."""
        sides = []
        for failures in (True, False):
            group = [pair for pair in measured if pair[1].score and pair[1].score.passed is not failures]
            answer = self._ask(group, stages.Aim(failures, budget, self.settings.token_budget))
            sides.append([reply.edits for reply in answer.replies])
            note(answer)
        merged = [self._merge(sides[0]), self._merge(sides[1])]
        return self._merge(merged)

    def rank(self, edits: Sequence[Edit], budget: int) -> tuple[Edit, ...]:
        """Put edits in order, best first; as many as fit need none, and without an answer they stay as they stand."""
        if len(edits) <= budget:
            return tuple(edits)
        prompt = stages.ask_ranking(self.document, edits, budget=budget, memory=self.told.memory)
        try:
            read = partial(stages.read_ranking, edits=edits)
            return self.optimizer.consult(Stage(stages.RANKING_SCHEMA, self.name), prompt, read)
        except ReplyError:
            return tuple(edits)

    def _ask(self, group: Sequence[_Measured], aim: stages.Aim) -> Answered[_Measured, Reflection]:
        """Ask about all minibatches of failures or of successes."""

        def ask(minibatch: Sequence[_Measured]) -> str:
            return stages.ask_reflection(self.document, render_rollouts(minibatch, ROLLOUT_TOKENS), aim, self.told)

        schema = stages.REFLECTION_SCHEMA if aim.failures else stages.EDITS_SCHEMA
        stage = Stage(stages.edits_schema(self.document, schema), self.name)
        minibatches = _chunks(group, self.settings.minibatch_size)
        return self.optimizer.consult_in_halves(stage, minibatches, ask, ReflectionReader(self.document))

    def _merge(self, proposals: Sequence[_Edits]) -> _Edits:
        """Merge proposals in a tree to one; a lone proposal needs no merge, and an unanswered one joins by code."""
        level = [edits for edits in proposals if edits]
        while len(level) > 1:
            groups, level = _chunks(level, MERGE_SIZE), []
            for group in groups:
                level.append(self._join(group) if len(group) > 1 else group[0])
        return level[0] if level else ()

    def _join(self, group: Sequence[_Edits]) -> _Edits:
        prompt = stages.ask_merge(self.document, group, memory=self.told.memory)
        try:
            stage = Stage(stages.edits_schema(self.document, stages.EDITS_SCHEMA), self.name)
            merged = self.optimizer.consult(stage, prompt, ReflectionReader(self.document))
        except ReplyError:
            return tuple(edit for edits in group for edit in edits)
        return merged.edits


def _chunks(items: Sequence[C], size: int) -> list[tuple[C, ...]]:
    return [tuple(items[start : start + size]) for start in range(0, len(items), size)]


_OVER_BUDGET: Final = "over the edit budget of its step"


@dataclass(frozen=True, slots=True)
class Briefing:
    """What the optimizer model is told beside the evidence, and what people refused."""

    optimizer: Optimizer
    document: SkillDocument
    told: stages.Told
    by_people: tuple[PeoplesRefusal, ...] = ()
    protected: ProtectedText | None = None
    shell_problem: Callable[[str, str], str] | None = None


@dataclass(slots=True)
class Proposal:
    """What a reflection came to: its edits, what could not be read or got no answer, verifiers that look wrong."""

    patch: Patch
    refused: tuple[Refusal, ...] = ()
    untried: tuple[Refusal, ...] = ()
    findings: list[Event] = field(default_factory=list)
    suspects: dict[str, str] = field(default_factory=dict)

    def note(self, step: int, answer: Answered[FailureGroup, Reflection] | Answered[_Measured, Reflection]) -> None:
        """Note what replies say beside their edits."""
        for reply in answer.replies:
            self.suspects |= dict(reply.suspects)
            self.findings += [EditUnreadable(step, text, reason) for text, reason in reply.unread]
        for part, reason in answer.skipped:
            ids = [name for one in part for name in (one.ids if isinstance(one, FailureGroup) else (one[0].id,))]
            self.findings.append(PromptSkipped(step, reason, tuple(ids)))


def propose_edits(
    briefing: Briefing, measured: Sequence[_Measured], settings: Settings, step: int, budget: int
) -> Proposal:
    """Turn rollouts into the patch to try; where no prompt gets an answer the patch is empty and a finding says so."""
    document = briefing.document
    schema = stages.edits_schema(document, stages.REFLECTION_SCHEMA)
    found, stage = Proposal(Patch(document, ())), Stage(schema, f"step {step}")
    published = MinibatchReflection(briefing.optimizer, document, briefing.told, settings, stage.name)
    proposed: tuple[ProposedEdit, ...] = ()
    if settings.minibatch_size:
        proposed = published.reflect(measured, budget, partial(found.note, step))
    elif groups := group_failures([pair for pair in measured if pair[1].score and not pair[1].score.passed]):
        aim = stages.Aim(failures=True, budget=budget, tokens=settings.token_budget)
        read = ReflectionReader(document, [task.id for task, _ in measured], briefing.protected)
        ask = partial(stages.ask_about_failures, document, aim, briefing.told)
        answer = briefing.optimizer.consult_in_halves(stage, [groups], ask, read)
        found.note(step, answer)
        proposed = tuple(edit for reply in answer.replies for edit in reply.edits)
    edits = [edit.named(f"s{step}e{number}") for number, edit in enumerate(_joined(proposed), 1)]
    sound, unsound = check_edits(document, edits, settings.allow, briefing.by_people, briefing.shell_problem)
    changes = sorted(sound, key=lambda change: -len(change.edit.tasks))
    if settings.minibatch_size:
        ranked = published.rank([change.edit for change in sound], budget)
        changes.sort(key=lambda change: ranked.index(change.edit))
    kept = clip(changes, budget, settings.token_budget)
    found.patch, refused, rivals = join_edits(document, kept, settings.allow)
    found.refused = (*unsound, *refused)
    found.untried = (*((change.edit, _OVER_BUDGET) for change in changes if change not in kept), *rivals)
    return found


def _joined(edits: Iterable[ProposedEdit]) -> Iterable[ProposedEdit]:
    """Return each edit once; equal ones become one that cites the tasks of all."""
    found: dict[tuple[str, ...], ProposedEdit] = {}
    for edit in edits:
        known = found.get(edit.key, edit)
        tasks = tuple(dict.fromkeys((*known.cited, *edit.cited)))
        found[edit.key] = known if tasks == known.cited else known.model_copy(update={"tasks": tasks})
    return found.values()


def propose_lines(
    run: TrainingRun,
    evidence: TrainEvidence,
    step: int,
    carried: Sequence[Line],
    shown: Mapping[str, Seen],
    digest: str = "",
) -> Generator[Event, None, list[Line]]:
    """Ask for a patch, and return its sound edits as lines, each with the symptoms that it is to mend."""
    settings, memory = run.settings, evidence.memory
    skill = evidence.draft.build(carried)
    yield StepStarted(1, step, settings.edit_budget)
    pairs = [(evidence.tasks[name], seen.rollout) for name, seen in shown.items()]
    failing = frozenset[str]().union(*(seen.symptoms for seen in shown.values()))
    told = stages.Told(digest, memory.listing(skill.document, failing), memory.notes, _how_asked(settings))
    briefing = Briefing(
        run.optimizer, skill.document, told, memory.by_people, run.protected, shell_problem=run.shell_problem
    )
    run.reflections += 1
    proposal = propose_edits(briefing, pairs, settings, run.reflections, settings.edit_budget)
    yield from proposal.findings
    yield from run.suspects.add_claims(step, proposal.suspects)
    edits = [change.edit for change in proposal.patch.changes]
    leaking = dict(run.leaking_edits(skill, edits))
    for edit, reason in (*proposal.refused, *leaking.items()):
        memory.refused(edit, reason)
        yield EditRefused(step, edit, reason)
    for edit, reason in proposal.untried:
        memory.untried(edit, reason)
        yield EditRefused(step, edit, reason)
    clean = [edit for edit in edits if edit not in leaking]
    symptoms = {name: seen.symptoms for name, seen in shown.items()}
    lines = make_lines(clean, symptoms, {name: found for name, found in evidence.start.items() if found})
    evidence.cite(symptom for line in lines for targets in line.targets.values() for symptom in targets)
    return lines


def _how_asked(settings: Settings) -> str:
    """Say how the target is asked, so that a proposer can judge what wording it can follow."""
    name = next(iter(settings.targets), "")  # of several, the one that is trained on
    if name.startswith("chat/"):
        return f"{name}: one call of a model without tools; the skill stands in its system prompt"
    way = "stands in its first request" if settings.skill_mode is SkillMode.FORCED else "is loaded when it chooses to"
    return f"{name}: an agent with tools in a workspace; the skill {way}" if name else ""


def make_lines(
    edits: Sequence[Edit],
    shown: Mapping[str, frozenset[str]],
    others: Mapping[str, frozenset[str]] = MappingProxyType({}),
) -> list[Line]:
    """Split edits into their lines, and decide what symptoms each is to mend.

    That is what all tasks share which it cites. Where they share nothing, or one task shows several things, it is what
    no other edit is for. One that cites only other failing tasks is about these, and one that cites none about all.
    """
    split = [(part, edit) for edit in edits for part in split_lines(edit)]
    parts = [part for part, _ in split]
    known = {**others, **shown}
    cited = [
        [name for name in dict.fromkeys(part.tasks) if name in shown]
        or [name for name in dict.fromkeys(part.tasks) if name in others]
        or list(shown)
        for part in parts
    ]
    shared = [frozenset.intersection(*(known[name] for name in names)) for names in cited]
    claimed: dict[str, set[str]] = defaultdict(set)
    for names, symptoms in zip(cited, shared, strict=True):
        if len(symptoms) == 1 and len(names) > 1:
            for name in names:
                claimed[name] |= symptoms
    lines = []
    for (part, whole), names, symptoms in zip(split, cited, shared, strict=True):
        targets = {name: symptoms or known[name] for name in names}
        targets = {one: (seen if len(seen) == 1 else seen - claimed[one]) or seen for one, seen in targets.items()}
        several = len(part.content.strip().splitlines()) > 1
        lines.append(Line(part, targets, packed=several or (part is not whole and not whole.line_tasks)))
    return lines
