"""Worlds like users' suites: few tasks, scores of 0 or 1, feedback as verifiers write it, proposers of all kinds."""

from dataclasses import replace
from itertools import product

import pytest

from benchmarks.landscapes.lines import START, rule_line
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite, needed_rules
from benchmarks.landscapes.truth import best_score, document_of, true_score
from benchmarks.landscapes.worlds import WORLDS, World
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Score
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Split, Suite

REAL = [name for name in WORLDS if name.startswith("real-") and name != "real-null"]


def roll(world: World, text: str, suite: Suite, repeats: int = 1, seed: int = 0, night: int = 0) -> list[Rollout]:
    runner = SimulatedRunner(Target(world, seed, night), SimulatedModel(world, seed))
    skill = START.with_document(SkillDocument(text))
    tasks = [task for _, task in suite.splits]
    return list(runner.rollouts([RolloutRequest(skill, task, at) for at, task in product(range(repeats), tasks)]))


def scores(found: list[Rollout]) -> list[Score]:
    return [one.score for one in found if one.score is not None]


def test_the_worlds_of_users_have_the_scores_they_were_planted_with() -> None:
    ends = {
        name: (round(true_score(WORLDS[name], START.document.text), 3), round(best_score(WORLDS[name]), 3))
        for name in ("two-rules", "three-rules", "four-rules", "all-pairs", "diluted", "able", "flips-20", "flips-30")
    }
    assert ends == {
        "two-rules": (0.003, 0.941),
        "three-rules": (0.0, 0.941),
        "four-rules": (0.0, 0.922),
        "all-pairs": (0.1, 0.9),
        "diluted": (0.1, 0.792),
        "able": (0.003, 0.903),
        "flips-20": (0.2, 0.8),
        "flips-30": (0.3, 0.7),
    }


@pytest.mark.parametrize("name", REAL)
def test_a_realistic_mix_can_gain_32_points_however_few_tasks_it_has(name: str) -> None:
    world = WORLDS[name]
    assert true_score(world, START.document.text) == pytest.approx(0.42)
    assert best_score(world) == pytest.approx(0.74)
    assert len(make_suite(world, 3).splits) == world.unsplit
    assert not make_suite(world, 3).tasks(Split.TEST)


def test_a_task_of_several_rules_passes_or_fails_and_has_a_line_of_feedback_for_each_failing_part() -> None:
    world = WORLDS["three-rules"]
    text = document_of((rule_line(0), rule_line(1)))
    found = scores(roll(world, text, make_suite(world)))
    assert {score.value for score in found} <= {0.0, 1.0}
    lines = [score.feedback.splitlines() for score in found if not score.passed]
    assert {len(one) for one in lines} >= {1, 2, 3}
    assert all("symptom S" in line for one in lines for line in one)
    # The same rule fails with the same words in every task, as a check of a real verifier does.
    by_rule = {line.partition("found")[2]: line for one in lines for line in one}
    assert len(by_rule) == len({line for one in lines for line in one}) <= world.rules


def test_the_first_failure_moves_on_when_its_rule_is_there() -> None:
    world = replace(WORLDS["four-rules-first"], known=1.0, unknown=0.0)
    suite = make_suite(world)
    needed = {name: needs for name, (_, needs) in needed_rules(world).items()}
    for one in roll(world, document_of((rule_line(0), rule_line(1))), suite):
        missing = [rule for rule in needed[one.task_id] if rule > 1]
        assert one.score
        assert one.score.feedback.endswith(f'"symptom S{missing[0]:02d}"')
