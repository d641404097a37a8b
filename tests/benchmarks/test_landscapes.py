"""Worlds with planted truth: what is drawn agrees with what is computed, and both runners with each other."""

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

import pytest

from benchmarks.landscapes.lines import START, block_line, harm_line, idle_line, rule_line
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import broken_tasks, make_suite
from benchmarks.landscapes.truth import best_document, best_score, document_of, start_of, true_score
from benchmarks.landscapes.worlds import WORLDS, World
from skillopt.execution.drivers import Drivers
from skillopt.execution.runner import RecordedRunner, RunObserver
from skillopt.loop.events import Event, VersionAccepted
from skillopt.loop.optimizer import train
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Metric, Settings, make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.storage.ledger import Ledger
from skillopt.tasks import Split
from skillopt.testing import InlineExecutor

pytestmark = pytest.mark.slow

NAMES = sorted(WORLDS)
# Some rules, one in its last wording, one put out of force, pairs and rivals half and whole, and lines of every kind.
MIXED = document_of(
    (
        *(rule_line(rule) for rule in (0, 1, 2, 4, 5, 6, 8, 13)),
        rule_line(3, 2),
        block_line(8),
        harm_line(1),
        harm_line(2),
        *(idle_line(number) for number in range(4)),
    )
)


def skill(text: str) -> Skill:
    return START.with_document(SkillDocument(text))


def held_out(world: World, text: str, repeats: int) -> Iterator[RolloutRequest]:
    for repeat, task in product(range(repeats), make_suite(world).tasks(Split.TEST)):
        yield RolloutRequest(skill(text), task, repeat)


def runner(world: World, seed: int = 0) -> SimulatedRunner:
    return SimulatedRunner(Target(world, seed), SimulatedModel(world, seed))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("document", ["start", "mixed", "best"])
def test_the_true_score_is_the_mean_of_many_rollouts(name: str, document: str) -> None:
    # Where the suite states no splits its held-out tasks are in no suite, yet they are what the truth is about.
    world = replace(WORLDS[name], unsplit=0)
    text = {"start": START.document.text, "mixed": MIXED, "best": best_document(world)}[document]
    rollouts = runner(world).rollouts(list(held_out(world, text, 40)))
    for metric in Metric:
        assert_expected([rollout for rollout in rollouts if rollout.score], metric, true_score(world, text, metric))


def assert_expected(rollouts: "list[Rollout] | tuple[Rollout, ...]", metric: Metric, expected: float) -> None:
    values = [metric.of(rollout.score) for rollout in rollouts if rollout.score is not None]
    # Four standard errors, with a floor of five rollouts where hardly any passes or fails, and nothing shows a spread.
    error = 4 * stdev(values) / math.sqrt(len(values))
    rare = 5 / len(values) if 0 < expected < 0.01 or 0.99 < expected < 1 else 1e-9
    assert fmean(values) == pytest.approx(expected, abs=max(error, rare))


@pytest.mark.parametrize("name", NAMES)
def test_no_single_line_more_or_less_betters_the_best_document(name: str) -> None:
    world = WORLDS[name]
    best = best_document(world)
    lines = [rule_line(rule, way) for rule in range(world.rules) for way in range(world.wordings)]
    more = [best + f"- {line}\n" for line in (*lines, block_line(0), harm_line(0), idle_line(0))]
    less = [best.replace(f"- {line}\n", "") for line in lines]
    assert max(true_score(world, text) for text in (*more, *less)) <= best_score(world) + 1e-9


def test_the_worlds_have_the_scores_they_were_planted_with() -> None:
    ends = {
        name: (true_score(world, START.document.text), best_score(world))
        for name, world in WORLDS.items()
        if name in {"distractors", "noise-free", "null", "strong", "weak", "small", "interacting", "rare"}
    }
    assert {name: (round(low, 3), round(high, 3)) for name, (low, high) in ends.items()} == {
        "distractors": (0.1, 0.9),
        "noise-free": (0.0, 1.0),
        "null": (0.6, 0.6),
        "strong": (0.05, 0.95),
        "weak": (0.45, 0.75),
        "small": (0.5, 0.8),
        "interacting": (0.1, 0.767),
        "rare": (0.1, 0.9),
    }


def test_a_rollout_depends_on_seed_skill_task_and_repeat_alone() -> None:
    world = WORLDS["distractors"]
    requests = list(held_out(world, MIXED, 2))
    forward = runner(world).rollouts(requests)
    assert runner(world).rollouts(requests[::-1])[::-1] == forward
    assert runner(world, seed=1).rollouts(requests) != forward
    half = len(requests) // 2
    passed = [rollout.score.passed for rollout in forward if rollout.score]
    assert passed[:half] != passed[half:]


def test_only_replacing_the_line_that_spoils_a_rule_by_the_rule_betters_the_first_document() -> None:
    world = WORLDS["spoiled"]
    start = start_of(world).document.text
    added = f"{start}- {rule_line(0)}\n"
    deleted = start.replace(f"- {block_line(0)}\n", "")
    replaced = start.replace(block_line(0), rule_line(0))
    assert start.count("avoid RULE-") == 4
    low = true_score(world, start)
    assert [true_score(world, text) for text in (added, deleted)] == [low, low]
    assert true_score(world, replaced) == pytest.approx(low + 0.8 / 12)


def trained(world: World, text: str, repeats: int) -> list[RolloutRequest]:
    tasks = make_suite(world).tasks(Split.TRAIN)
    return [RolloutRequest(skill(text), task, repeat) for repeat, task in product(range(repeats), tasks)]


def misled(world: World) -> list[str]:
    return [rule_line(world.rules + number) for number in range(world.stuck)]


@pytest.mark.parametrize("parts", [1, 3])
def test_a_stuck_task_passes_under_no_document_and_shows_a_symptom_that_no_rule_mends(parts: int) -> None:
    world = replace(WORLDS["broken-verifiers"], parts=parts)
    obeying = best_document(world) + "".join(f"- {line}\n" for line in misled(world))
    for text in (START.document.text, best_document(world), obeying):
        found = runner(world).rollouts(trained(world, text, 10))
        stuck = [one.score for one in found if one.task_id in broken_tasks(world) and one.score]
        assert len(stuck) == 10 * world.stuck
        assert not any(score.passed for score in stuck)
        assert {f"S{score.feedback.partition('symptom S')[2][:2]}" for score in stuck} == {
            f"S{number:02d}" for number in range(12, 18)
        }
    assert true_score(world, obeying) == best_score(world)


def test_a_failed_rollout_is_tried_again_by_a_rerun_and_not_before() -> None:
    world = replace(WORLDS["errors"], errors=0.5)
    double, requests = runner(world), list(held_out(world, MIXED, 1))
    first = double.rollouts(requests)
    assert double.rollouts(requests) == first
    double.begin_again()
    again = double.rollouts(requests)
    assert sum(rollout.score is None for rollout in again) < sum(rollout.score is None for rollout in first)
    double.keep_failures()
    double.begin_again()
    assert double.rollouts(requests) == again


def drive(world: World, settings: Settings, chosen: "SimulatedRunner | RecordedRunner") -> list[Event]:
    events = []
    for event in train(START, make_suite(world), settings, chosen):
        chosen.keep_failures()
        events.append(event)
    return events


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("harmful-deletes", {}),
        ("partial", {"parts": 2}),
        ("errors", {"errors": 0.02}),
        ("broken-verifiers", {}),
    ],
)
def test_the_recorded_runner_with_real_verifiers_sees_the_same_run(
    tmp_path: Path, name: str, changes: dict[str, float]
) -> None:
    world = replace(WORLDS[name], test=12, **changes)  # type: ignore[arg-type]  # the values fit the fields they name
    settings = make_settings(("test", {"preset": "paper", "max_rollouts": 400}))
    with closing(Ledger.open(tmp_path)) as ledger:
        drivers = Drivers(Target(world, 3), SimulatedModel(world, 3))
        real = drive(world, settings, RecordedRunner(ledger, "run", drivers, InlineExecutor(), RunObserver()))
    assert real == drive(world, settings, runner(world, 3))
    assert any(isinstance(event, VersionAccepted) for event in real)
