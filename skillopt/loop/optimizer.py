"""The training loop: baseline, steps of reflection, patch test and ablation, gate, release check.

It is deterministic given settings, seed and the runner's answers, which is why resuming a run is running it again.
"""

from collections.abc import Callable, Generator, Iterator, Sequence

from skillopt.errors import SuiteError, UnreadRepliesError
from skillopt.gate.error_budget import ErrorSpent
from skillopt.loop.caps import BudgetReached
from skillopt.loop.course import Course, go
from skillopt.loop.decision import (
    gate_is_due,
    grade_draft,
    measure_baseline,
    name_failing_tasks,
    run_gate,
    run_last_gate,
    train_tasks_passed,
)
from skillopt.loop.events import CapsRaised, Event, RunEnded, RunStarted, StepFailed
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.policy import Policy
from skillopt.loop.published import learn_as_published
from skillopt.loop.release_check import Released, check_newest
from skillopt.loop.rollout_plan import settle_folds
from skillopt.loop.step import Chain, ablate_lines, pick_failures, propose_patch, take_pooled_step, try_patch
from skillopt.loop.training_run import TrainingRun
from skillopt.protocols import Runner
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Suite


def train(  # noqa: PLR0913 - what a run is made of
    skill: Skill,
    suite: Suite,
    settings: Settings,
    runner: Runner,
    released: Released | None = None,
    spent: Sequence[ErrorSpent] = (),
    *,
    raised: Sequence[Settings] = (),
    refused: Sequence[PeoplesRefusal] = (),
    shell_problem: Callable[[str, str], str] | None = None,
) -> Iterator[Event]:
    """Train a skill on a suite, yielding what happens as it happens."""
    run = TrainingRun(
        skill, settle_folds(suite, settings), settings=settings, runner=runner, spent=spent, refused=refused
    )
    released = released or Released(skill)
    run.first_text = released.first or skill.document
    run.shell_problem = shell_problem
    train_tasks = sum(len(policy.evidence.tasks) for policy in run.policies)
    if not train_tasks or not run.val:
        found = f"found {train_tasks} and {len(run.val)}"
        raise SuiteError(f"suite {suite.name!r}: expected tasks to learn from and to judge by, {found}; add tasks")
    yield RunStarted(skill.name, skill.digest, suite.name, suite.digest, run.steps)
    yield from _train_to_the_caps(run, released, runner)
    for caps in raised:
        run.raise_caps(caps)
        yield CapsRaised(caps.max_rollouts, caps.max_usd, caps.max_tokens)
        yield from _train_to_the_caps(run, released, runner)


def _train_to_the_caps(run: TrainingRun, released: Released, runner: Runner) -> Iterator[Event]:
    """Learn until no further edit helps or a cap is reached; gate, grade and test what there is then."""
    settings, capped = run.settings, False
    try:
        if not run.measured:
            yield from measure_baseline(run)
            run.measured = True
        reason = yield from (_learn(run) if settings.patch_tests else learn_as_published(run))
    except BudgetReached as reached:
        reason, capped = str(reached), True
    if run.unread and not run.read:
        raise UnreadRepliesError(run.unread)
    yield from run.draft_changed()
    yield from run_last_gate(run, run.step)
    if settings.patch_tests:
        yield from grade_draft(run)
        left = list(name_failing_tasks(run))
        if not capped:
            reason = "no further edit helped" if left else _why_over(run)
        yield from left
    asked = run.runner.rollouts_asked
    yield from check_newest(run, released, runner)
    rollouts, calls = asked + run.test_rollouts, run.runner.calls_asked
    yield RunEnded(reason, run.versions, rollouts, calls, capped=capped, unread=tuple(run.unread))


def _why_over(run: TrainingRun) -> str:
    """Say what the newest text did on the train tasks when none is known to fail."""
    passed, tasks = train_tasks_passed(run), sum(len(policy.evidence.tasks) for policy in run.policies)
    return "all train tasks pass" if len(passed) == tasks else "each failure that was seen has an edit for it"


def _learn(run: TrainingRun) -> Generator[Event, None, str]:
    """Take step after step, those of two folds side by side, until no further edit helps."""
    while learning := [policy for policy in run.policies if not policy.done]:
        yield from go([_take_steps(run, policy) for policy in learning], run.answers)
        if gate_is_due(run):
            yield from run_gate(run, run.step)
    return ""


def _take_steps(run: TrainingRun, policy: Policy) -> Course[None]:
    """Take the steps of one policy up to the next gate; with folds, which are judged at the end, all of them."""
    while not policy.done:
        run.step += 1
        step = run.step
        yield from take_step(run, policy, step)
        yield from run.draft_changed(step)
        if not run.folded:
            return


def take_step(run: TrainingRun, policy: Policy, step: int) -> Course[None]:
    """Pick failing tasks, and bring what mends them into the draft."""
    shown = None if policy.epochs.pooled else (yield from pick_failures(run, policy, step))
    if policy.epochs.pooled or shown is None:  # the first tasks that were picked can tell that the target is noisy
        yield from take_pooled_step(run, policy, step, shown)
        return
    if not shown:
        policy.idle += 1
        return
    draft, chain = policy.evidence.draft, Chain(shown)
    before = draft.lines
    try:
        yield from _reflect_and_test(run, policy, step, chain)
        yield from ablate_lines(policy, step, chain)
    except BudgetReached:
        if not before:
            # Better than nothing is what moved tasks, though no line of it was ever left out: its grade says so.
            draft.set(chain.good)
        raise
    policy.note_step(chain.proposed, chain.reflections, learned=draft.lines != before)
    if draft.lines == before:
        yield StepFailed(step, "reflection", "no edit was seen to help" if chain.good else "no edit was left to try")


def _reflect_and_test(run: TrainingRun, policy: Policy, step: int, chain: Chain) -> Course[None]:
    """Propose and test patches in turn until the failures pass, or nothing moves; lines that came back go first."""
    revived = policy.revive(chain.shown)
    for number in range(run.settings.patch_tests + bool(revived)):
        asked = bool(number) or not revived
        patch = (yield from propose_patch(run, policy, step, chain)) if asked else revived
        if not patch:
            policy.tries.update(dict.fromkeys(chain.symptoms, 4))  # no edit at all says more than one that fails
            return
        yield from try_patch(policy, step, chain, patch, asked=asked)
        if chain.over:
            return
