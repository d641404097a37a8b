"""Leave-one-out tests: rounds of lines side by side, until it is known of each whether something needs it."""

from skillopt.loop import ablation
from skillopt.loop.ablation import LeaveOut
from skillopt.loop.draft import Line
from skillopt.loop.learner import Learner, Seen
from tests.fakes.worlds import World, drive, line, words_of

WORDS = ("alpha", "beta", "gamma", "delta", "eta", "zeta")


def leave_out(learner: Learner, base: list[Line], tests: list[LeaveOut], beside: dict[str, Seen]) -> list[Line]:
    return drive(learner, ablation.leave_out(learner, base, tests, beside))


def cast() -> tuple[World, list[Line]]:
    """Return a world in which three of six lines are needed by two tasks each."""
    place = World({f"train-{at}": (WORDS[at % 3],) for at in range(6)})
    return place, [
        line(word, {f"train-{n}": [WORDS[n % 3]] for n in (at % 3, at % 3 + 3)}) for at, word in enumerate(WORDS)
    ]


def test_what_is_needed_is_left_and_what_is_not_goes() -> None:
    place, lines = cast()
    tests = [LeaveOut(one, list(one.targets)) for one in lines]
    left = leave_out(place.learner(), lines, tests, {})
    assert {one.edit.id for one in left} == {"alpha", "beta", "gamma"}
    assert [test.needed for test in tests] == [True] * 3 + [False] * 3


def test_at_most_three_lines_are_tested_at_a_time() -> None:
    place, lines = cast()
    tests = [LeaveOut(one, list(one.targets)) for one in lines]
    course = ablation.leave_out(place.learner(), lines, tests, {})
    asked = next(course)
    assert len(asked.wanted) == 3  # type: ignore[union-attr]  # it asks for rollouts first


def test_a_failure_counts_for_a_line_only_where_the_candidate_beside_it_passes() -> None:
    place = World({"train-0": ("never said",)})
    alpha = line("alpha", {"train-0": ["never said"]})
    test = LeaveOut(alpha, ["train-0"])
    assert leave_out(place.learner(), [alpha], [test], {}) == []
    assert test.evidence < 0
    assert test.held == [False] * len(test.held)


def test_a_run_of_the_candidate_decides_about_one_line_only() -> None:
    place = World({"train-0": ("alpha+beta",)})
    learner = place.learner()
    both = [line(word, {"train-0": ["alpha+beta"]}) for word in ("alpha", "beta")]
    known = drive(learner, learner.run(learner.draft.build(both), ["train-0"]))
    before = len(place.requests)
    assert leave_out(learner, both, [LeaveOut(one, ["train-0"]) for one in both], known) == both
    whole = [request for request in place.requests[before:] if {"alpha", "beta"} <= words_of(request.skill)]
    assert whole
    assert not known


def test_of_lines_that_stand_in_for_each_other_one_goes_in_a_round() -> None:
    place = World({"train-0": ("alpha|beta|gamma",)})
    lines = [line(word, {"train-0": ["alpha|beta|gamma"]}) for word in ("alpha", "beta", "gamma")]
    left = leave_out(place.learner(), lines, [LeaveOut(one, ["train-0"]) for one in lines], {})
    assert len(left) == 1


def test_a_line_of_which_no_task_can_be_measured_stays() -> None:
    place = World({"train-0": ("alpha",), "train-1": ("beta",)}, dead=frozenset({"train-1"}))
    learner = place.learner()
    drive(learner, learner.run(learner.draft.skill, ["train-0"]))  # a provider that answers
    beta = line("beta", {"train-1": ["beta"]})
    assert leave_out(learner, [beta], [LeaveOut(beta, ["train-1"])], {}) == [beta]


def test_the_figures_of_a_test_are_of_the_runs_without_the_line_and_beside_it() -> None:
    place = World({"train-0": ("alpha",)})
    alpha = line("alpha", {"train-0": ["alpha"]})
    test = LeaveOut(alpha, ["train-0"])
    leave_out(place.learner(), [alpha], [test], {})
    assert test.scores == (0.0, 1.0)
    assert test.tasks == 1


def test_evidence_from_earlier_runs_saves_runs() -> None:
    runs = []
    for evidence in (-1.5, 0.0):
        place = World({"train-0": ()})
        idle = line("idle", {"train-0": ["alpha"]})
        leave_out(place.learner(), [idle], [LeaveOut(idle, ["train-0"], evidence)], {})
        runs.append(len(place.requests))
    assert runs[0] <= runs[1]
    assert runs[0] == 1
