"""Plan which tasks teach and which decide: all where they are few, else fixed splits, with `test` where it can tell."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from skillopt.tasks import Split, Suite, Task, divide

FOLDS_BELOW: Final = 48
"""Tasks from which fixed splits do as well as tasks that all teach and judge: half of them can decide."""

LEAST_TEST: Final = 8
"""With fewer held-out tasks a release check can hardly tell anything, whatever the gain."""


def plan_splits(name: str, tasks: Sequence[Task], shares: Mapping[Split, float] | None = None) -> Suite:
    """Divide tasks without given splits, by the tasks alone, so that no run learns from what another was judged on."""
    if shares is None and len(tasks) < FOLDS_BELOW:
        first, second = divide(tasks, (len(tasks) // 2, len(tasks) - len(tasks) // 2))
        return Suite(name, tuple((Split.VAL, task) for task in tasks), (first, second) if first else None)
    if shares is None:
        # 24 `val` tasks tell a gain of four tasks in ten in 19 of 20 runs, 12 in two of three; of large suites a
        # quarter judges, so that half of the tasks teach. The rest is `test` if it can decide.
        train = len(tasks) // 2
        val = min(train, max(24, round(len(tasks) * 0.25)))
        test = len(tasks) - val - train
        sizes = (train, val, test) if test >= LEAST_TEST else (len(tasks) - val, val, 0)
    else:
        sizes = _sizes_of(len(tasks), shares)
    parts = divide(tasks, sizes)
    splits = {task.id: split for split, part in zip(Split, parts, strict=True) for task in part}
    return Suite(name, tuple((splits[task.id], task) for task in tasks))


def _sizes_of(tasks: int, shares: Mapping[Split, float]) -> tuple[int, int, int]:
    """Round shares to whole tasks, largest remainders first, and leave no split empty that has a share."""
    total = sum(shares.values())
    exact = [tasks * shares.get(split, 0.0) / total for split in Split]
    sizes = [int(size) for size in exact]
    for at in sorted(range(len(sizes)), key=lambda at: sizes[at] - exact[at])[: tasks - sum(sizes)]:
        sizes[at] += 1
    for at, size in enumerate(exact):
        largest = max(range(len(sizes)), key=sizes.__getitem__)
        if size and not sizes[at] and sizes[largest] > 1:
            sizes[at] += 1
            sizes[largest] -= 1
    train, val, test = sizes
    return train, val, test


_DATED: Final = re.compile(r"\d{4}-\d\d-\d\d(?=-)")


def split_by_date(ids: Sequence[str], placed: Mapping[str, Split]) -> dict[str, Split]:
    """Put tasks whose ids begin with a date in splits, the oldest to `train`, so that none is older than what teaches.

    A task goes to the split of its date where others are placed. Empty where an id has no date, or a day would be cut.

    >>> split_by_date(["2024-01-05-a", "2024-03-01-b", "2024-02-01-c", "2024-04-01-d"], {})
    {'2024-01-05-a': <Split.TRAIN: 'train'>, '2024-02-01-c': <Split.TRAIN: 'train'>, \
'2024-03-01-b': <Split.VAL: 'val'>, '2024-04-01-d': <Split.VAL: 'val'>}
    """
    days = {name: found[0] for name in (*ids, *placed) if (found := _DATED.match(name))}
    if len(days) < len({*ids, *placed}) or (len(ids) < 4 and not placed):  # noqa: PLR2004 - two to teach, two to judge
        return {}
    order = sorted(ids, key=lambda name: (days[name], name))
    if placed:
        taught = max((days[name] for name, split in placed.items() if split is Split.TRAIN), default="")
        held = min((days[name] for name, split in placed.items() if split is Split.TEST), default="9")
        return {
            name: Split.TRAIN if days[name] <= taught else Split.TEST if days[name] >= held else Split.VAL
            for name in order
        }
    starts = [at for at in range(1, len(order)) if days[order[at]] != days[order[at - 1]]]
    # The youngest fifth; below ten it is one task, which tells nothing.
    tested = round(len(order) / 5) if len(order) >= 10 else 0  # noqa: PLR2004 - as above
    val = min(starts, key=lambda at: abs(at - len(order) // 2), default=0)
    test = min((at for at in starts if at > val), key=lambda at: abs(at - len(order) + tested), default=len(order))
    if not val:
        return {}
    parts = (order[:val], order[val : test if tested else None], order[test:] if tested else ())
    return {name: split for split, names in zip(Split, parts, strict=True) for name in names}
