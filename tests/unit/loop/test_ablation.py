"""Ablation: every line that stays is one whose absence breaks something."""

from collections.abc import Collection, Sequence

import pytest

from skillopt.loop import ablation
from skillopt.loop.ablation import LeaveOut, PatchTest
from skillopt.loop.draft import Line
from skillopt.loop.evidence import Seen, TrainEvidence
from skillopt.loop.policy import Policy
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Metric
from skillopt.testing import scored
from tests.fakes.worlds import World, drive, line, pick, words_of


def run_patch_test(evidence: TrainEvidence, *lines: Line) -> PatchTest:
    return drive(evidence, ablation.run_patch_test(evidence, [], lines))


def ablate(evidence: TrainEvidence, good: Sequence[Line], moved: Collection[str]) -> list[LeaveOut]:
    return drive(evidence, ablation.ablate(evidence, good, moved))


def leave_out(evidence: TrainEvidence, base: list[Line], tests: list[LeaveOut], beside: dict[str, Seen]) -> list[Line]:
    return drive(evidence, ablation.leave_out(evidence, base, tests, beside))


WORDS = ("alpha", "beta", "gamma", "delta")


def world(*needs: str, tasks: int = 12, **values: object) -> World:
    """Return tasks that each need one of some words, in turn."""
    return World({f"train-{at}": (needs[at % len(needs)],) for at in range(tasks)}, **values)  # type: ignore[arg-type]  # a world


def for_need(place: World, word: str, need: str, most: int = 99) -> Line:
    """Return the line that says a word, for tasks that show a need."""
    names = [name for name, needs in place.needs.items() if need in needs]
    return line(word, {name: [need] for name in names[:most]})


def learn(evidence: TrainEvidence, lines: Sequence[Line]) -> tuple[PatchTest, list[LeaveOut]]:
    """Test a patch and ablate."""
    drive(evidence, evidence.run(evidence.draft.skill, evidence.tasks))
    test = run_patch_test(evidence, *lines)
    return test, ablate(evidence, test.helped, test.moved)


def kept(found: Sequence[LeaveOut]) -> set[str]:
    return {one.line.edit.id for one in found if one.kept}


def test_what_something_needs_stays() -> None:
    place = world(*WORDS)
    evidence = place.evidence()
    _, found = learn(evidence, [for_need(place, word, word) for word in WORDS])
    assert kept(found) == set(WORDS)
    assert words_of(evidence.draft.skill) == {"keep", *WORDS}


def test_what_nothing_needs_goes_with_the_words_that_say_so() -> None:
    place = world("alpha")
    evidence = place.evidence()
    _, found = learn(evidence, [for_need(place, "alpha", "alpha"), for_need(place, "omega", "alpha")])
    assert kept(found) == {"alpha"}
    assert words_of(evidence.draft.skill) == {"keep", "alpha"}
    (gone,) = [one for one in found if not one.kept]
    assert gone.reason.endswith("no loss without it")


def test_of_two_lines_that_say_the_same_one_stays() -> None:
    place = world("alpha|alias")
    evidence = place.evidence()
    _, found = learn(evidence, [for_need(place, word, "alpha|alias") for word in ("alpha", "alias")])
    assert len(found) == 2
    assert len(kept(found)) == 1
    assert len(words_of(evidence.draft.skill) & {"alpha", "alias"}) == 1


def test_both_lines_of_a_rule_that_works_only_in_pairs_stay() -> None:
    place = world("alpha+beta")
    evidence = place.evidence()
    _, found = learn(evidence, [for_need(place, word, "alpha+beta") for word in ("alpha", "beta")])
    assert kept(found) == {"alpha", "beta"}


def test_a_line_stays_without_which_its_task_fails_in_a_way_that_was_not_seen_when_it_was_proposed() -> None:
    place = World({f"train-{at}": ("alpha", "beta") for at in range(6)})
    evidence = place.evidence()
    cited = {name: ["alpha"] for name in place.needs}  # the other failure was hidden behind this one
    _, found = learn(evidence, [line("alpha", cited), line("beta", cited)])
    assert kept(found) == {"alpha", "beta"}


def test_two_tasks_that_failed_without_a_line_and_pass_with_it_alone_need_no_further_run() -> None:
    place = world("alpha")
    evidence = place.evidence()
    drive(evidence, evidence.run(evidence.draft.skill, evidence.tasks))
    alpha = for_need(place, "alpha", "alpha", most=2)
    test = run_patch_test(evidence, alpha)
    before = len(place.requests)
    (found,) = ablate(evidence, test.helped, {"train-0", "train-1"})
    assert found.kept
    assert all("alpha" in words_of(request.skill) for request in place.requests[before:])


def test_a_harmful_line_beside_good_ones_goes_and_they_stay() -> None:
    place = world(*WORDS, harmful=frozenset({"poison"}))
    evidence = place.evidence()
    drive(evidence, evidence.run(evidence.draft.skill, evidence.tasks))
    good = [for_need(place, word, word) for word in WORDS]
    poison = line("poison", {"train-8": ["alpha"], "train-9": ["beta"]})
    lines = [*good, poison]  # as if each had helped in a test of its own
    found = ablate(evidence, lines, set(evidence.tasks))
    assert words_of(evidence.draft.skill) == {"keep", *WORDS}
    assert kept(found) == set(WORDS)


def test_a_line_that_says_several_things_stays_for_any_of_them() -> None:
    place = world("alpha", "beta")
    evidence = place.evidence()
    packed = line("alpha", {"train-0": ["alpha"], "train-1": ["beta"]}, packed=True)
    _, found = learn(evidence, [packed])
    assert kept(found) == {"alpha"}


def test_lines_of_the_draft_are_not_in_question() -> None:
    place = world("alpha", "beta")
    evidence = place.evidence()
    drive(evidence, evidence.run(evidence.draft.skill, evidence.tasks))
    alpha, beta = for_need(place, "alpha", "alpha"), for_need(place, "beta", "beta")
    evidence.draft.set([alpha])
    found = ablate(evidence, [beta], set(evidence.tasks))
    assert [one.line for one in found] == [beta]
    assert set(evidence.draft.lines) == {alpha, beta}


def test_a_line_whose_tasks_cannot_be_measured_is_not_dropped_for_it() -> None:
    place = world("alpha", "beta", dead=frozenset(f"train-{at}" for at in range(1, 12, 2)))
    evidence = place.evidence()
    alpha, beta = for_need(place, "alpha", "alpha"), for_need(place, "beta", "beta", most=1)
    drive(evidence, evidence.run(evidence.draft.skill, [name for name in evidence.tasks if name not in place.dead]))
    found = ablate(evidence, [alpha, beta], {"train-0", "train-2"})
    assert kept(found) == {"alpha", "beta"}


@pytest.mark.parametrize("flips", [0.1, 0.2])
def test_under_noise_most_right_lines_stay_and_most_idle_ones_go(flips: float) -> None:
    stayed = left = 0
    for seed in range(20):
        place = world(*WORDS, tasks=40, flips=flips)
        evidence = place.evidence(seed=seed)
        policy = Policy(evidence, Metric.MIXED)
        for _ in range(3):
            pick(policy)
        good = [for_need(place, word, word) for word in WORDS]
        idle = [line(f"idle{seed}x{at}", {f"train-{at}": [WORDS[at]]}) for at in range(4)]
        learn(evidence, [*good, *idle])
        said = words_of(evidence.draft.skill)
        stayed += len(said & set(WORDS))
        left += len(said) - 1 - len(said & set(WORDS))
    assert stayed >= 0.75 * 80
    assert left <= 0.25 * 80


def test_a_failure_counts_for_a_line_only_where_the_candidate_beside_it_passes() -> None:
    place = World({"train-0": ("never said",)})
    alpha = line("alpha", {"train-0": ["never said"]})
    test = LeaveOut(alpha, ["train-0"])
    assert leave_out(place.evidence(), [alpha], [test], {}) == []
    assert test.evidence < 0
    assert test.held == [False] * len(test.held)


def test_a_failure_does_not_count_for_a_line_with_which_the_task_scores_lower() -> None:
    class Crashing(World):
        def rollout(self, request: RolloutRequest) -> Rollout:
            said = "alpha" in words_of(request.skill)
            return scored(request, 0.0 if said else 0.5, "no output" if said else "missing alpha")

    alpha = line("alpha", {"train-0": ["alpha"]})
    test = LeaveOut(alpha, ["train-0"])
    assert leave_out(Crashing({"train-0": ("alpha",)}).evidence(), [alpha], [test], {}) == []
    assert test.failed == 0
    assert test.evidence < 0


def test_a_line_beside_which_tasks_of_another_line_fail_goes_and_the_other_stays() -> None:
    place = world("alpha", "poison", clashing=frozenset({"alpha", "poison"}), tasks=8)
    evidence = place.evidence()
    _, found = learn(evidence, [for_need(place, word, word) for word in ("alpha", "poison")])
    assert len(kept(found)) == 1
    (gone,) = (one for one in found if not one.kept)
    assert f"{gone.broke} fails beside" in gone.reason
    assert place.needs[gone.broke] == tuple(kept(found))


def test_a_line_that_breaks_tasks_that_passed_at_the_start_goes() -> None:
    needs = {f"train-{at}": () if at % 2 else ("alpha",) for at in range(12)}
    evidence = World(needs, crashing=frozenset({"alpha"})).evidence()
    one = line("alpha", {name: ["alpha"] for name, need in needs.items() if need})
    drive(evidence, evidence.run(evidence.draft.skill, evidence.tasks))
    (test,) = ablate(evidence, [one], {"train-0"})
    assert (test.kept, needs[test.broke]) == (False, ())


def test_a_line_that_mends_one_task_of_those_that_it_cites_does_not_help() -> None:
    place = World({f"train-{at}": ("alpha|lucky",) if at == 1 else ("alpha",) for at in range(4)})
    evidence = place.evidence()
    drive(evidence, evidence.run(evidence.draft.skill, evidence.tasks))
    lucky = line("lucky", {name: place.needs[name] for name in place.needs})
    assert run_patch_test(evidence, lucky).helped == []
