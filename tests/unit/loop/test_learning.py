"""Learn and check: all tasks once, one reflection on all failures, the whole patch on failing and passing tasks."""

import re
from collections.abc import Callable, Sequence

import pytest

from skillopt.loop.caps import BudgetReached
from skillopt.loop.events import DraftChanged, EditRefused, EditScreened, Event, PatchTested, TrainMeasured
from skillopt.loop.learning import Learner
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.testing import scored
from tests.fakes.worlds import World, add, named, propose_words, reply_with, words_of

WORDS = ("alpha", "beta", "gamma", "delta")
SIZES = (12, 12, 0)


class Story:
    """A world, its learner, the events and the prompts."""

    def __init__(
        self,
        needs: Sequence[Sequence[str]],
        reply: Callable[[str], str] = propose_words,
        settings: dict[str, object] | None = None,
        world: type[World] = World,
        **values: object,
    ) -> None:
        self.place = world(named(needs, SIZES), **values)  # type: ignore[arg-type]  # a world
        self.prompts: list[str] = []
        self._reply = reply
        self.run = self.place.training(self._answer, SIZES, **(settings or {}))
        self.learner = Learner(self.run)

    def _answer(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self._reply(prompt)

    def learn(self) -> list[Event]:
        return list(self.learner.learn())

    @property
    def said(self) -> set[str]:
        return set(words_of(self.run.draft.skill)) - {"keep"}


def test_every_task_runs_once_before_one_reflection_mends_all_that_they_show() -> None:
    story = Story([(word,) for word in WORDS])
    events = story.learn()
    assert story.said == set(WORDS)
    assert len(story.prompts) == 1
    assert [type(event) for event in events[:4] if isinstance(event, TrainMeasured | PatchTested | DraftChanged)] == [
        TrainMeasured,
        PatchTested,
        DraftChanged,
    ]
    first = [request.task.id for request in story.place.requests[:12]]
    assert sorted(first) == sorted(name for name in story.place.needs if name.startswith("train"))


def test_tasks_that_show_one_failure_at_a_time_are_solved_patch_by_patch() -> None:
    story = Story([("alpha", "beta", "gamma")], first_only=True)
    story.learn()
    assert story.said == {"alpha", "beta", "gamma"}
    assert ["missing beta" in prompt for prompt in story.prompts] == [False, True, False]


def test_a_line_that_moves_nothing_waits_for_the_partner_that_the_next_patch_brings() -> None:
    def one_at_a_time(prompt: str) -> str:
        said = re.findall(r"^- (\w+)$", prompt, re.MULTILINE)
        word = "beta" if "alpha" in said else "alpha"
        return reply_with(add(word, *(f"train-{at}" for at in range(12))))

    story = Story([("alpha+beta",)], one_at_a_time)
    story.learn()
    assert story.said == {"alpha", "beta"}


def test_a_line_that_breaks_tasks_that_passed_is_taken_out_and_the_optimizer_is_told() -> None:
    def harmful(_: str) -> str:
        return reply_with(add("alpha", "train-0", "train-2"), add("poison", "train-0", "train-4"))

    story = Story([("alpha",), ()], harmful, crashing=frozenset({"poison"}))
    story.learn()
    assert story.said == {"alpha"}


class AlphaSpoils(World):
    """Two tasks that `beta` mends fail beside `alpha`."""

    def rollout(self, request: RolloutRequest) -> Rollout:
        if "alpha" in words_of(request.skill) and request.task.id in {"train-1", "train-4"}:
            self.requests.append(request)
            return scored(request, 0.0, "missing beta")
        return super().rollout(request)


def test_a_line_beside_which_tasks_fail_that_others_answer_goes_and_is_worded_anew() -> None:
    def reply(prompt: str) -> str:
        told = "fails beside it and passes without it" in prompt
        return propose_words(prompt.replace("missing alpha|alef", "missing alef") if told else prompt)

    story = Story([("alpha|alef",), ("beta",), ("gamma",)], reply, world=AlphaSpoils)
    events = story.learn()
    assert [event.edit.content for event in events if isinstance(event, EditRefused)] == ["- alpha"]
    assert story.said == {"alef", "beta", "gamma"}
    assert not list(story.learner.name_failing())


class AlphaAboveBeta(World):
    """Tasks that `beta` mends fail where `alpha` stands below it."""

    def rollout(self, request: RolloutRequest) -> Rollout:
        text = request.skill.document.body if request.skill else ""
        if "beta" in self.needs[request.task.id] and -1 < text.find("- beta") < text.find("- alpha"):
            self.requests.append(request)
            return scored(request, 0.0, "missing beta")
        return super().rollout(request)


def test_a_line_that_breaks_what_an_earlier_one_mends_is_put_above_it() -> None:
    def beta_first(prompt: str) -> str:
        return propose_words(prompt.replace("missing alpha", "lack of alpha") if "- beta" not in prompt else prompt)

    story = Story([("alpha",), ("beta",)], beta_first, world=AlphaAboveBeta)
    story.learn()
    assert re.findall(r"^- (\w+)$", story.run.draft.skill.document.body, re.MULTILINE) == ["keep", "alpha", "beta"]
    assert not list(story.learner.name_failing())


class OwnWords(World):
    """Every task shows its failure in words of its own, though one word mends all."""

    def rollout(self, request: RolloutRequest) -> Rollout:
        self.requests.append(request)
        passed = "alpha" in words_of(request.skill)
        return scored(request, float(passed), "" if passed else f"missing {request.task.id}")


def test_what_failed_under_an_earlier_draft_runs_again_before_it_is_given_up() -> None:
    story = Story([("alpha",)], lambda _: reply_with(add("alpha", "train-0", "train-1")), world=OwnWords)
    story.learn()
    assert story.said == {"alpha"}
    assert not list(story.learner.name_failing())


def test_a_patch_that_moves_nothing_is_tried_a_few_times_and_given_up() -> None:
    story = Story([("alpha",)], lambda _: reply_with(add("omega", "train-0")))
    story.learn()
    assert not story.said
    assert len(story.prompts) <= 4
    assert story.learner.failing == {}


def test_whoever_has_no_edit_for_a_prompt_is_asked_another_and_shorter_one() -> None:
    def overwhelmed(prompt: str) -> str:
        return reply_with() if len(set(re.findall(r"train-\d+", prompt))) > 3 else propose_words(prompt)

    story = Story([(word,) for word in WORDS], overwhelmed)
    story.learn()
    assert story.said <= set(WORDS)
    assert story.said
    assert len(set(story.prompts)) == len(story.prompts)


def test_where_nothing_fails_nothing_is_asked() -> None:
    story = Story([()])
    (measured,) = story.learn()
    assert isinstance(measured, TrainMeasured)
    assert measured.tally.passed == 1
    assert not story.prompts


@pytest.mark.parametrize("cap", [22, 24, 30])
def test_a_cap_leaves_what_helped_in_the_draft(cap: int) -> None:
    story = Story([("alpha", "beta", "gamma")], settings={"max_rollouts": cap}, first_only=True)
    with pytest.raises(BudgetReached):
        story.learn()
    assert "alpha" in story.said


def test_what_nothing_needs_is_left_out_at_the_end() -> None:
    def with_idle(_: str) -> str:
        names = [f"train-{at}" for at in range(12)]
        return reply_with(add("alpha", *names), add("idle", *names))

    story = Story([("alpha",)], with_idle)
    screened = {event.edit.id: event.kept for event in story.learn() if isinstance(event, EditScreened)}
    assert sorted(screened.values()) == [False, True]
    assert story.said == {"alpha"}


def test_tasks_that_fail_at_the_end_are_named_with_their_reasons() -> None:
    story = Story([("alpha",), ("never said!",)], lambda _: reply_with(add("alpha", "train-0", "train-2")))
    story.learn()
    ((reason, names),) = next(story.learner.name_failing()).reasons
    assert "train-1" in names
    assert "no edit" in reason or "failed under" in reason
