"""Which tasks teach and which decide."""

import pytest

from skillopt.tasks import Split, Task, VerifierSpec, plan_splits


def tasks(count: int) -> list[Task]:
    return [Task(str(number), f"do {number}", VerifierSpec("exact")) for number in range(count)]


@pytest.mark.parametrize("count", [2, 3, 7, 47])
def test_few_tasks_are_two_folds_of_equal_size_and_all_of_them_decide(count: int) -> None:
    found = plan_splits("s", tasks(count))
    assert found.folds is not None
    assert [len(fold) for fold in found.folds] == [count // 2, count - count // 2]
    assert [task.id for task in found.tasks(Split.VAL)] == [task.id for task in tasks(count)]


@pytest.mark.parametrize(
    ("count", "sizes"), [(48, (24, 24, 0)), (60, (36, 24, 0)), (64, (32, 24, 8)), (200, (100, 50, 50))]
)
def test_more_tasks_are_split_so_that_val_and_test_can_decide(count: int, sizes: tuple[int, int, int]) -> None:
    found = plan_splits("s", tasks(count))
    assert (*(len(found.tasks(split)) for split in Split), found.folds) == (*sizes, None)
