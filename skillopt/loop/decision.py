"""The gate in the loop: measure the baseline, compare the draft with the incumbent, accept, keep or drop it."""

from collections.abc import Iterator

from skillopt.gate.comparison import Outcome, noise_floor, tally
from skillopt.gate.gate import resolvable_gain
from skillopt.loop.caps import BudgetReached
from skillopt.loop.events import BaselineMeasured, Event, GateDecided, StepFailed, VersionAccepted
from skillopt.loop.training_run import TrainingRun
from skillopt.skills.document import Skill
from skillopt.skills.edits import Change

__all__ = ["measure_baseline", "run_gate", "run_last_gate"]


def measure_baseline(run: TrainingRun) -> Iterator[Event]:
    """Measure the first skill on `val`; repeated, it tells the noise before anything is decided."""
    settings, noise = run.settings, run.readiness.noise
    repeats = run.gate.baseline(run.start, run.readiness.add_baseline)
    noise.settle()
    measured = tally(rollout for rollouts in repeats for rollout in rollouts)
    floor, gain = noise_floor(repeats, settings.metric), resolvable_gain(len(run.val), settings)
    yield BaselineMeasured(measured, floor, gain)


def run_gate(
    run: TrainingRun, epoch: int, step: int, candidate: Skill | None = None, changes: tuple[Change, ...] = ()
) -> Iterator[Event]:
    """Compare a candidate with the incumbent on `val`; accept it, let it wait, or remember why not.

    Args:
        run: The state of the run.
        epoch: From 1.
        step: Where in the run this is.
        candidate: What is compared; the draft when None.
        changes: The edits of the candidate; those that wait when it is the draft.
    """
    if candidate is None:
        candidate, changes = run.draft.skill, run.draft.pending
    kind, text = "edits" if changes else "slow update", candidate.document.text
    rounds = run.runner.affords(2 * len(run.val))
    verdict = run.gate.decide(f"step {step}", run.draft.incumbent, candidate, rounds)
    asked = run.runner.rollouts_asked
    yield GateDecided(step, kind, changes, verdict, text, asked)
    lines = [change.edit.summary for change in changes] or [kind]
    if verdict.outcome is Outcome.ACCEPT:
        run.draft.accept(candidate)
        run.readiness.note_verdict(run.draft, accepted=True)
        run.memory.accepted += lines
        run.versions += 1
        yield VersionAccepted(run.versions, epoch, step, kind, text, changes, verdict, asked)
    elif _waits(run, verdict.outcome):
        run.readiness.note_verdict(run.draft, accepted=False)
    else:
        run.memory.reject(lines, f"{verdict.outcome.value}, {verdict.reason}")
        _drop(run)


def run_last_gate(run: TrainingRun) -> Iterator[Event]:
    """Gate what still waits, with the rollouts that were kept back for it."""
    run.runner.release()
    if run.readiness.waiting(run.draft):
        try:
            yield from run_gate(run, run.settings.epochs, run.steps)
        except BudgetReached as reached:
            yield StepFailed(run.steps, "gate", str(reached))


def _waits(run: TrainingRun, outcome: Outcome) -> bool:
    """Say whether a candidate that was not accepted may get better yet: it is undecided, or grows on trust."""
    trusting = run.settings.trust_noise > 0 and run.readiness.trusting
    return run.settings.gate_edits != 1 and (trusting or outcome is Outcome.INCONCLUSIVE)


def _drop(run: TrainingRun) -> None:
    """Go back to the incumbent."""
    if run.draft.pending:
        run.readiness.noise.forget()
    run.draft.drop()
    run.readiness.note_verdict(run.draft, accepted=False)
