"""The gate in the loop: when it is due, the baseline, draft against incumbent, and the grade at the end."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from skillopt.errors import InvalidMeasurementError, OneTextLostError
from skillopt.gate.comparison import Outcome, Verdict, noise_floor, tally
from skillopt.gate.gate import INCREMENT_TASKS, resolvable_gain
from skillopt.gate.grades import Grade, Grading, Prior, prior_from_training
from skillopt.loop.caps import BudgetReached
from skillopt.loop.consultation import review_text
from skillopt.loop.draft import Line, find_held
from skillopt.loop.events import (
    BaselineMeasured,
    DraftGraded,
    Event,
    GateDecided,
    StepFailed,
    TasksSetAside,
    VersionAccepted,
)
from skillopt.loop.merging import merge_folds, parts_of_folds
from skillopt.loop.policy import IDLE, Policy
from skillopt.loop.training_run import TrainingRun
from skillopt.safety.plurals import count_noun
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change

_CLEAR_LEAD: Final = 2.0
"""Expected z of a paired test on `val` at which a gate is asked: without, first versions take half as long again."""


def gate_is_due(run: TrainingRun) -> bool:
    """Return whether the draft is to be compared with the incumbent now.

    That is when its lead on train is clear, when steps bring nothing new, or while the rollouts last.
    """
    policy, tasks = run.policy, len(run.val)
    # Folds are judged once, together.
    if run.folded or not run.draft.lines or run.gated == run.draft.skill.digest:
        return False
    # A step that comes after this one takes about as many rollouts as half a gate.
    if policy.idle >= IDLE or run.runner.left < 3 * tasks:
        return True
    return policy.epochs.rose if policy.epochs.pooled else policy.lead(len(run.val)) >= _CLEAR_LEAD


def measure_baseline(run: TrainingRun) -> Iterator[Event]:
    """Measure the first skill on `val`; repeated, it tells the noise before anything is decided."""
    folded = run.folded
    repeats = run.gate.baseline(run.start, whole=folded)
    if folded:  # the first rollout of every task, made before any edit, is what learning begins with
        for policy in run.policies:
            policy.begin(repeats[0])
        failing = sum(bool(found) for policy in run.policies for found in policy.evidence.start.values())
        run.runner.release(len(run.val) + failing)
    measured = tally(rollout for rollouts in repeats for rollout in rollouts)
    floor, gain = noise_floor(repeats, run.settings.metric), resolvable_gain(len(run.val), run.settings)
    yield BaselineMeasured(measured, floor, gain)


def run_gate(
    run: TrainingRun, step: int, epoch: int = 1, candidate: Skill | None = None, changes: tuple[Change, ...] = ()
) -> Iterator[Event]:
    """Compare a candidate with the incumbent on `val`; accept it, let it wait, or remember why not."""
    held: tuple[Line, ...] = ()
    run.gated = (candidate or run.draft.skill).digest
    yield from _review(run, step, candidate or run.draft.skill)
    if candidate is None:
        held = run.draft.marked(run.settings, run.flagged, run.again)
        candidate, changes = run.draft.without(held)
    problem = _held_back(run, held, candidate)
    if problem:
        yield StepFailed(step, "gate", problem)
        if not changes:
            return
    kind, text = "edits" if changes else "slow update", candidate.document.text
    try:
        verdict = _compare(run, step, candidate)
    except InvalidMeasurementError as error:
        if isinstance(error, OneTextLostError) or not run.rollouts.alive:
            raise
        yield StepFailed(step, "gate", str(error))  # what keeps failing on these texts says nothing of the next ones
        return
    yield GateDecided(
        step=step,
        kind=kind,
        changes=changes,
        verdict=verdict,
        text=text,
        rollouts=run.runner.rollouts_asked,
        folded=run.folded,
    )
    if verdict.outcome is Outcome.ACCEPT:
        yield from accept(run, step, candidate=candidate, changes=changes, verdict=verdict, epoch=epoch)
    elif not _waits(run, verdict.outcome):
        _drop(run, changes, verdict, held)


def _review(run: TrainingRun, step: int, skill: Skill) -> Iterator[Event]:
    """Have the reviewer read a text, where the settings name one, once for each text."""
    sides = run.draft.incumbent.text, skill.text
    if run.settings.reviewer and sides != run.reviewed:
        run.flagged = yield from review_text(run.runner, *sides, step, run.flagged)
        run.reviewed = sides


def _drop(run: TrainingRun, changes: Sequence[Change], verdict: Verdict, held: Sequence[Line]) -> None:
    """Remember why edits were not accepted, and go on without them."""
    for edit in (change.edit for change in changes):
        run.memory.tried(edit, f"{verdict.outcome.value}, {verdict.reason}")
    run.draft.set(held)


def _held_back(run: TrainingRun, held: Sequence[Line], candidate: Skill) -> str:
    """Return what a person must look at before it becomes a version, empty for nothing."""
    text = run.draft.skill.text if held else candidate.text
    marks = find_held(run.draft.incumbent.text, text, run.settings, run.flagged, run.again)
    if not held:
        return f"a person must look at it first: {marks[0]}" if marks else ""
    waiting = "1 edit waits" if len(held) == 1 else f"{len(held)} edits wait"
    edits = "; ".join(line.edit.summary for line in held)
    return f"{waiting} for a person in the draft: {edits} ({'; '.join(map(str, marks))})"


def accept(
    run: TrainingRun, step: int, candidate: Skill, changes: tuple[Change, ...], verdict: Verdict, epoch: int = 1
) -> Iterator[Event]:
    """Make a candidate the incumbent, and tell of the version."""
    kind, asked = "edits" if changes else "slow update", run.runner.rollouts_asked
    text, grading = candidate.document.text, verdict.grading
    accepted = {change.edit for change in changes}
    run.draft.accept(candidate, [line for line in run.draft.lines if line.edit not in accepted])
    run.memory.accepted += [change.edit.summary for change in changes] or [kind]
    run.versions += 1
    yield VersionAccepted(
        number=run.versions,
        epoch=epoch,
        step=step,
        kind=kind,
        text=text,
        changes=changes,
        verdict=verdict,
        rollouts=asked,
        grading=grading,
    )
    if run.draft.lines:
        yield from run.draft_changed()


def run_last_gate(run: TrainingRun, step: int) -> Iterator[Event]:
    """Gate what still waits, with the rollouts that were kept back for it; what folds have joined is graded at once."""
    run.runner.release()
    if not run.folded and run.draft.lines and run.gated != run.draft.skill.digest:
        try:
            yield from run_gate(run, step)
        except BudgetReached as reached:
            yield StepFailed(step, "gate", str(reached))


def _compare(run: TrainingRun, step: int, candidate: Skill) -> Verdict:
    """Compare with the incumbent; what builds on a proven version only has to be no lower, where tasks can show it."""
    place, rounds = f"step {step}", run.runner.affords(2 * len(run.val))
    if run.settings.patch_tests and run.versions and not run.policy.epochs.pooled:
        if len(run.val) < INCREMENT_TASKS:
            return run.gate.decide_whole(place, run.start, run.draft.incumbent, candidate, rounds)
        return run.gate.decide_increment(place, run.draft.incumbent, candidate, _expected_gain(run))
    return run.gate.decide(place, run.draft.incumbent, candidate, rounds, _expected_gain(run))


def _waits(run: TrainingRun, outcome: Outcome) -> bool:
    """Return whether a candidate that was not accepted may get better yet: it is undecided, or still grows.

    Before the first version a draft always waits: few tasks reject by chance what its grade will say in the end.
    """
    if not run.settings.patch_tests:
        return False
    return outcome is Outcome.INCONCLUSIVE or not run.versions or run.policy.epochs.pooled or not run.policy.idle


def _expected_gain(run: TrainingRun) -> Prior:
    """Return what the train tasks let expect of the draft on others."""
    found = [policy.evidence for policy in run.policies]
    tasks = sum(len(one.start) for one in found)
    mended = sum(one.mended * (one.rates.answering - one.rates.without) * len(one.start) for one in found)
    return prior_from_training(mended / max(1, tasks), tasks, len(run.val))


def grade_draft(run: TrainingRun) -> Iterator[Event]:
    """Grade the draft against the incumbent with the rollouts that are left; what is shown enough is accepted."""
    draft = run.draft
    if not draft.lines:
        return
    if run.folded:
        yield from merge_folds(run)
    text, changes = draft.skill.document.text, draft.pending
    yield from _review(run, run.step, draft.skill)
    try:
        grading = _grade(run)
    except InvalidMeasurementError as error:
        if isinstance(error, OneTextLostError) or not run.rollouts.alive:
            raise
        yield StepFailed(run.step, "grade", str(error))
        return
    asked, verdict = run.runner.rollouts_asked, run.gate.graded
    enough = grading.grade is Grade.PROVEN or (grading.grade is Grade.PROVEN_HERE and run.settings.accept == "here")
    held = draft.marked(run.settings, run.flagged, run.again) if verdict is not None and enough else ()
    if verdict is not None:
        yield GateDecided(
            step=run.step, kind="edits", changes=changes, verdict=verdict, text=text, rollouts=asked, folded=run.folded
        )
    if verdict is not None and enough and not held:
        yield from accept(run, run.step, draft.skill, changes, replace(verdict, grading=grading))
    else:
        yield from [StepFailed(run.step, "gate", _held_back(run, held, draft.skill))] if held else []
        yield DraftGraded(text, changes, grading, draft.incumbent.digest, asked)


def _grade(run: TrainingRun) -> Grading:
    """Grade by fresh repeats as far as the caps allow, else by what is known."""
    sides, prior = (run.draft.incumbent, run.draft.skill), _expected_gain(run)
    crossed = parts_of_folds(run) if run.folded else {}
    cost = 2 * len(run.val) + len(crossed)
    # With folds the baseline and the merge have made the rollouts of the first round.
    rounds = max(0, run.runner.left) // cost + (1 if run.folded else 0)
    try:
        return run.gate.grade("grade", *sides, rounds, prior, crossed)
    except BudgetReached:
        return run.gate.grade("grade", *sides, 0, prior)


def name_failing_tasks(run: TrainingRun) -> Iterator[Event]:
    """Name the train tasks that were not seen to pass, with the reason of each."""
    reasons: dict[str, list[str]] = defaultdict(list)
    passed = train_tasks_passed(run)
    for policy in run.policies:
        for name, seen in ((name, policy.evidence.seen.get(name)) for name in sorted(policy.evidence.tasks)):
            if seen is None or not seen.symptoms <= policy.evidence.answered:
                reasons[_why_failing(run, policy, name)].append(name)
            elif not passed.get(name, True):
                reasons["failed when the newest text was run last"].append(name)
    if reasons:
        tasks = sum(len(policy.evidence.tasks) for policy in run.policies)
        yield TasksSetAside(tuple((reason, tuple(names)) for reason, names in reasons.items()), tasks)


def train_tasks_passed(run: TrainingRun) -> dict[str, bool]:
    """Return of each train task that the newest text was run on whether it passed last."""
    text, passed = run.draft.skill, dict[str, bool]()
    for policy in run.policies:
        passed |= policy.evidence.outcomes(text)
    for rollout in run.gate.measured(run.start, text).after if run.folded else ():
        if rollout.score is not None:
            passed[rollout.task_id] = rollout.score.passed
    return passed


def _why_failing(run: TrainingRun, policy: Policy, name: str) -> str:
    evidence, patches = policy.evidence, policy.patches[name]
    if name in evidence.unmeasurable or name not in evidence.seen:
        return "could not be measured" if name in evidence.unmeasurable else "not run"
    if name in run.suspects.flagged:
        return "its verifier looks wrong"
    if patches:
        return f"failed under {count_noun(patches, 'patch', 'patches')}"
    refused = evidence.memory.refused_for.get(name)
    return f"every edit for it was refused: {refused}" if refused else "no edit was proposed for it"
