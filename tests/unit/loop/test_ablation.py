"""Ablation: every line that stays is one whose absence breaks something."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.loop import ablation, patch_test
from skillopt.loop.ablation import Ablated, ablation_reason
from skillopt.loop.draft import Line
from skillopt.loop.learner import Learner
from skillopt.loop.patch_test import PatchTest
from tests.fakes.worlds import World, drive, line, missing, pick, words_of


def run_patch_test(learner: Learner, *lines: Sequence[Line]) -> PatchTest:
    return drive(learner, patch_test.run_patch_test(learner, *lines))


def ablate(learner: Learner, lines: Sequence[Line], good: Sequence[Line], moved: set[str]) -> list[Ablated]:
    return drive(learner, ablation.ablate(learner, lines, good, moved))


WORDS = ("alpha", "beta", "gamma", "delta")


def world(*needs: str, tasks: int = 12, **values: object) -> World:
    """Return tasks that each need one of some words, in turn."""
    return World({f"train-{at}": (needs[at % len(needs)],) for at in range(tasks)}, **values)  # type: ignore[arg-type]  # a world


def for_need(place: World, word: str, need: str, most: int = 99) -> Line:
    """Return the line that says a word, for tasks that show a need."""
    names = [name for name, needs in place.needs.items() if need in needs]
    return line(word, {name: [need] for name in names[:most]})


def learn(learner: Learner, lines: Sequence[Line]) -> tuple[PatchTest, list[Ablated]]:
    """Test a patch and ablate."""
    drive(learner, learner.run(learner.draft.skill, learner.tasks))
    test = run_patch_test(learner, [], [], lines)
    return test, ablate(learner, lines, test.helped, test.moved)


def kept(found: Sequence[Ablated]) -> set[str]:
    return {one.test.line.edit.id for one in found if one.kept}


def test_what_something_needs_stays() -> None:
    place = world(*WORDS)
    learner = place.learner()
    _, found = learn(learner, [for_need(place, word, word) for word in WORDS])
    assert kept(found) == set(WORDS)
    assert words_of(learner.draft.skill) == {"keep", *WORDS}


def test_what_nothing_needs_goes_with_the_words_that_say_so() -> None:
    place = world("alpha")
    learner = place.learner()
    _, found = learn(learner, [for_need(place, "alpha", "alpha"), for_need(place, "omega", "alpha")])
    assert kept(found) == {"alpha"}
    assert words_of(learner.draft.skill) == {"keep", "alpha"}
    (gone,) = [one for one in found if not one.kept]
    assert ablation_reason(gone).endswith("nothing fails without it")


def test_of_two_lines_that_say_the_same_one_stays() -> None:
    place = world("alpha|alias")
    learner = place.learner()
    _, found = learn(learner, [for_need(place, word, "alpha|alias") for word in ("alpha", "alias")])
    assert len(found) == 2
    assert len(kept(found)) == 1
    assert len(words_of(learner.draft.skill) & {"alpha", "alias"}) == 1


def test_both_lines_of_a_rule_that_works_only_in_pairs_stay() -> None:
    place = world("alpha+beta")
    learner = place.learner()
    _, found = learn(learner, [for_need(place, word, "alpha+beta") for word in ("alpha", "beta")])
    assert kept(found) == {"alpha", "beta"}


def test_a_line_that_one_task_cites_is_left_out_before_it_stays() -> None:
    place = world("alpha")
    learner = place.learner()
    _, (found,) = learn(learner, [line("alpha", {"train-0": ["alpha"]})])
    assert found.kept
    assert found.test.without
    assert "tasks fail without it" in ablation_reason(found)


def test_two_tasks_that_failed_without_a_line_and_pass_with_it_alone_need_no_further_run() -> None:
    place = world("alpha")
    learner = place.learner()
    drive(learner, learner.run(learner.draft.skill, learner.tasks))
    alpha = for_need(place, "alpha", "alpha", most=2)
    test = run_patch_test(learner, [], [], [alpha])
    before = len(place.requests)
    (found,) = ablate(learner, [alpha], test.helped, {"train-0", "train-1"})
    assert found.kept
    assert all("alpha" in words_of(request.skill) for request in place.requests[before:])


def test_a_harmful_line_beside_good_ones_goes_and_they_stay() -> None:
    place = world(*WORDS, harmful=frozenset({"poison"}))
    learner = place.learner()
    drive(learner, learner.run(learner.draft.skill, learner.tasks))
    good = [for_need(place, word, word) for word in WORDS]
    poison = line("poison", {"train-8": ["alpha"], "train-9": ["beta"]})
    lines = [*good, poison]  # as if each had helped in a test of its own
    found = ablate(learner, lines, lines, set(learner.tasks))
    assert words_of(learner.draft.skill) == {"keep", *WORDS}
    assert kept(found) == set(WORDS)
    assert learner.harm


def test_what_alone_changed_nothing_stays_when_a_good_line_needs_it() -> None:
    place = world("alpha+beta")
    learner = place.learner()
    drive(learner, learner.run(learner.draft.skill, learner.tasks))
    alpha, idle, beta = (for_need(place, word, "alpha+beta") for word in ("alpha", "omega", "beta"))
    ablate(learner, [alpha, idle, beta], [beta], set(learner.tasks))  # alpha and omega moved nothing before
    assert words_of(learner.draft.skill) == {"keep", "alpha", "beta"}


def test_a_line_that_says_several_things_stays_for_any_of_them() -> None:
    place = world("alpha", "beta")
    learner = place.learner()
    packed = line("alpha", {"train-0": ["alpha"], "train-1": ["beta"]}, packed=True)
    _, found = learn(learner, [packed])
    assert kept(found) == {"alpha"}


def test_nothing_that_helped_leaves_the_draft_as_it_is_and_runs_nothing() -> None:
    place = world("alpha")
    learner = place.learner()
    assert ablate(learner, [for_need(place, "omega", "alpha")], [], set()) == []
    assert not place.requests
    assert learner.draft.skill == learner.draft.incumbent


def test_lines_of_the_draft_are_not_in_question() -> None:
    place = world("alpha", "beta")
    learner = place.learner()
    drive(learner, learner.run(learner.draft.skill, learner.tasks))
    alpha, beta = for_need(place, "alpha", "alpha"), for_need(place, "beta", "beta")
    learner.draft.set([alpha])
    found = ablate(learner, [alpha, beta], [beta], set(learner.tasks))
    assert [one.test.line for one in found] == [beta]
    assert set(learner.draft.lines) == {alpha, beta}


def test_a_line_whose_tasks_cannot_be_measured_is_not_dropped_for_it() -> None:
    place = world("alpha", "beta", dead=frozenset(f"train-{at}" for at in range(1, 12, 2)))
    learner = place.learner()
    alpha, beta = for_need(place, "alpha", "alpha"), for_need(place, "beta", "beta", most=1)
    drive(learner, learner.run(learner.draft.skill, [name for name in learner.tasks if name not in place.dead]))
    found = ablate(learner, [alpha, beta], [alpha, beta], {"train-0", "train-2"})
    assert kept(found) == {"alpha", "beta"}


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.sampled_from(("right", "idle", "poison")), min_size=1, max_size=6),
    st.integers(0, 5),
)
def test_whatever_a_patch_holds_what_is_left_is_needed_and_does_no_harm(kinds: list[str], seed: int) -> None:
    needs = [f"w{at}" for at in range(len(kinds))]
    harmful = frozenset(f"x{at}" for at, kind in enumerate(kinds) if kind == "poison")
    place = world(*needs, tasks=3 * len(needs), harmful=harmful)
    learner = place.learner(seed=seed)
    begins = {"right": "w", "idle": "i", "poison": "x"}
    learn(learner, [for_need(place, f"{begins[kind]}{at}", f"w{at}") for at, kind in enumerate(kinds)])
    right = {f"w{at}" for at, kind in enumerate(kinds) if kind == "right"}
    said = words_of(learner.draft.skill) - {"keep"}
    assert said <= right
    assert said == right or harmful  # under a harmful line only a few tasks are tried with their own lines


@pytest.mark.parametrize("flips", [0.1, 0.2])
def test_under_noise_most_right_lines_stay_and_most_idle_ones_go(flips: float) -> None:
    stayed = left = 0
    for seed in range(20):
        place = world(*WORDS, tasks=40, flips=flips)
        learner = place.learner(seed=seed)
        for _ in range(3):
            pick(learner)
        good = [for_need(place, word, word) for word in WORDS]
        idle = [line(f"idle{seed}x{at}", {f"train-{at}": [WORDS[at]]}) for at in range(4)]
        learn(learner, [*good, *idle])
        said = words_of(learner.draft.skill)
        stayed += len(said & set(WORDS))
        left += len(said) - 1 - len(said & set(WORDS))
    assert stayed >= 0.75 * 80
    assert left <= 0.25 * 80


def test_what_was_seen_of_lines_that_stay_says_how_often_a_right_line_holds() -> None:
    place = world(*WORDS, tasks=24)
    learner = place.learner()
    learn(learner, [for_need(place, word, word) for word in WORDS])
    assert learner.rates.answered > 0
    assert learner.rates.held == learner.rates.answered
    assert missing("alpha") <= learner.answered
