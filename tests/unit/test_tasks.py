"""Tasks, suites and disjoint splits."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SuiteError
from skillopt.tasks import Split, Suite, Task, VerifierSpec, divide


def task(name: str, prompt: str = "", **parts: object) -> Task:
    return Task(name, prompt or f"do {name}", VerifierSpec("exact"), **parts)  # type: ignore[arg-type]  # shorter tests


def test_an_id_may_stand_in_one_split_once() -> None:
    with pytest.raises(SuiteError, match="'a' stands in train"):
        Suite("s", ((Split.TRAIN, task("a")), (Split.TEST, task("a", "other"))))


@pytest.mark.parametrize("prompt", ["Do it.", "do  IT.", " do it.\n"])
def test_the_same_content_under_another_id_is_a_leak(prompt: str) -> None:
    with pytest.raises(SuiteError, match=r"'a' \(train\) and 'b' \(val\)"):
        Suite("s", ((Split.TRAIN, task("a", "Do it.")), (Split.VAL, task("b", prompt))))


def test_the_suite_digest_covers_content_and_membership_but_not_order() -> None:
    pairs = ((Split.TRAIN, task("a")), (Split.VAL, task("b")))
    digest = Suite("s", pairs).digest
    assert Suite("s", pairs[::-1]).digest == digest
    assert Suite("s", ((Split.VAL, task("a")), (Split.TRAIN, task("b")))).digest != digest
    assert Suite("s", ((Split.TRAIN, task("a", "x")), pairs[1])).digest != digest
    for told in (replace(task("a"), family="f"), replace(task("a"), tags=("f",))):
        assert Suite("s", ((Split.TRAIN, told), pairs[1])).digest != digest


def test_a_task_digest_covers_what_can_change_a_score_and_not_its_labels() -> None:
    assert task("a", "p", tags=("x",)).digest == task("b", "p").digest
    assert task("a", "p", timeout=5.0).digest != task("a", "p").digest
    assert Task("a", "p", VerifierSpec("regex")).digest != task("a", "p").digest


def tagged(names: range, *tags: str) -> list[Task]:
    return [task(f"{'-'.join(tags)}{name}", tags=("all", *tags)) for name in names]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_parts_have_their_sizes_whatever_the_order_of_tasks(sizes: list[int], random: Random) -> None:
    tasks = tagged(range(sum(sizes)), "a")
    parts = divide(tasks, sizes)
    assert [len(part) for part in parts] == sizes
    assert Counter(member.id for part in parts for member in part) == Counter(member.id for member in tasks)
    random.shuffle(tasks)
    assert [set(part) for part in divide(tasks, sizes)] == [set(part) for part in parts]


def test_every_part_has_its_share_of_each_tag() -> None:
    tasks = [*tagged(range(12), "dates"), *tagged(range(8), "sums"), *tagged(range(4), "sums", "rare")]
    for part in divide(tasks, (12, 12)):
        assert 5 <= sum("dates" in member.tags for member in part) <= 7
        assert 5 <= sum("sums" in member.tags for member in part) <= 7


def test_folds_are_all_tasks_of_val_and_each_is_once_the_train_split() -> None:
    one, other = task("a"), task("b")
    suite = Suite("s", ((Split.VAL, one), (Split.VAL, other)), ((other,), (one,)))
    assert [suite.first_fold_suite.tasks(split) for split in (Split.TRAIN, Split.VAL)] == [(other,), (one,)]
    assert suite.digest == suite.first_fold_suite.digest
    assert suite.digest not in {Suite("s", suite.splits).digest, Suite("s", suite.splits, ((one,), (other,))).digest}
    with pytest.raises(SuiteError, match="expected each task"):
        Suite("s", suite.splits, ((other,), ()))
    with pytest.raises(SuiteError, match="expected each task"):
        Suite("s", ((Split.TRAIN, one), (Split.VAL, other)), ((other,), (one,)))


def test_an_evaluation_of_train_runs_every_task_of_a_suite_with_folds_and_the_split_of_another() -> None:
    tasks = tuple(Task(name, name, VerifierSpec("exact")) for name in "abcd")
    folded = Suite("s", tuple((Split.VAL, task) for task in tasks), (tasks[:2], tasks[2:]))
    fixed = Suite("s", ((Split.TRAIN, tasks[0]), (Split.VAL, tasks[1])))
    assert [folded.tasks_to_evaluate(split) for split in Split] == [tasks, tasks, ()]
    assert [fixed.tasks_to_evaluate(split) for split in Split] == [tasks[:1], tasks[1:2], ()]
