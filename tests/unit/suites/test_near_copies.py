"""Near copies of requests, and how they are remembered."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from skillopt.suites.near_copies import near_copies

WORDS = st.lists(st.sampled_from(["clean", "the", "vendor", "table", "of", "rows", "by", "date"]), max_size=9)


def test_requests_that_differ_in_numbers_and_spelling_are_near_copies() -> None:
    texts = [
        "Clean the vendor table 17 for the import",
        "Write release notes for the version",
        "clean the Vendor Table 9 for import, please",
        "Write the release notes for version 2",
    ]

    assert near_copies(texts) == ((0, 2), (1, 3))


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
