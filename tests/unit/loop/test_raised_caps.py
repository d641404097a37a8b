"""Higher caps: a run goes on from where its cap ended it."""

from collections.abc import Mapping
from itertools import pairwise

import pytest

from skillopt.loop.events import CapsRaised, Event, HeldOutTestMeasured, ReleaseCheckWithheld, RunEnded, VersionAccepted
from skillopt.loop.optimizer import train
from skillopt.testing import ScriptedRunner
from tests.fakes.constants import settings_with
from tests.unit.loop.test_optimizer import BASE, SKILL, by_words, only, suite, teach

PUBLISHED = {"preset": "paper", "batch_size": 6, "minibatch_size": 6, "epochs": 2, "slow_tasks": 4}


def run(runner: ScriptedRunner, caps: tuple[int | None, ...], values: Mapping[str, object]) -> list[Event]:
    stages = [settings_with({**values, "max_rollouts": cap}) for cap in caps]
    return list(train(SKILL, suite(), stages[0], runner, raised=stages[1:]))


@pytest.mark.parametrize(
    ("values", "caps"),
    [
        (BASE, (25, 120)),
        (BASE, (25, 40, None)),
        (PUBLISHED, (60, 120)),
        (PUBLISHED, (60, 90, None)),
        (PUBLISHED, (45, 300)),
    ],
)
def test_a_run_goes_on_as_if_it_had_not_ended_and_counts_what_it_asks_once(
    caps: tuple[int | None, ...], values: dict[str, object]
) -> None:
    shorter, runner = run(ScriptedRunner(by_words, teach), caps[:-1], values), ScriptedRunner(by_words, teach)
    longer = run(runner, caps, values)
    assert longer[: len(shorter)] == shorter
    assert isinstance(longer[len(shorter)], CapsRaised)
    ends = only(longer, RunEnded)
    assert ends[0].capped
    assert all(first.rollouts <= second.rollouts for first, second in pairwise(ends))
    asked = [(one.skill.digest if one.skill else "", one.task.id, one.repeat) for one in runner.requests]
    assert len(set(asked)) == ends[-1].rollouts
    numbers = [event.number for event in only(longer, VersionAccepted)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert numbers, "the higher cap teaches nothing"


def test_a_cap_is_kept_over_all_that_was_run_before_it_was_raised() -> None:
    for cap in (60, 90, 150):
        runner = ScriptedRunner(by_words, teach)
        ended = only(run(runner, (45, cap), BASE), RunEnded)[-1]
        assert len(runner.requests) == ended.rollouts <= cap


def test_the_held_out_test_is_not_scored_again_for_a_version_that_was_scored_already() -> None:
    events = run(ScriptedRunner(by_words, teach), (200, None), BASE)
    looks = [*only(events, HeldOutTestMeasured), *only(events, ReleaseCheckWithheld)]
    versions = len(only(events, VersionAccepted))
    assert versions
    assert len(looks) <= versions


def test_what_the_first_cap_kept_from_the_held_out_test_is_scored_under_the_higher_one_as_its_first_look() -> None:
    events = run(ScriptedRunner(by_words, teach), (90, 200), BASE)
    (withheld,), (test,) = only(events, ReleaseCheckWithheld), only(events, HeldOutTestMeasured)
    assert events.index(withheld) < events.index(test)
    assert (withheld.look, test.look) == (1, 1)
