"""Worlds with planted truth: what is drawn agrees with what is computed, and both runners with each other."""

import math
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import product
from pathlib import Path
from statistics import fmean, stdev

import pytest

from benchmarks.landscapes.lines import START, TEMPTING, block_line, harm_line, idle_line, rule_line
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.runner import SimulatedRunner
from benchmarks.landscapes.target import Target
from benchmarks.landscapes.tasks import make_suite
from benchmarks.landscapes.truth import document_of, true_score
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

NAMES = sorted(WORLDS)
# Rules, one of them in its last wording, one in two, one that goes too far and one put out of force,
# pairs half and whole, and lines of every kind.
MIXED = document_of(
    (
        *(rule_line(rule) for rule in (0, 1, 2, 4, 5, 6, 8, 13)),
        *(rule_line(rule, wording) for rule, wording in ((3, 2), (1, 1), (5, TEMPTING))),
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
def test_the_true_score_is_the_mean_of_many_rollouts(name: str) -> None:
    # Where the suite states no splits its held-out tasks are in no suite, yet they are what the truth is about.
    world = replace(WORLDS[name], unsplit=0)
    rollouts = runner(world).rollouts(list(held_out(world, MIXED, 40)))
    for metric in Metric:
        assert_expected([rollout for rollout in rollouts if rollout.score], metric, true_score(world, MIXED, metric))


def assert_expected(rollouts: "list[Rollout] | tuple[Rollout, ...]", metric: Metric, expected: float) -> None:
    values = [metric.of(rollout.score) for rollout in rollouts if rollout.score is not None]
    # Four standard errors, with a floor of five rollouts where hardly any passes or fails, and nothing shows a spread.
    error = 4 * stdev(values) / math.sqrt(len(values))
    rare = 5 / len(values) if 0 < expected < 0.01 or 0.99 < expected < 1 else 1e-9
    assert fmean(values) == pytest.approx(expected, abs=max(error, rare))


def drive(world: World, settings: Settings, chosen: "SimulatedRunner | RecordedRunner") -> list[Event]:
    events = []
    for event in train(START, make_suite(world), settings, chosen):
        chosen.keep_failures()
        events.append(event)
    return events


@pytest.mark.parametrize("changes", [{"parts": 2}, {"errors": 0.02}])
def test_the_recorded_runner_with_real_verifiers_sees_the_same_run(tmp_path: Path, changes: dict[str, float]) -> None:
    world = replace(WORLDS["harmful"], test=12, **changes)  # type: ignore[arg-type]  # the values fit the fields they name
    settings = make_settings(("test", {"preset": "paper", "max_rollouts": 400}))
    with closing(Ledger.open(tmp_path)) as ledger:
        drivers = Drivers(Target(world, 3), SimulatedModel(world, 3))
        real = drive(world, settings, RecordedRunner(ledger, "run", drivers, RunObserver(), InlineExecutor()))
    assert real == drive(world, settings, runner(world, 3))
    assert any(isinstance(event, VersionAccepted) for event in real)
