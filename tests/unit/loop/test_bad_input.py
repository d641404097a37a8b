"""Suites, proposers and targets that nothing can be learned from: a run of them ends in words, and soon."""

import json
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, count, repeat

import pytest

from skillopt.errors import InvalidMeasurementError, SuiteError, UnreadRepliesError
from skillopt.loop.events import DraftGraded, Event, RunEnded, TasksSetAside, VersionAccepted
from skillopt.loop.optimizer import train
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import make_settings
from skillopt.skills.edits import Edit, Op
from skillopt.testing import ScriptedRunner, scored
from tests.fakes.worlds import SKILL, World, add, named, propose_words, reply_with

SIZES = (12, 12, 0)
FULL = {"preset": "default"}
Reply = Callable[[str], str]


def ended(
    needs: Sequence[Sequence[str]], reply: Reply = propose_words, sizes: Sequence[int] = SIZES, **values: object
) -> tuple[list[Event], RunEnded, ScriptedRunner]:
    """Train without any cap to the end."""
    place = World(named(needs, sizes), **values)  # type: ignore[arg-type]  # a world
    runner = place.runner(reply)
    events = list(train(SKILL, place.suite(sizes), make_settings(("test", FULL)), runner))
    last = events[-1]
    assert isinstance(last, RunEnded)
    assert last.rollouts == len(runner.requests)
    return events, last, runner


def accepted(events: Sequence[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, VersionAccepted)]


@pytest.mark.parametrize("sizes", [(1, 1, 0), (1, 1, 1)])
def test_one_task_to_learn_from_and_one_to_judge_by_end_in_a_graded_draft(sizes: Sequence[int]) -> None:
    events, last, runner = ended([("alpha",)], sizes=sizes)
    assert not accepted(events)
    assert [event for event in events if isinstance(event, DraftGraded)]
    assert last.reason == "all train tasks pass"
    assert len(runner.requests) <= 40


@pytest.mark.parametrize("sizes", [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
def test_a_suite_without_tasks_to_learn_from_or_to_judge_by_is_refused_before_anything_is_run(
    sizes: Sequence[int],
) -> None:
    place = World(named([("alpha",)], sizes))
    with pytest.raises(SuiteError, match="expected tasks to learn"):
        list(train(SKILL, place.suite(sizes), make_settings(("test", FULL)), place.runner(propose_words)))
    assert not place.requests


def still_failing(events: Iterable[Event]) -> int:
    """Count the train tasks that a run names as failing at its end."""
    return sum(len(names) for event in events if isinstance(event, TasksSetAside) for _, names in event.reasons)


def test_a_suite_of_which_no_task_ever_passes_names_them_and_stops() -> None:
    fresh = count()
    events, last, runner = ended(
        [("what nothing says",)], lambda _: reply_with(add(f"w{next(fresh)}", "train-0", "train-5"))
    )
    (left,) = [event for event in events if isinstance(event, TasksSetAside)]
    assert sorted(name for _, names in left.reasons for name in names) == sorted(f"train-{at}" for at in range(12))
    assert last.reason == "no further edit helped"
    assert len(runner.prompts) <= 40
    assert len(runner.requests) <= 150
    assert not [event for event in events if isinstance(event, DraftGraded)]


def test_verifiers_that_all_are_broken_are_an_invalid_measurement_with_their_reason() -> None:
    with pytest.raises(InvalidMeasurementError, match="baseline: only 0 of 12"):
        ended([("alpha",)], dead=frozenset(named([()], SIZES)))


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "delete", "anchor": "# Words\n\n## Rules\n\n- keep"},
        {"op": "delete", "anchor": "- keep"},
    ],
)
def test_a_patch_that_deletes_the_whole_body_is_refused_or_dropped(edit: dict[str, object]) -> None:
    reply = json.dumps({"edits": [edit | {"tasks": ["train-0", "train-1"]}]})
    events, _, runner = ended([("alpha",)], lambda _: reply)
    assert not accepted(events)
    assert not [event for event in events if isinstance(event, DraftGraded)]
    assert len(runner.requests) <= 120


@pytest.mark.parametrize(
    ("reply", "calls"),
    [
        (reply_with(add("useless", "train-0", "train-1")), 13),
        (reply_with(), 4),
        (reply_with(Edit("long", Op.REWRITE, section="Rules", content="- word\n" * 2_000, tasks=("train-0",))), 6),
    ],
    ids=["repeats one edit", "returns an empty list", "rewrites everything at length"],
)
def test_a_proposer_that_brings_nothing_is_not_asked_for_ever(reply: str, calls: int) -> None:
    events, last, runner = ended([("alpha",)], lambda _: reply)
    assert not accepted(events)
    assert still_failing(events) == 12
    assert last.calls == len(runner.prompts) <= calls


@pytest.mark.parametrize(
    "reply",
    [
        "What they lack is a rule about words.",
        json.dumps({"edits": [{"op": "rewrite", "section": "Rules", "content": "", "tasks": ["train-0"]}]}),
    ],
    ids=["prose", "edits without text"],
)
def test_a_proposer_of_which_no_reply_can_be_read_is_an_error_with_the_count_and_its_words(reply: str) -> None:
    with pytest.raises(UnreadRepliesError, match=r"\((\d+) of \1\)") as raised:
        ended([("alpha",)], lambda _: reply)
    assert reply[:40] in str(raised.value)
    assert len(raised.value.prompts) <= 18


def test_one_reply_that_can_be_read_is_enough_for_a_run_to_end_as_ever() -> None:
    replies = chain([reply_with()], repeat("prose"))
    events, last, _ = ended([("alpha",)], lambda _: next(replies))
    assert still_failing(events) == 12
    assert last.unread


def test_a_run_whose_newest_text_fails_train_tasks_does_not_say_that_all_pass() -> None:
    draw = random.Random(10)

    def flips(request: RolloutRequest) -> Rollout:
        return scored(request, float(draw.random() < 0.15), "missing alpha")

    runner = ScriptedRunner(flips, lambda _: reply_with(add("alpha", "train-0", "train-1")))
    suite = World(named([("alpha",)], SIZES)).suite(SIZES)
    events = list(train(SKILL, suite, make_settings(("test", FULL)), runner))
    assert isinstance(events[-1], RunEnded)
    assert events[-1].reason == "no further edit helped"
    assert still_failing(events) > 0
