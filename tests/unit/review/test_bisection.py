"""Searching for what broke a task, among noisy rollouts."""

from random import Random

import pytest

from skillopt.errors import InvalidMeasurementError
from skillopt.loop.caps import CappedRunner
from skillopt.presets import make_settings
from skillopt.protocols import RolloutRequest
from skillopt.review.bisection import Bisection, Found
from skillopt.rollouts import Rollout
from skillopt.settings import Metric
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored

TEXTS = [Skill("words", SkillDocument(str(number))) for number in range(17)]
TASK = Task("val-1", "do it", VerifierSpec("exact"))


def runner(broken: int, noise: float = 0.0, seed: int = 0) -> ScriptedRunner:
    """From one text on the task fails, but for a share of the rollouts that turns out the other way round."""

    def score(request: RolloutRequest) -> Rollout:
        assert request.skill is not None
        number = int(request.skill.document.text)
        flipped = Random(f"{seed}/{number}/{request.repeat}").random() < noise
        return scored(request, float((number < broken) != flipped))

    return ScriptedRunner(score, str)


def search(scripted: ScriptedRunner, repeats: int = 20, texts: list[Skill] = TEXTS) -> Found:
    return Bisection(texts, TASK, scripted, Metric.HARD, 0.9, repeats).search()


@pytest.mark.parametrize("broken", range(1, 17))
def test_the_text_that_broke_the_task_is_found_wherever_it_is(broken: int) -> None:
    scripted = runner(broken)
    found = search(scripted)
    assert (found.conclusive, found.good, found.bad) == (True, broken - 1, broken)
    assert {probe.text for probe in found.probes} >= {0, 16, broken - 1, broken}
    assert len(found.probes) <= 6
    keys = [(request.skill, request.repeat) for request in scripted.requests]
    assert len(keys) == len(set(keys)), "a rollout was asked for twice"


@pytest.mark.slow
def test_with_noise_a_wrong_text_is_named_no_more_often_than_promised() -> None:
    ends = [search(runner(9, noise=0.1, seed=seed), repeats=40) for seed in range(150)]
    wrong = sum(found.conclusive and found.bad != 9 for found in ends)
    assert wrong <= 15 + 3 * 4
    assert sum(found.conclusive and found.bad == 9 for found in ends) >= 100


def test_a_task_that_nothing_broke_has_no_culprit() -> None:
    for noise in (0.0, 0.5):
        found = search(runner(99, noise=noise))
        assert (found.conclusive, found.shown) == (False, False)
        assert "no loss" in found.reason


def test_a_task_that_got_better_has_no_culprit() -> None:
    improved = ScriptedRunner(
        lambda request: scored(request, float(request.skill is not None and request.skill != TEXTS[0])), str
    )
    assert not search(improved).shown


def test_of_two_texts_one_comparison_tells() -> None:
    found = search(runner(1), texts=TEXTS[:2])
    assert (found.conclusive, found.good, found.bad) == (True, 0, 1)
    assert [probe.passed for probe in found.probes] == [found.probes[0].repeats, 0]


def test_a_loss_in_two_steps_names_one_of_them() -> None:
    def score(request: RolloutRequest) -> Rollout:
        assert request.skill is not None
        number = int(request.skill.document.text)
        return scored(request, 1.0 if number < 4 else 0.5 if number < 12 else 0.0)

    found = Bisection(TEXTS, TASK, ScriptedRunner(score, str), Metric.SOFT, 0.9, 40).search()
    assert found.conclusive
    assert found.bad in {4, 12}


def test_too_few_repeats_are_inconclusive_and_say_so() -> None:
    found = search(runner(9), repeats=2)
    assert (found.conclusive, found.shown) == (False, False)


def test_a_cap_ends_the_search_with_what_is_known_so_far() -> None:
    capped = CappedRunner(runner(9), make_settings(("test", {"max_rollouts": 40})), 0)
    found = Bisection(TEXTS, TASK, capped, Metric.HARD, 0.9, 20).search()
    assert (found.conclusive, found.shown) == (False, True)
    assert "40 rollouts" in found.reason
    assert found.good < 9 <= found.bad


def test_a_task_that_cannot_be_measured_is_no_answer() -> None:
    with pytest.raises(InvalidMeasurementError, match="scripted failure"):
        search(ScriptedRunner(lambda request: scored(request, None), str))
