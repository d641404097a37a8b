"""The training loop: baseline, steps of reflection, patch test and ablation, gate, release check.

It is deterministic given settings, seed and the runner's answers, which is why resuming a run is running it again.
"""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from skillopt.errors import SuiteError
from skillopt.gate.error_budget import ErrorSpent
from skillopt.loop.caps import BudgetReached
from skillopt.loop.course import Course, go
from skillopt.loop.decision import (
    gate_is_due,
    grade_draft,
    measure_baseline,
    name_stuck_tasks,
    run_gate,
    run_last_gate,
)
from skillopt.loop.events import CapsRaised, Event, HeldOutTestMeasured, ReleaseCheckWithheld, RunEnded, RunStarted
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.policy import Policy
from skillopt.loop.published import learn_as_published
from skillopt.loop.release_check import Released, check_release
from skillopt.loop.rollout_plan import settle_folds
from skillopt.loop.siblings import Sibling
from skillopt.loop.step import take_step
from skillopt.loop.training_run import TrainingRun
from skillopt.protocols import Runner
from skillopt.settings import Settings
from skillopt.skills.document import Skill
from skillopt.tasks import Suite

__all__ = ["train"]


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
    siblings: Sequence[Sibling] = (),
) -> Iterator[Event]:
    """Train a skill on a suite, yielding what happens as it happens."""
    run = TrainingRun(skill, settle_folds(suite, settings), settings, runner, spent, refused, siblings=siblings)
    released = released or Released(skill)
    run.first_text = released.first or skill.document
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
    """Learn until nothing is left to learn or a cap is reached; gate, grade and test what there is then."""
    settings, capped = run.settings, False
    try:
        if not run.measured:
            yield from measure_baseline(run)
            run.measured = True
        reason = yield from (_learn(run) if settings.patch_tests else learn_as_published(run))
    except BudgetReached as reached:
        reason, capped = str(reached), True
    yield from run.draft_changed()
    yield from run_last_gate(run, run.step)
    if settings.patch_tests:
        yield from grade_draft(run)
        yield from name_stuck_tasks(run)
    asked = run.runner.rollouts_asked
    if run.versions > run.tested and run.test:
        released = replace(released, looks=released.looks + bool(run.test_rollouts))
        yield from _test_newest(run, released, runner)
    yield RunEnded(reason, run.versions, asked + run.test_rollouts, run.runner.calls_asked, capped)


def _test_newest(run: TrainingRun, released: Released, runner: Runner) -> Iterator[Event]:
    """Compare the newest version on the held-out tasks; say so where the cap is too small for it."""
    if not run.plan.test:
        few = (
            f"the cap of {run.settings.max_rollouts} rollouts leaves too few for {2 * len(run.test)} on held-out tasks"
        )
        yield ReleaseCheckWithheld(few, released.looks + 1)
        return
    for event in check_release(runner, released, run.draft.incumbent, run.test, run.settings):
        run.test_rollouts += 2 * len(run.test) if isinstance(event, HeldOutTestMeasured) else 0
        yield event
    run.tested = run.versions


def _learn(run: TrainingRun) -> Generator[Event, None, str]:
    """Take step after step, those of two folds side by side, until nothing is left to learn; say why it ended."""
    while learning := [policy for policy in run.policies if not policy.done]:
        yield from go([_take_steps(run, policy) for policy in learning], run.answers)
        if gate_is_due(run):
            yield from run_gate(run, run.step)
    return "nothing is left to learn"


def _take_steps(run: TrainingRun, policy: Policy) -> Course[None]:
    """Take the steps of one policy up to the next gate; with folds, which are judged at the end, all of them."""
    while not policy.done:
        run.step += 1
        step = run.step
        yield from take_step(run, policy, step)
        yield from run.draft_changed(step)
        if run.cross is None:
            return
