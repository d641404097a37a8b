"""The release check: one paired test of a fixed size, and what more looks are worth."""

from itertools import product
from random import Random

import pytest

from skillopt.gate.decide import Outcome
from skillopt.gate.error_budget import look_confidence
from skillopt.loop.decision import Released, check_release
from skillopt.loop.events import HeldOutTestMeasured, ReleaseCheckWithheld
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

OLD = Skill("words", SkillDocument("---\nname: words\ndescription: Words.\n---\nOld.\n"))
NEW = OLD.with_document(SkillDocument("---\nname: words\ndescription: Words.\n---\nNew.\n"))
TASKS = [Task(f"t{at}", f"Task {at}.", VerifierSpec("exact")) for at in range(12)]


def better(request: RolloutRequest) -> Rollout:
    return scored(request, float(request.skill is NEW), "")


def check(runner: ScriptedRunner, looks: int = 0, **values: object) -> HeldOutTestMeasured | ReleaseCheckWithheld:
    settings = Settings.model_validate(values)
    (event,) = check_release(runner, Released(OLD, looks), NEW, TASKS, settings)
    return event


def test_a_better_skill_passes_and_the_event_names_the_released_version() -> None:
    event = check(ScriptedRunner(better, str))
    assert isinstance(event, HeldOutTestMeasured)
    assert event.verdict.outcome is Outcome.ACCEPT
    assert (event.released, event.look) == (OLD.digest, 1)


def test_a_second_look_is_withheld_and_runs_nothing() -> None:
    runner = ScriptedRunner(better, str)
    event = check(runner, looks=1)
    assert isinstance(event, ReleaseCheckWithheld)
    assert "release what is accepted" in event.reason
    assert not runner.requests


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95])
def test_all_looks_together_may_err_as_often_as_one(confidence: float) -> None:
    errors = [1.0 - look_confidence(confidence, look) for look in range(1, 30)]
    assert sum(errors) <= 1.0 - confidence + 1e-12
    assert errors == sorted(errors, reverse=True)


def test_skills_that_are_equally_good_pass_the_first_look_in_at_most_one_of_twenty() -> None:
    passed = 0
    for seed in range(400):
        draw = Random(seed)
        flips = {key: float(draw.random() < 0.5) for key in product((OLD.digest, NEW.digest), range(len(TASKS)))}

        def noisy(request: RolloutRequest, flips: dict[tuple[str, int], float] = flips) -> Rollout:
            assert request.skill is not None
            return scored(request, flips[request.skill.digest, int(request.task.id[1:])], "")

        event = check(ScriptedRunner(noisy, str))
        assert isinstance(event, HeldOutTestMeasured)
        passed += event.verdict.outcome is Outcome.ACCEPT
    assert passed <= 400 * 0.05 + 10
