"""The baseline of memory: the answer of the nearest train task, scored by the check of the judging task."""

import json

import pytest

from skillopt.execution.memory import MemoryBaseline, memory_baseline
from skillopt.figures import Headline
from skillopt.tasks import File, Split, Suite, Task, VerifierSpec

RIGHT = (File("right.txt", b"Bern"),)


def task(name: str, prompt: str, kind: str, options: dict[str, object]) -> Task:
    return Task(name, prompt, VerifierSpec(kind, json.dumps(options), RIGHT))


@pytest.mark.parametrize(
    ("kind", "options", "right"),
    [
        ("exact", ({"value": "Bern"}, {"value": "Chur"}), 1),
        ("numeric", ({"value": 4}, {"value": "5.0"}), 1),
        ("json", ({"value": {"a": [1]}}, {"value": "x"}), 1),
        ("exact", ({"expected": "right.txt", "file": "out.txt"}, {"value": "Chur", "file": "out.txt"}), 1),
        ("regex", ({"pattern": "a"}, {"pattern": "b"}), None),
    ],
)
def test_each_judging_task_gets_the_answer_of_the_train_task_with_the_most_similar_words(
    kind: str, options: tuple[dict[str, object], dict[str, object]], right: int | None
) -> None:
    first, second = options
    suite = Suite(
        "capitals",
        (
            (Split.TRAIN, task("a", "Name the capital of Switzerland", kind, first)),
            (Split.TRAIN, task("b", "Name the oldest town of Graubünden", kind, second)),
            (Split.VAL, task("c", "Which capital has Switzerland?", kind, first)),
            (Split.TEST, task("d", "Which is the oldest town of all?", kind, first)),
        ),
    )
    found = memory_baseline(suite)
    assert found == (None if right is None else MemoryBaseline(right, 2))


def test_with_folds_each_fold_is_answered_from_the_other() -> None:
    tasks = [
        task(name, f"Say {word} please {name}", "exact", {"value": word})
        for name, word in zip("abcd", "xxyx", strict=True)
    ]
    folds = (tuple(tasks[:2]), tuple(tasks[2:]))
    found = memory_baseline(Suite("folded", tuple((Split.VAL, one) for one in tasks), folds))
    assert found == MemoryBaseline(3, 4)


@pytest.mark.parametrize(("after", "warned"), [(2, False), (4, True), (5, True), (6, False)])
def test_a_gain_that_does_not_exceed_memory_is_warned_of(after: float, warned: bool) -> None:  # noqa: FBT001 - a row
    memory = MemoryBaseline(3, 10)
    gained = Headline(2, after, 10, 0.2, after / 10)
    assert bool(memory.warning(gained)) is warned
    assert not memory.warning(None)
    if warned:
        assert "would pass 3 of 10 tasks" in memory.warning(gained)
