"""Edits proposed from outside, by an agent in the place of the optimizer model or by a person: check, test, gate."""

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.gate.comparison import Pairs
from skillopt.gate.gate import GATE_ROUNDS, HERE_ROUNDS, Gate
from skillopt.gate.grades import Grade
from skillopt.loop import events
from skillopt.loop.ablation import ablate
from skillopt.loop.caps import BudgetReached, CappedRunner, TrainRollouts
from skillopt.loop.consultation import review_text
from skillopt.loop.draft import Line, clip, find_held
from skillopt.loop.edit_checks import Refusal, check_edits, find_leaking_edits, join_edits
from skillopt.loop.evidence import Seen, TrainEvidence
from skillopt.loop.memory import PeoplesRefusal, find_reworded
from skillopt.loop.patch_test import moves_little, run_patch_test, take_apart, try_apart
from skillopt.loop.proposing import make_lines
from skillopt.protocols import Runner
from skillopt.rollouts import Rollout, Stream
from skillopt.safety.leaks import index_protected_text
from skillopt.settings import GateRule, Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.skills.edits import Change, Edit
from skillopt.tasks import Split, Suite

_MOST_REPEATS: Final = 100
"""Repeats of a task that the test of one proposal may take, so that no two proposals share any."""

PROPOSAL_ROUNDS: Final = GATE_ROUNDS + HERE_ROUNDS
"""Repeats of a task that the verdict on one proposal may take."""

_FEW_FAIL: Final = 0.25
"""Share of failing tasks up to which a text is run again to prove it: of two rules for twelve tasks, the first alone
leaves half of them, and proving it would take the rollouts that prove both (96 for the two rounds, so 68)."""

_MOST_CITED: Final = 4
"""Tasks that an edit is tried on; the others it cites fail for the same reason."""


@dataclass(frozen=True, slots=True)
class ProposalTerms:
    """What came before a proposal.

    Args:
        number: How many proposals there were, so that each has repeats of its own.
        spent: The error that earlier runs of the skill spent.
        draft: Edits of the draft that it goes on from.
        ran: How tasks that teach and judge went under that draft when it was judged.
        refused: What people refused.
    """

    number: int = 0
    spent: Sequence[float] = ()
    draft: Sequence[Edit] = ()
    ran: Sequence[Rollout] = ()
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
    train = {task.id for task in suite.tasks_to_evaluate(Split.TRAIN)}
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
        skill, settings, folded = self.skill, self.settings, self.suite.folds is not None
        number = self.terms.number
        gate = Gate(self.suite.tasks(Split.VAL), settings, self.runner, looked=self.terms.spent)
        # Where all tasks teach, what was shown of the text before is the first round of its side, as in training.
        baseline = gate.baseline(skill, whole=True) if folded or settings.gate is GateRule.STRICT else ()
        gate.go_on_from(Stream.PROPOSAL.repeat(number * PROPOSAL_ROUNDS))
        draw = Random(f"{settings.seed}/proposal/{number}")
        rollouts = TrainRollouts(self.runner, Stream.PROPOSAL_TEST, number * _MOST_REPEATS)
        evidence = TrainEvidence(skill, self.suite.tasks_to_evaluate(Split.TRAIN), draw, rollouts.measure)
        evidence.draft.set([Line(edit) for edit in self.terms.draft])
        before = evidence.draft.skill
        known = {
            one.task_id: evidence.note(before, one)
            for one in (self.terms.ran if self.terms.draft else baseline)
            if folded and one.score is not None
        }
        yield from self._test(proposal, evidence, known)
        candidate, changes = evidence.draft.skill, evidence.draft.pending
        if candidate.digest == before.digest:
            yield events.StepFailed(1, "patch test", "no edit helped on the tasks that it cites")
            return "no edit helped on the tasks that it cites", 0
        text = candidate.document.text
        if folded:
            rounds = max(1, self.runner.left // (2 * len(baseline)))
            verdict = gate.grade("gate", skill, candidate, rounds, unless="all tasks taught it", worth=_few_fail)
        else:
            verdict = gate.decide("gate", skill, candidate)
        accepted = verdict.accepted
        flagged = (yield from review_text(self.runner, skill.text, text, 1)) if settings.reviewer else ()
        again = find_reworded([change.edit for change in changes], self.terms.refused, skill.document).values()
        marks = find_held(skill.text, text, settings, flagged, tuple(again)) if accepted else ()
        asked = self.runner.rollouts_asked
        yield events.GateDecided(1, "edits", changes, verdict, text, rollouts=asked, folded=folded)
        if accepted and not marks:
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
        elif not verdict.rejected and verdict.grading.grade is not Grade.WORSE:
            yield events.DraftGraded(text, changes, verdict.grading, skill.digest, asked)
        if accepted and marks:
            return f"it is better, and a person must look at it first: {'; '.join(map(str, marks))}", 0
        return f"{verdict.outcome.value}: {verdict.reason}", int(accepted)

    def _test(
        self, proposal: Sequence[Change], evidence: TrainEvidence, known: Mapping[str, Seen]
    ) -> Iterator[events.Event]:
        """Run the edits together on the failing tasks that they cite, and leave each line out of the draft."""
        edits, carried = [change.edit for change in proposal], evidence.draft.lines
        cited = dict.fromkeys(name for edit in edits for name in edit.tasks[:_MOST_CITED])
        ran = {name: known[name] for name in cited if name in known and known[name].symptoms}
        ran |= evidence.run(evidence.draft.skill, [name for name in cited if name not in ran])
        failing = {name: seen.symptoms for name, seen in ran.items() if seen.symptoms}
        lines = make_lines([edit for edit in edits if failing.keys() & set(edit.tasks)], failing)
        for edit in edits:
            if not failing.keys() & set(edit.tasks):
                yield events.EditRefused(1, edit, "the tasks that it cites pass without it")
        if not lines:
            return
        test = run_patch_test(evidence, carried, lines, list(failing))
        yield test.told(1)
        if moves_little(evidence, test):
            found, _ = try_apart(evidence, carried, test)
            if found:
                take_apart(evidence, test, found)
        helped = test.helped(evidence)
        for line in lines:
            if line not in helped:
                yield events.EditRefused(1, line.edit, "it moved none of the tasks that it cites")
        evidence.draft.set([*carried, *helped])
        new = [line for line in evidence.draft.lines if line not in carried]
        for one in ablate(evidence, new, ran | test.after, lambda: self.runner.left):
            yield one.told(1)


def _few_fail(pairs: Pairs) -> bool:
    """Return whether so few tasks fail that the text is likely to stay; else further edits come, and a proof waits."""
    failed = sum(not (one.score and one.score.passed) for one in pairs.after)
    return failed <= _FEW_FAIL * len(pairs.after)


def _misses_tasks(edit: Edit, train: set[str]) -> str:
    """Return what is wrong with the tasks that an edit cites; empty when nothing is."""
    unknown = [name for name in edit.tasks if name not in train]
    if unknown:
        return f"expected ids of train tasks as the evidence shows them, found {', '.join(map(repr, unknown[:3]))}"
    return "" if edit.tasks else "expected the ids of the train tasks that show the cause, found none"
