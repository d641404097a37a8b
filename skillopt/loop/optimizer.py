"""The training loop: learn, check, explain by ablation, prove; then the release check.

It is deterministic given settings, seed and the runner's answers, which is why resuming a run is running it again.
"""

from collections.abc import Callable, Iterator, Sequence

from skillopt.errors import SuiteError, UnreadRepliesError
from skillopt.loop.caps import BudgetReached, settle_folds
from skillopt.loop.decision import Released, check_newest, grade_draft, measure_baseline, run_last_gate
from skillopt.loop.events import Event, RunEnded, RunStarted
from skillopt.loop.learning import Learner
from skillopt.loop.memory import PeoplesRefusal
from skillopt.loop.published import learn_as_published
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
    spent: Sequence[float] = (),
    *,
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
    if not run.taught or not run.val:
        found = f"found {len(run.taught)} and {len(run.val)}"
        raise SuiteError(f"suite {suite.name!r}: expected tasks to learn from and to judge by, {found}; add tasks")
    yield RunStarted(skill.name, skill.digest, suite.name, suite.digest, run.steps)
    learner = Learner(run)
    reason, capped = "", False
    try:
        learner.begin((yield from measure_baseline(run)))
        if run.settings.patch_tests:
            yield from learner.learn()
        else:
            reason = yield from learn_as_published(run)
    except BudgetReached as reached:
        reason, capped = str(reached), True
    unread = run.optimizer.unread
    if unread and not run.optimizer.read:
        raise UnreadRepliesError(unread)
    yield from run.draft_changed()
    yield from run_last_gate(run, run.step)
    if run.settings.patch_tests:
        yield from grade_draft(run, learner)
        left = list(learner.name_failing())
        reason = reason or ("no further edit helped" if left else "all train tasks pass")
        yield from left
    # What waits for want of rollouts is judged under a higher cap.
    capped = capped or (bool(run.draft.lines) and run.runner.left < 2 * len(run.val))
    asked = run.runner.rollouts_asked
    yield from check_newest(run, released, runner)
    rollouts, calls = asked + run.test_rollouts, run.runner.calls_asked
    yield RunEnded(reason, run.versions, rollouts, calls, capped=capped, unread=tuple(unread))
