"""Edits proposed from outside, by an agent in the place of the optimizer model or by a person: check, test, gate."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.gate.decide import Verdict
from skillopt.gate.gate import GATE_ROUNDS, HERE_ROUNDS, Gate
from skillopt.gate.grades import Grade
from skillopt.loop import events
from skillopt.loop.ablation import ablate
from skillopt.loop.caps import BudgetReached, CappedRunner, TrainRollouts
from skillopt.loop.consultation import review_text
from skillopt.loop.course import Answerer, Course, go
from skillopt.loop.draft import clip, find_held
from skillopt.loop.edit_checks import Refusal, check_edits, find_leaking_edits, join_edits
from skillopt.loop.evidence import TrainEvidence
from skillopt.loop.memory import PeoplesRefusal, find_reworded
from skillopt.loop.patch_test import moves_little, run_patch_test, take_apart, try_apart
from skillopt.loop.proposing import make_lines
from skillopt.protocols import Runner
from skillopt.rollouts import Stream
from skillopt.safety.leaks import index_protected_text
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, Edit
from skillopt.tasks import Split, Suite

_MOST_REPEATS: Final = 100
"""Repeats of a task that the test of one proposal may take, so that no two proposals share any."""

_MOST_ROUNDS: Final = GATE_ROUNDS + HERE_ROUNDS
"""Repeats of a task that the verdict on one proposal may take."""

_SEEN: Final = "evidence of tasks that decide was shown before"

_MOST_CITED: Final = 4
"""Tasks that an edit is tried on; the others it cites fail for the same reason."""


_Text = tuple[Skill, tuple[Change, ...]]


@dataclass(frozen=True, slots=True)
class ProposalTerms:
    """What came before a proposal, and what its verdict can claim."""

    earlier: Sequence[float] = ()
    few: bool = False
    shown: bool = False
    refused: Sequence[PeoplesRefusal] = ()


def check_proposal(
    document: SkillDocument,
    edits: Sequence[Edit],
    suite: Suite,
    settings: Settings,
    first: SkillDocument | None = None,
    by_people: Sequence[PeoplesRefusal] = (),
) -> tuple[tuple[Change, ...], tuple[Refusal, ...]]:
    """Apply edits, or say of each one that cannot be tried why.

    What training began with is `first`; text that was added since is looked at for leaks as a whole.
    """
    train = {task.id for task in suite.tasks(Split.TRAIN)}
    refused = {edit.id: reason for edit in edits if (reason := _misses_tasks(edit, train))}
    grounded = [edit for edit in edits if edit.id not in refused]
    sound, unsound = check_edits(document, grounded, settings.allow, by_people)
    alone = [change.edit for change in sound]
    protected = index_protected_text(suite) if settings.scan_leaks else None
    leaking = find_leaking_edits(protected, first or document, document, alone) if protected else []
    refused |= {edit.id: reason for edit, reason in (*unsound, *leaking)}
    clean = [change for change in sound if change.edit.id not in refused]
    fitting = clip(clean, settings.edit_budget, settings.token_budget)
    patch, conflicts, rivals = join_edits(document, fitting, settings.allow)
    refused |= {edit.id: reason for edit, reason in (*conflicts, *rivals)}
    tokens = f" and {settings.token_budget} changed tokens" if settings.token_budget else ""
    over = f"over the budget of {settings.edit_budget} edits{tokens} a proposal: shorten it, or propose it next"
    refused |= {change.edit.id: over for change in clean if change not in fitting}
    ids = {change.edit.id for change in patch.changes}
    kept = tuple(change for change in fitting if change.edit.id in ids)
    return kept, tuple((edit, refused[edit.id]) for edit in edits if edit.id in refused)


def try_proposal(
    proposal: Sequence[Change], skill: Skill, suite: Suite, settings: Settings, runner: Runner, terms: ProposalTerms
) -> Iterator[events.Event]:
    """Test sound edits together, leave each out, and gate what is needed."""
    capped = CappedRunner(runner, settings, 0)
    yield events.RunStarted(skill.name, skill.digest, suite.name, suite.digest, 1)
    try:
        reason, accepted = yield from _Trial(skill, suite, settings, capped, terms).run(proposal)
    except BudgetReached as reached:
        reason, accepted = str(reached), 0
    yield events.RunEnded(reason, accepted, capped.rollouts_asked, 0)


@dataclass(frozen=True, slots=True)
class _Trial:
    """The test of one proposal."""

    skill: Skill
    suite: Suite
    settings: Settings
    runner: CappedRunner
    terms: ProposalTerms

    def run(self, proposal: Sequence[Change]) -> Generator[events.Event, None, tuple[str, int]]:
        """Return why it ended, and how many versions were accepted."""
        skill, settings = self.skill, self.settings
        candidate, changes = (yield from self._needed(proposal)) if settings.patch_tests else self._whole(proposal)
        if not changes:
            yield events.StepFailed(1, "patch test", "no edit helped on the tasks that it cites")
            return "no edit helped on the tasks that it cites", 0
        text = candidate.document.text
        verdict = self._judge(candidate)
        accepted = verdict.accepted
        flagged = (yield from review_text(self.runner, skill.text, text, 1)) if settings.reviewer else ()
        again = find_reworded([change.edit for change in changes], self.terms.refused, skill.document).values()
        marks = find_held(skill.text, text, settings, flagged, tuple(again)) if accepted else ()
        problem = f"a person must look at it first: {'; '.join(map(str, marks))}" if marks else ""
        asked = self.runner.rollouts_asked
        yield events.GateDecided(1, "edits", changes, verdict, text, rollouts=asked)
        if accepted and problem:
            yield events.DraftChanged(1, text, changes)
            return f"it is better, and {problem}", 0
        if accepted:
            yield events.VersionAccepted(
                number=1,
                epoch=1,
                step=1,
                kind="edits",
                text=text,
                changes=changes,
                verdict=verdict,
                rollouts=asked,
                grading=verdict.grading,
            )
        elif verdict.grading.grade is Grade.PROVEN_HERE:
            yield events.DraftGraded(text, changes, verdict.grading, skill.digest, asked)
        return f"{verdict.outcome.value}: {verdict.reason}", int(accepted)

    def _whole(self, proposal: Sequence[Change]) -> _Text:
        patch, _, _ = join_edits(self.skill.document, proposal, self.settings.allow)
        return self.skill.with_document(patch.document), patch.changes

    def _needed(self, proposal: Sequence[Change]) -> Generator[events.Event, None, _Text]:
        """Return the text with the lines that help on the tasks that they cite, and without which something is lost."""
        number = len(self.terms.earlier)
        rollouts = TrainRollouts(self.runner, Stream.PROPOSAL_TEST, number * _MOST_REPEATS)
        draw = Random(f"{self.settings.seed}/proposal/{number}")
        evidence = TrainEvidence(self.skill, self.suite.tasks(Split.TRAIN), draw)
        yield from go([self._test(proposal, evidence)], Answerer(self.runner.replies, rollouts.measure))
        return evidence.draft.skill, evidence.draft.pending

    def _judge(self, candidate: Skill) -> Verdict:
        """Decide whether it is better on new tasks; where that cannot be told, whether it is on these very ones."""
        terms, tasks = self.terms, self.suite.tasks(Split.VAL)
        repeat = Stream.PROPOSAL.repeat(len(terms.earlier) * _MOST_ROUNDS)
        gate = Gate(tasks, self.settings, self.runner, first_repeat=repeat, looked=terms.earlier)
        if not (terms.shown or terms.few):
            return gate.decide("gate", self.skill, candidate)
        rounds = self.runner.affords(2 * len(tasks))
        return gate.grade("gate", self.skill, candidate, rounds, unless=_SEEN if terms.shown else "")

    def _test(self, proposal: Sequence[Change], evidence: TrainEvidence) -> Course[None]:
        """Run the edits together on the failing tasks that they cite, and leave each line out of the draft."""
        edits = [change.edit for change in proposal]
        cited = dict.fromkeys(name for edit in edits for name in edit.tasks[:_MOST_CITED])
        ran = yield from evidence.run(evidence.draft.skill, cited)
        failing = {name: seen.symptoms for name, seen in ran.items() if seen.symptoms}
        lines = make_lines([edit for edit in edits if failing.keys() & set(edit.tasks)], failing)
        for edit in edits:
            if not failing.keys() & set(edit.tasks):
                yield events.EditRefused(1, edit, "the tasks that it cites pass without it")
        if not lines:
            return
        test = yield from run_patch_test(evidence, [], lines, list(failing))
        passed = sorted(name for name, seen in test.after.items() if not seen.symptoms)
        tried = tuple(line.edit for line in lines)
        yield events.PatchTested(1, tried, tuple(test.after), tuple(sorted(test.moved)), tuple(passed))
        if moves_little(evidence, test):
            found, _ = yield from try_apart(evidence, [], test)
            if found:
                take_apart(evidence, test, found)
        helped = test.helped(evidence)
        for line in lines:
            if line not in helped:
                yield events.EditRefused(1, line.edit, "it moved none of the tasks that it cites")
        evidence.draft.set(helped)
        for one in (yield from ablate(evidence, evidence.draft.lines, ran | test.after, lambda: self.runner.left)):
            yield events.EditScreened(
                step=1,
                edit=one.line.edit,
                tasks=one.tasks,
                runs=len(one.without),
                failed=one.failed,
                kept=one.kept,
                reason=one.reason,
            )


def _misses_tasks(edit: Edit, train: set[str]) -> str:
    """Return what is wrong with the tasks that an edit cites; empty when nothing is."""
    unknown = [name for name in edit.tasks if name not in train]
    if unknown:
        return f"expected ids of train tasks as the evidence shows them, found {', '.join(map(repr, unknown[:3]))}"
    return "" if edit.tasks else "expected the ids of the train tasks that show the cause, found none"
