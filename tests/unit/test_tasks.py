"""Tasks, suites and disjoint splits."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SuiteError
from skillopt.tasks import DEFAULT_SHARES, File, Split, Suite, Task, VerifierSpec, assign_splits, digest_of, fill_splits


def task(name: str, prompt: str = "", **parts: object) -> Task:
    return Task(name, prompt or f"do {name}", VerifierSpec("exact"), **parts)  # type: ignore[arg-type]  # shorter tests


@given(st.lists(st.binary(max_size=4), max_size=4), st.lists(st.binary(max_size=4), max_size=4))
def test_different_parts_have_different_digests_however_they_join(one: list[bytes], other: list[bytes]) -> None:
    assert (digest_of(*one) == digest_of(*other)) == (one == other)


def test_an_id_may_stand_in_one_split_once() -> None:
    with pytest.raises(SuiteError, match="'a' stands in train and test"):
        Suite("s", ((Split.TRAIN, task("a")), (Split.TEST, task("a", "other"))))


@pytest.mark.parametrize("prompt", ["Do it.", "do  IT.", " do it.\n"])
def test_the_same_content_under_another_id_is_a_leak(prompt: str) -> None:
    with pytest.raises(SuiteError, match=r"'a' \(train\) and 'b' \(val\) have the same"):
        Suite("s", ((Split.TRAIN, task("a", "Do it.")), (Split.VAL, task("b", prompt))))


def test_the_same_prompt_with_other_files_is_another_task() -> None:
    one, other = (task(name, "Do it.", files=(File("in", name.encode()),)) for name in "ab")
    assert Suite("s", ((Split.TRAIN, one), (Split.VAL, other))).tasks(Split.VAL) == (other,)


def test_the_suite_digest_covers_content_and_membership_but_not_order() -> None:
    pairs = ((Split.TRAIN, task("a")), (Split.VAL, task("b")))
    digest = Suite("s", pairs).digest
    assert Suite("s", pairs[::-1]).digest == digest
    assert Suite("s", ((Split.VAL, task("a")), (Split.TRAIN, task("b")))).digest != digest
    assert Suite("s", ((Split.TRAIN, task("a", "x")), pairs[1])).digest != digest


def test_a_task_digest_covers_what_can_change_a_score_and_not_its_labels() -> None:
    assert task("a", "p", tags=("x",)).digest == task("b", "p").digest
    assert task("a", "p", timeout=5.0).digest != task("a", "p").digest
    assert Task("a", "p", VerifierSpec("regex")).digest != task("a", "p").digest


def test_derived_splits_follow_the_shares_and_never_move() -> None:
    tasks = [task(str(number)) for number in range(2000)]
    splits = dict((member.id, split) for split, member in assign_splits(tasks, DEFAULT_SHARES))  # noqa: C402 - pairs are turned round
    counts = Counter(splits.values())
    assert all(abs(counts[split] / 2000 - share) < 0.05 for split, share in DEFAULT_SHARES.items())
    assert all(splits[member.id] is split for split, member in assign_splits(tasks[500:], DEFAULT_SHARES))


@given(st.lists(st.sampled_from(Split), max_size=12), st.randoms(use_true_random=False))
def test_an_empty_split_takes_from_the_largest_and_nothing_else_moves(splits: list[Split], random: Random) -> None:
    pairs = [(split, task(str(number))) for number, split in enumerate(splits)]
    filled = fill_splits(pairs)
    before, after = Counter(splits), Counter(split for split, _ in filled)
    missing = [split for split in Split if not before[split]]
    moved = [old for old, new in zip(pairs, filled, strict=True) if old != new]
    assert [member for _, member in filled] == [member for _, member in pairs]
    assert len(after) == min(len(Split), len(pairs))
    assert len(moved) == len(missing) if len(pairs) >= len(Split) else len(moved) <= len(missing)
    assert all(after[split] == 1 for split in missing if after[split])
    if len(moved) == 1:
        split, taken = moved[0]
        assert before[split] == max(before.values())
        assert taken.content_digest == min(member.content_digest for at, member in pairs if at is split)
    random.shuffle(pairs)
    assert set(fill_splits(pairs)) == set(filled)
