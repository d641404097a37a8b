"""Edits proposed from outside, by an agent in the place of the optimizer model or by a person: check, test, gate."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from skillopt.gate.comparison import Outcome, Verdict
from skillopt.gate.gate import GATE_ROUNDS, Gate
from skillopt.gate.grades import Grade
from skillopt.gate.here import HERE_ROUNDS, here_error
from skillopt.loop.ablation import ablate
from skillopt.loop.caps import BudgetReached, CappedRunner, TrainRollouts
from skillopt.loop.course import Answerer, Course, go
from skillopt.loop.edit_checks import Refusal, check_edits, find_leaking_edits, join_edits
from skillopt.loop.events import (
    DraftChanged,
    DraftGraded,
    EditRefused,
    EditScreened,
    Event,
    GateDecided,
    PatchTested,
    RunEnded,
    RunStarted,
    StepFailed,
    VersionAccepted,
)
from skillopt.loop.evidence import TrainEvidence
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.patch_test import run_patch_test
from skillopt.loop.proposing import make_lines
from skillopt.loop.siblings import Sibling, SiblingGuard
from skillopt.protocols import Runner
from skillopt.rollouts import Stream
from skillopt.safety.leaks import index_protected_text
from skillopt.safety.lint import find_marks
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, Edit
from skillopt.tasks import Split, Suite, Task

__all__ = ["ProposalTerms", "ToldBefore", "check_proposal", "try_proposal"]

_MOST_REPEATS: Final = 100
"""Repeats of a task that the test of one proposal may take, so that no two proposals share any."""

_MOST_ROUNDS: Final = GATE_ROUNDS + HERE_ROUNDS
"""Repeats of a task that the verdict on one proposal may take."""

_SEEN: Final = "proven here at most, because evidence of tasks that decide was shown before"

_MOST_CITED: Final = 4
"""Tasks that an edit is tried on; the others it cites fail for the same reason."""


@dataclass(frozen=True, slots=True)
class ProposalTerms:
    """What came before a proposal, and what its verdict can claim."""

    earlier: Sequence[float] = ()
    few: bool = False
    shown: bool = False
    tested_here: int = 0
    siblings: Sequence[Sibling] = ()


@dataclass(frozen=True, slots=True)
class ToldBefore:
    """What a proposal is checked against beside the incumbent."""

    first: SkillDocument | None = None
    by_people: Sequence[PeoplesRefusal] = ()


_NOTHING_BEFORE: Final = ToldBefore()


def check_proposal(
    document: SkillDocument,
    edits: Sequence[Edit],
    suite: Suite,
    settings: Settings,
    before: ToldBefore = _NOTHING_BEFORE,
) -> tuple[tuple[Change, ...], tuple[Refusal, ...]]:
    """Apply edits, or say of each one that cannot be tried why."""
    train = {task.id for task in suite.tasks(Split.TRAIN)}
    refused = {edit.id: (edit, reason) for edit in edits if (reason := _ungrounded(edit, train))}
    for edit in edits[settings.edit_budget :]:
        refused.setdefault(
            edit.id, (edit, f"over the edit budget of {settings.edit_budget} a proposal; keep it for the next one")
        )
    grounded = [edit for edit in edits if edit.id not in refused]
    sound, unsound = check_edits(document, grounded, settings.allow, before.by_people)
    refused |= {edit.id: (edit, reason) for edit, reason in unsound}
    protecting = suite if settings.scan_leaks else None
    sound, leaking = _without_leaks(document, before.first or document, sound, protecting)
    refused |= {edit.id: (edit, reason) for edit, reason in leaking}
    fitting: list[Change] = []
    for change in sound:
        used = sum(kept.tokens for kept in fitting) + change.tokens
        if 0 < settings.token_budget < used:
            over = (
                f"with it the proposal changes about {used} tokens; the budget is {settings.token_budget}; shorten it"
            )
            refused[change.edit.id] = (change.edit, over)
        else:
            fitting.append(change)
    patch, conflicts, rivals = join_edits(document, fitting, settings.allow)
    refused |= {edit.id: (edit, reason) for edit, reason in (*conflicts, *rivals)}
    ids = {change.edit.id for change in patch.changes}
    order = [edit.id for edit in edits]
    kept = tuple(change for change in fitting if change.edit.id in ids)
    return kept, tuple(refused[name] for name in sorted(refused, key=order.index))


def try_proposal(
    proposal: Sequence[Change], skill: Skill, suite: Suite, settings: Settings, runner: Runner, terms: ProposalTerms
) -> Iterator[Event]:
    """Test sound edits together, leave each out, and gate what is needed."""
    capped = CappedRunner(runner, settings, 0)
    yield RunStarted(skill.name, skill.digest, suite.name, suite.digest, 1)
    try:
        reason, accepted = yield from _try(proposal, skill, suite, settings, capped, terms)
    except BudgetReached as reached:
        reason, accepted = str(reached), 0
    yield RunEnded(reason, accepted, capped.rollouts_asked, 0)


def _try(
    proposal: Sequence[Change],
    skill: Skill,
    suite: Suite,
    settings: Settings,
    runner: CappedRunner,
    terms: ProposalTerms,
) -> Generator[Event, None, tuple[str, int]]:
    """Return why it ended, and how many versions were accepted."""
    kept: Sequence[Change] = proposal
    if settings.patch_tests:
        number = len(terms.earlier)
        rollouts = TrainRollouts(runner, Stream.PROPOSAL_TEST, number * _MOST_REPEATS)
        draw = Random(f"{settings.seed}/proposal/{number}")
        evidence = TrainEvidence(skill, suite.tasks(Split.TRAIN), draw)
        yield from go([_test(proposal, evidence)], Answerer(runner.replies, rollouts.measure))
        kept = [change for change in proposal if change.edit in evidence.draft.waiting]
    patch, _, _ = join_edits(skill.document, kept, settings.allow)
    if not patch.changes:
        yield StepFailed(1, "patch test", "no edit helped on the tasks that it cites")
        return "no edit helped on the tasks that it cites", 0
    candidate = skill.with_document(patch.document)
    verdict = _judge(skill, candidate, suite.tasks(Split.VAL), settings, runner, terms)
    text, changes = patch.document.text, patch.changes
    here = verdict.grading is not None and verdict.grading.grade is Grade.PROVEN_HERE
    accepted = verdict.outcome is Outcome.ACCEPT or (here and settings.accept == "here")
    problem = _for_a_person(skill, text, settings) if accepted else ""
    guard = SiblingGuard(terms.siblings, skill, settings, runner)
    if accepted and not problem:
        fall, problem = yield from _siblings(guard, candidate)
        if fall:
            verdict, accepted, here = replace(verdict, outcome=Outcome.REJECT, reason=fall), False, False
    asked = runner.rollouts_asked
    yield GateDecided(1, "edits", changes, verdict, text, rollouts=asked)
    if accepted and problem:
        yield DraftChanged(1, text, changes)
        return f"it is better, and {problem}", 0
    if accepted:
        words = guard.words(candidate)
        yield VersionAccepted(1, 1, 1, "edits", text, changes, verdict, asked, verdict.grading, words)
    elif here and verdict.grading is not None:
        yield DraftGraded(text, changes, verdict.grading, skill.digest, asked)
    return f"{verdict.outcome.value}: {verdict.reason}", int(accepted)


def _for_a_person(skill: Skill, text: str, settings: Settings) -> str:
    """Return what a person must look at first; empty for nothing."""
    marks = find_marks(skill.text, text, frozenset(settings.allow))
    return f"a person must look at it first: {'; '.join(map(str, marks))}" if marks else ""


def _siblings(guard: SiblingGuard, candidate: Skill) -> Generator[Event, None, tuple[str, str]]:
    """Return which protected sibling falls, and why none could be measured; both are empty where all is well."""
    try:
        fall = yield from guard.check(1, candidate)
    except BudgetReached as reached:
        return "", f"protected skills were not measured beside it: {reached}"
    return fall, ""


def _judge(
    skill: Skill,
    candidate: Skill,
    tasks: Sequence[Task],
    settings: Settings,
    runner: CappedRunner,
    terms: ProposalTerms,
) -> Verdict:
    """Decide whether it is better on new tasks; where that cannot be told, whether it is on these very ones."""
    repeat = Stream.PROPOSAL.repeat(len(terms.earlier) * _MOST_ROUNDS)
    error = here_error(terms.tested_here)
    gate = Gate(tasks, settings, runner, first_repeat=repeat, looked=terms.earlier, here_error=error)
    decided = None
    if not terms.shown:
        decided = gate.decide("gate", skill, candidate, 0)
        if decided.outcome is not Outcome.INCONCLUSIVE or not terms.few:
            return decided
    grading = gate.grade("gate", skill, candidate, runner.affords(2 * len(tasks)))
    verdict = gate.graded
    if verdict is None:
        raise ValueError(f"expected a measured grade, found none on {len(tasks)} tasks")
    if terms.shown and grading.grade is Grade.PROVEN:
        grading = replace(grading, grade=Grade.PROVEN_HERE, reason=f"{_SEEN}: {grading.reason.partition(': ')[2]}")
        return replace(verdict, outcome=Outcome.INCONCLUSIVE, reason=grading.reason, grading=grading)
    return replace(verdict, error_spent=verdict.error_spent + (decided.error_spent if decided else 0.0))


def _test(proposal: Sequence[Change], evidence: TrainEvidence) -> Course[None]:
    """Run the edits together on the failing tasks that they cite, and leave each out; the draft is what is needed."""
    edits = [change.edit for change in proposal]
    cited = dict.fromkeys(name for edit in edits for name in edit.tasks[:_MOST_CITED])
    ran = yield from evidence.run(evidence.draft.skill, cited)
    failing = {name: seen.symptoms for name, seen in ran.items() if seen.symptoms}
    lines = make_lines([edit for edit in edits if failing.keys() & set(edit.tasks)], failing)
    for edit in edits:
        if not failing.keys() & set(edit.tasks):
            yield EditRefused(1, edit, "the tasks that it cites pass without it")
    if not lines:
        return
    test = yield from run_patch_test(evidence, [], lines)
    tried = tuple(line.edit for line in lines)
    yield PatchTested(1, tried, tuple(test.after), tuple(sorted(test.moved)), test.passed)
    for line in lines:
        if line not in test.helped:
            yield EditRefused(1, line.edit, "it moved none of the tasks that it cites")
    for one in (yield from ablate(evidence, test.helped, test.moved)):
        yield EditScreened(1, one.line.edit, one.tasks, *one.scores, one.kept, one.reason)


def _without_leaks(
    document: SkillDocument, first: SkillDocument, changes: tuple[Change, ...], suite: Suite | None
) -> tuple[tuple[Change, ...], list[Refusal]]:
    """Tell edits that carry no protected text from those that do; None for the suite does not look."""
    if suite is None:
        return changes, []
    edits = [change.edit for change in changes]
    leaking = dict(find_leaking_edits(index_protected_text(suite), first, document, edits))
    clean = tuple(change for change in changes if change.edit not in leaking)
    return clean, [(change.edit, leaking[change.edit]) for change in changes if change.edit in leaking]


def _ungrounded(edit: Edit, train: set[str]) -> str:
    """Return what is wrong with the tasks that an edit cites; empty when nothing is."""
    unknown = [name for name in edit.tasks if name not in train]
    if unknown:
        return f"expected ids of train tasks as the evidence shows them, found {', '.join(map(repr, unknown[:3]))}"
    return "" if edit.tasks else "expected the ids of the train tasks that show the cause, found none"
