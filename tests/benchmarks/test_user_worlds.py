"""Worlds like users' suites: few tasks, scores of 0 or 1, feedback as verifiers write it, proposers of all kinds."""

from dataclasses import replace
from itertools import product

import pytest

from benchmarks.landscapes.lines import START, TEMPTING, memo_line, rule_line
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite, needed_rules
from benchmarks.landscapes.truth import best_score, document_of, true_score, true_score_on
from benchmarks.landscapes.worlds import WORLDS, World
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Score
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Split, Suite


def roll(world: World, text: str, suite: Suite, repeats: int = 1, seed: int = 0, night: int = 0) -> list[Rollout]:
    runner = SimulatedRunner(Target(world, seed, night), SimulatedModel(world, seed))
    skill = START.with_document(SkillDocument(text))
    tasks = [task for _, task in suite.splits]
    return list(runner.rollouts([RolloutRequest(skill, task, at) for at, task in product(range(repeats), tasks)]))


def scores(found: list[Rollout]) -> list[Score]:
    return [one.score for one in found if one.score is not None]


def test_the_worlds_of_users_have_the_scores_they_were_planted_with() -> None:
    for names, ends in {
        "two-rules": (0.003, 0.941),
        "three-rules": (0.0, 0.941),
        "four-rules": (0.0, 0.922),
        "all-pairs cell": (0.1, 0.9),
        "diluted": (0.1, 0.792),
        "able": (0.003, 0.903),
        "flips-20": (0.2, 0.8),
        "flips-30": (0.3, 0.7),
        "real-8 real-12 real-20 real-30 real-40 wordings-40": (0.42, 0.74),
        "null-12 null-20 null-split null-harm": (0.42, 0.42),
        "clash-12 clash-20 clash-40": (0.202, 0.95),
        "memo tempting": (0.08, 0.92),
        "broad": (0.5, 0.95),
        "general": (0.45, 0.888),
        "mixed-12": (0.16, 0.84),
        "flaky-24": (0.15, 0.85),
    }.items():
        for name in names.split():
            world = WORLDS[name]
            assert (round(true_score(world, START.document.text), 3), round(best_score(world), 3)) == ends, name


def test_every_task_of_a_suite_without_splits_is_there() -> None:
    suite = make_suite(WORLDS["real-12"], 3)
    assert len(suite.splits) == 12
    assert not suite.tasks(Split.TEST)


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


def test_a_line_that_memorises_makes_its_task_pass_and_no_other() -> None:
    world, text = replace(WORLDS["memo"], known=1.0, unknown=0.0), document_of((memo_line("train-003"),))
    assert [one.task_id for one in roll(world, text, make_suite(world)) if one.score and one.score.passed] == [
        "train-003"
    ]
    assert true_score_on(world, 0, ["train-003", "train-004"], text) == 0.5


@pytest.mark.parametrize(
    ("name", "lines", "score"),
    [
        ("clash-20", (rule_line(0), rule_line(0, 1), rule_line(1)), 0.25),
        ("tempting", (rule_line(2), rule_line(3), rule_line(1, TEMPTING)), (1 + 0.3 + 0.3) / 4),
        ("cell", (rule_line(1), rule_line(2)), 0.0),
        ("cell", (rule_line(1), rule_line(0)), 0.5),
    ],
)
def test_lines_do_together_what_they_do_not_do_alone(name: str, lines: tuple[str, ...], score: float) -> None:
    world = replace(WORLDS[name], known=1.0, unknown=0.0, free=0.0, rules=4, test=40)
    assert true_score(world, document_of(lines)) == pytest.approx(score)
