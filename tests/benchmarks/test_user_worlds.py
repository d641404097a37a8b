"""Worlds like users' suites: few tasks, scores of 0 or 1, feedback as verifiers write it, proposers of all kinds."""

from dataclasses import replace

import pytest

from benchmarks.landscapes.lines import START, TEMPTING, memo_line, rule_line
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import best_score, document_of, true_score, true_score_on
from benchmarks.landscapes.worlds import WORLDS, World
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Suite


def roll(world: World, text: str, suite: Suite) -> list[Rollout]:
    runner = SimulatedRunner(Target(world, 0), SimulatedModel(world, 0))
    skill = START.with_document(SkillDocument(text))
    return list(runner.rollouts([RolloutRequest(skill, task) for _, task in suite.splits]))


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
