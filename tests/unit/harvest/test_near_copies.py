"""Near copies of requests: which are grouped, and that many of them are not compared with each other."""

from collections.abc import Set as AbstractSet
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.harvest import near_copies as near_copies_module
from skillopt.harvest.near_copies import is_near_copy, near_copies, word_digests

WORDS = st.lists(st.sampled_from(["clean", "the", "vendor", "table", "of", "rows", "by", "date"]), max_size=9)


def test_requests_that_differ_in_numbers_and_spelling_are_near_copies() -> None:
    texts = [
        "Clean the vendor table 17 for the import",
        "Write release notes for the version",
        "clean the Vendor Table 9 for import, please",
        "Write the release notes for version 2",
    ]

    assert near_copies(texts) == ((0, 2), (1, 3))


@given(st.lists(st.text(alphabet="ab 1", max_size=12), max_size=8))
def test_groups_hold_each_request_once_and_whatever_is_alike_is_in_one_group(texts: list[str]) -> None:
    groups = near_copies(texts)
    place = {at: number for number, group in enumerate(groups) for at in group}

    assert sorted(at for group in groups for at in group) == list(range(len(texts)))
    for one, other in combinations(range(len(texts)), 2):
        if near_copies([texts[one], texts[other]]) == ((0, 1),):
            assert place[one] == place[other]


@given(st.lists(WORDS.map(" ".join), max_size=12))
def test_texts_are_in_one_group_just_when_a_chain_of_near_copies_joins_them(texts: list[str]) -> None:
    words = [set(text.split()) for text in texts]
    reached = [{at} for at in range(len(texts))]
    for one, other in combinations(range(len(texts)), 2):
        if words[one] & words[other] and 5 * len(words[one] & words[other]) >= 3 * len(words[one] | words[other]):
            joined = reached[one] | reached[other]
            for at in joined:
                reached[at] = joined

    assert {frozenset(group) for group in near_copies(texts)} == {frozenset(group) for group in reached}


def test_many_requests_are_grouped_without_comparing_every_two(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [
        f"Clean the table {chr(97 + at % 26)}{at // 26:x} of the {'vendor' if at % 2 else 'client'}"
        for at in range(2_000)
    ]
    compared, alike = list[int](), near_copies_module._are_alike  # noqa: SLF001 - what is counted

    def counted(one: AbstractSet[str], other: AbstractSet[str]) -> bool:
        compared.append(1)
        return alike(one, other)

    monkeypatch.setattr(near_copies_module, "_are_alike", counted)
    assert {len(group) for group in near_copies(texts)} == {1_000}
    assert len(compared) <= 20 * len(texts)


@given(WORDS.map(" ".join), WORDS.map(" ".join))
def test_word_digests_tell_near_copies_as_the_words_do_and_hold_no_word(one: str, other: str) -> None:
    assert is_near_copy(one, [word_digests(other)]) == (bool(one) and len(near_copies([one, other])) == 1)
    assert not any(word in digest for digest in word_digests(one) for word in one.split())
