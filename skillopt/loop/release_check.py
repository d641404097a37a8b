"""Release check: the last version against the released one on the held-out `test` split.

One paired test of a fixed size that is valid for the scores found: exact for passed and failed, a bet on the mean for
partial ones. Repeated looks ask for more confidence, so that all together err as one may. Where so few tasks could
hardly show anything, nothing is run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from skillopt.gate.comparison import Pairs, compare, expect_measured, least_gain, tally
from skillopt.gate.decide import Question, decide
from skillopt.gate.error_budget import look_confidence
from skillopt.gate.families import find_families
from skillopt.loop.events import Event, HeldOutTestMeasured, ReleaseCheckWithheld
from skillopt.loop.training_run import TrainingRun
from skillopt.protocols import RolloutRequest, Runner
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task

LEAST_TEST_TASKS: Final = 8
"""With fewer tasks even a version that mends half of what fails is hardly ever shown to be better."""


@dataclass(frozen=True, slots=True)
class Released:
    """What a candidate must beat before it is offered, and what training began with."""

    skill: Skill
    looks: int = 0
    first: SkillDocument | None = None


def check_release(
    runner: Runner, released: Released, candidate: Skill, tasks: Sequence[Task], settings: Settings
) -> Iterator[HeldOutTestMeasured | ReleaseCheckWithheld]:
    """Score both on the held-out tasks, unless they are too few or were looked at too often."""
    look = released.looks + 1
    if not tasks:
        yield ReleaseCheckWithheld("the suite has no held-out tasks", look)
        return
    if look > settings.test_looks:
        seen = "once" if released.looks == 1 else f"{released.looks} times"
        yield ReleaseCheckWithheld(
            f"the held-out test was already scored {seen} for the released version, and another look is worth less: "
            "release what is accepted first",
            look,
        )
        return
    confidence = look_confidence(settings.confidence, look)
    if len(tasks) < LEAST_TEST_TASKS or least_gain(len(tasks), confidence) is None:
        needed = f"expected at least {LEAST_TEST_TASKS} held-out tasks, and that all of them could show a gain"
        reason = f"{needed} at confidence {confidence:.3f}, found {len(tasks)}: nothing was run; add tasks to the test"
        yield ReleaseCheckWithheld(f"{reason} split", look)
        return
    requests = [RolloutRequest(skill, task) for skill in (released.skill, candidate) for task in tasks]
    pairs = Pairs.halves(runner.rollouts(requests))
    expect_measured("held-out test", pairs, settings.coverage)
    found = compare(pairs, settings.metric, settings.coverage, families=find_families(tasks))
    verdict = decide(found, Question.BETTER, 1.0 - confidence)
    yield HeldOutTestMeasured(tally(pairs.before), tally(pairs.after), verdict, released.skill.digest, look)


def check_newest(run: TrainingRun, released: Released, runner: Runner) -> Iterator[Event]:
    """Compare a version that is new since the last test on the held-out tasks; say so where the cap is too small."""
    if run.versions == run.tested or not run.test:
        return
    released = replace(released, looks=released.looks + bool(run.test_rollouts))
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
