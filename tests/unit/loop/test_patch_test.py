"""The patch test: all new lines together."""

from skillopt.loop import ablation
from skillopt.loop.ablation import PatchTest
from skillopt.loop.draft import Line
from skillopt.loop.evidence import TrainEvidence
from tests.fakes.worlds import World, drive, line, words_of

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
    return drive(evidence, ablation.run_patch_test(evidence, carried, lines))


def test_right_lines_help_and_the_tasks_they_cite_have_moved() -> None:
    place = world()
    lines = [right(word) for word in WORDS]
    found = try_patch(place.evidence(), *lines)
    assert found.helped == lines
    assert found.moved == set(found.after)
    assert len(place.requests) == 8  # two for each line: one task alone could be memorised


def test_a_line_that_changes_nothing_is_told_from_one_that_helps() -> None:
    alpha = right("alpha")
    found = try_patch(world().evidence(), alpha, wrong("omega", 1, 5))
    assert found.helped == [alpha]
    assert "train-1" not in found.moved
    assert "train-5" not in found.moved


def test_a_task_has_moved_when_the_first_of_several_failures_is_gone() -> None:
    place = World({"train-0": ("alpha", "beta")}, first_only=True)
    alpha = line("alpha", {"train-0": ["alpha"]})
    found = try_patch(place.evidence(), alpha)
    assert found.moved == {"train-0"}
    assert found.helped == [alpha]
    assert found.after["train-0"].symptoms == {"missing beta"}


def test_new_lines_are_tried_on_top_of_what_the_reflection_saw() -> None:
    place = World({"train-0": ("alpha+beta",)})
    alpha, beta = (line(word, {"train-0": ["alpha+beta"]}) for word in ("alpha", "beta"))
    assert not try_patch(place.evidence(), beta).moved
    assert try_patch(place.evidence(), beta, carried=(alpha,)).moved == {"train-0"}
    assert words_of(place.requests[-1].skill) == {"keep", "alpha", "beta"}
