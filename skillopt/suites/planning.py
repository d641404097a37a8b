"""Plan which tasks teach and which decide: all where they are few, else fixed splits, with `test` where it can tell."""

from collections.abc import Sequence
from typing import Final

from skillopt.tasks import Split, Suite, Task, divide

FOLDS_BELOW: Final = 48
"""Tasks from which fixed splits do as well as tasks that all teach and judge: half of them can decide."""

LEAST_TEST: Final = 8
"""With fewer held-out tasks a release check can hardly tell anything, whatever the gain."""


def plan_splits(name: str, tasks: Sequence[Task]) -> Suite:
    """Divide tasks without given splits, by the tasks alone, so that no run learns from what another was judged on."""
    if len(tasks) < FOLDS_BELOW:
        first, second = divide(tasks, (len(tasks) // 2, len(tasks) - len(tasks) // 2))
        return Suite(name, tuple((Split.VAL, task) for task in tasks), (first, second) if first else None)
    # 24 `val` tasks tell a gain of four tasks in ten in 19 of 20 runs, 12 in two of three; of large suites a quarter
    # judges, so that half of the tasks teach. The rest is `test` if it can decide.
    train = len(tasks) // 2
    val = min(train, max(24, round(len(tasks) * 0.25)))
    test = len(tasks) - val - train
    parts = divide(tasks, (train, val, test) if test >= LEAST_TEST else (len(tasks) - val, val, 0))
    splits = {task.id: split for split, part in zip(Split, parts, strict=True) for task in part}
    return Suite(name, tuple((splits[task.id], task) for task in tasks))
