"""The patch test: all new lines together, apart where that moves little, and which line breaks what passed."""

from skillopt.loop import patch_test
from skillopt.loop.draft import Line
from skillopt.loop.evidence import TrainEvidence
from skillopt.loop.patch_test import PatchTest
from tests.fakes.worlds import World, line, words_of

WORDS = ("alpha", "beta", "gamma", "delta")


def world(**values: object) -> World:
    """Three tasks for each of four words."""
    return World({f"train-{number}": (WORDS[number % 4],) for number in range(12)}, **values)  # type: ignore[arg-type]  # a world


def right(word: str) -> Line:
    """Return the line that says a word, for the tasks that need it."""
    return line(word, {f"train-{number}": [word] for number in range(12) if WORDS[number % 4] == word})


def wrong(word: str, *tasks: int) -> Line:
    """Return a line that is to mend what tasks need, and does not."""
    return line(word, {f"train-{number}": [WORDS[number % 4]] for number in tasks})


def try_patch(evidence: TrainEvidence, *lines: Line, carried: tuple[Line, ...] = ()) -> PatchTest:
    names = dict.fromkeys(name for one in lines for name in one.targets)
    return patch_test.run_patch_test(evidence, carried, lines, names)


def test_right_lines_help_and_the_tasks_they_cite_have_moved() -> None:
    evidence = world().evidence()
    lines = [right(word) for word in WORDS]
    found = try_patch(evidence, *lines)
    assert found.helped(evidence) == lines
    assert found.moved == set(found.after)


def test_a_line_that_changes_nothing_is_told_from_one_that_helps() -> None:
    evidence, alpha = world().evidence(), right("alpha")
    found = try_patch(evidence, alpha, wrong("omega", 1, 5))
    assert found.helped(evidence) == [alpha]
    assert not {"train-1", "train-5"} & found.moved


def test_a_task_has_moved_when_the_first_of_several_failures_is_gone() -> None:
    evidence = World({"train-0": ("alpha", "beta")}, first_only=True).evidence()
    alpha = line("alpha", {"train-0": ["alpha"]})
    found = try_patch(evidence, alpha)
    assert found.moved == {"train-0"}
    assert found.helped(evidence) == [alpha]
    assert found.after["train-0"].symptoms == {"missing beta"}


def test_new_lines_are_tried_on_top_of_what_the_reflection_saw() -> None:
    place = World({"train-0": ("alpha+beta",)})
    alpha, beta = (line(word, {"train-0": ["alpha+beta"]}) for word in ("alpha", "beta"))
    assert not try_patch(place.evidence(), beta).moved
    assert try_patch(place.evidence(), beta, carried=(alpha,)).moved == {"train-0"}
    assert words_of(place.requests[-1].skill) == {"keep", "alpha", "beta"}


def test_one_harmful_line_is_found_where_good_ones_do_alone_what_they_do_not_beside_it() -> None:
    evidence = world(harmful=frozenset({"poison"})).evidence()
    lines = [right("alpha"), right("beta"), wrong("poison", 2, 6)]
    found = try_patch(evidence, *lines)
    assert not found.moved
    alone, harmful = patch_test.try_apart(evidence, [], found)
    assert (harmful, bool(alone)) == (lines[2], True)
    better = patch_test.leave_out(evidence, [], found, lines[2])
    assert better is not None
    assert (better.lines, better.moved) == (lines[:2], found.after.keys() - set(lines[2].targets))
    assert patch_test.leave_out(evidence, [], try_patch(evidence, *lines[:2]), lines[0]) is None


def test_the_line_beside_which_a_task_fails_is_found_by_halves() -> None:
    place = world(clashing=frozenset({"alpha", "gamma"}))
    evidence, lines = place.evidence(), [right(word) for word in (*WORDS[1:], "epsilon")]
    base = [right("alpha"), *lines]
    assert patch_test.locate_harm(evidence, base, lines, "train-0") is lines[1]
    assert len(place.requests) <= 4
    assert patch_test.locate_harm(evidence, base, lines[2:], "train-0") is None
