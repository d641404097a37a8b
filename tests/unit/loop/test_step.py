"""One step: reflect on failures, test the patch, go deeper on what is left, ablate."""

import json
import re
from collections.abc import Callable, Sequence
from itertools import chain, count

import pytest

from skillopt.loop.caps import BudgetReached
from skillopt.loop.course import go
from skillopt.loop.events import EditRefused, EditScreened, Event, PatchTested, StepFailed, TrainMeasured
from skillopt.loop.optimizer import take_step
from skillopt.loop.training_run import TrainingRun
from tests.fakes.worlds import World, add, named, propose_words, reply_with, words_of

WORDS = ("alpha", "beta", "gamma", "delta")
SIZES = (12, 12, 0)


def begun(
    needs: Sequence[Sequence[str]],
    reply: Callable[[str], str] = propose_words,
    *,
    first_only: bool = False,
    **values: object,
) -> tuple[World, TrainingRun, list[str]]:
    """Return a world, a run before its first step, and the prompts of its proposer."""
    place, prompts = World(named(needs, SIZES), first_only=first_only), list[str]()

    def answer(prompt: str) -> str:
        prompts.append(prompt)
        return reply(prompt)

    return place, place.training(answer, SIZES, **values), prompts


def step(run: TrainingRun, number: int = 1) -> list[Event]:
    return list(go([take_step(run, run.policy, number)], run.answers))


def said(run: TrainingRun) -> set[str]:
    return set(words_of(run.draft.skill)) - {"keep"}


def test_one_reflection_mends_all_that_the_failures_show() -> None:
    _, run, prompts = begun([(word,) for word in WORDS])
    events = step(run)
    assert said(run) == set(WORDS)
    assert len(prompts) == 1
    assert [type(event) for event in events if isinstance(event, TrainMeasured | PatchTested)] == [
        TrainMeasured,
        PatchTested,
    ]
    assert all(event.kept for event in events if isinstance(event, EditScreened))


def test_tasks_that_show_one_failure_at_a_time_are_solved_in_one_chain() -> None:
    _, run, prompts = begun([("alpha", "beta", "gamma")], first_only=True)
    step(run)
    assert said(run) == {"alpha", "beta", "gamma"}
    assert len(prompts) == 3
    assert ["missing beta" in prompt for prompt in prompts] == [False, True, False]


def test_a_chain_ends_with_as_many_patch_tests_as_are_set_and_the_next_step_goes_on_from_there() -> None:
    _, run, prompts = begun([("alpha", "beta", "gamma")], first_only=True, patch_tests=2)
    step(run)
    assert said(run) == {"alpha", "beta"}
    assert len(prompts) == 2
    step(run, 2)
    assert said(run) == {"alpha", "beta", "gamma"}


def test_a_prompt_shows_and_counts_only_how_tasks_went_with_the_very_text_that_it_shows() -> None:
    ran = list[int]()

    def reply(prompt: str) -> str:
        ran.append(len(place.requests))
        found = json.loads(propose_words(prompt))
        useless = {"op": "add", "section": "Rules", "content": f"- useless{len(ran)}", "tasks": ["train-1"]}
        return json.dumps({"edits": [*found["edits"][:1], useless]})

    place, run, prompts = begun([("alpha", "beta", "gamma"), ("delta", "gamma")], reply, first_only=True)
    for number in (1, 2):
        step(run, number)
    assert len(prompts) > 3
    for prompt, count_of_runs in zip(prompts, ran, strict=True):
        skill = re.search(r"<<<skill (\w+)\n(.*?)\nskill \1>>>", prompt, re.DOTALL)
        named = set(re.findall(r"\btrain-\d+\b", prompt.partition("## Evidence")[2]))
        assert skill
        assert named
        texts = [(one.task.id, one.skill.text) for one in place.requests[:count_of_runs] if one.skill]
        assert {dict(texts)[name] for name in named} == {skill[2]}
        assert f"of {len({name for name, text in texts if text == skill[2]})} tasks" in prompt


def test_a_patch_that_moves_nothing_ends_the_step_in_words() -> None:
    place, run, prompts = begun([("alpha",)], lambda _: reply_with(add("omega", "train-0")))
    events = step(run)
    assert isinstance(events[-1], StepFailed)
    assert "edit was left" in events[-1].reason
    assert not said(run)
    assert len(prompts) == 1
    assert run.policy.idle == 1
    assert run.policy.dry == 1
    assert len(place.requests) <= 16 + 8


def test_where_nothing_fails_nothing_is_asked() -> None:
    _, run, prompts = begun([()])
    (measured,) = step(run)
    assert isinstance(measured, TrainMeasured)
    assert measured.tally.passed == 1
    assert not prompts
    assert run.policy.idle == 1


def test_a_step_that_a_cap_ends_leaves_what_helped_in_the_draft() -> None:
    _, run, _ = begun([("alpha", "beta", "gamma")], first_only=True, max_rollouts=22)
    with pytest.raises(BudgetReached):
        list(chain.from_iterable(step(run, number) for number in range(1, 9)))
    assert "alpha" in said(run)


def test_a_symptom_that_is_left_counts_as_tried_once_for_each_reflection_and_an_answered_one_does_not() -> None:
    _, run, _ = begun(
        [("alpha",), ("omega!",)], lambda _: reply_with(add("alpha", "train-0", "train-2"), add("x", "train-1"))
    )
    step(run)
    assert said(run) == {"alpha"}
    assert run.policy.tries["missing omega!"] >= 1
    assert run.policy.tries["missing alpha"] == 0


def test_under_much_noise_edits_are_taken_up_together_without_a_test_of_each() -> None:
    _, run, _ = begun([(word,) for word in WORDS])
    run.policy.evidence.rates.reruns, run.policy.evidence.rates.gone, run.policy.epochs.pooled = 40.0, 18.0, True
    events = step(run)
    assert said(run) == set(WORDS)
    assert not [event for event in events if isinstance(event, EditScreened | PatchTested)]


def test_no_more_lines_wait_than_one_verdict_can_carry_and_the_rest_is_told() -> None:
    fresh = count()
    _, run, _ = begun([("alpha",)], lambda _: reply_with(*(add(f"w{next(fresh)}", "train-0") for _ in range(20))))
    run.policy.epochs.pooled = True
    refused = [event for number in (1, 2, 3) for event in step(run, number) if isinstance(event, EditRefused)]
    assert len(run.draft.lines) == 24
    assert refused
    assert all("24 edits wait" in event.reason for event in refused)
