"""Requests are split by their own hashes: near copies stay together, what is added holds out no training request."""

from hypothesis import given
from hypothesis import strategies as st

from skillopt.triggers.queries import Query, split_queries


def test_splits_of_the_author_are_kept() -> None:
    queries = [
        Query("alpha beta", "pdf", "x:1", "train"),
        Query("gamma delta", "pdf", "x:2", "validation"),
        Query("epsilon", "pdf", "x:3", "test"),
    ]
    train, held_out = split_queries(queries)
    assert [one.text for one in train] == ["alpha beta"]
    assert [one.text for one in held_out] == ["gamma delta", "epsilon"]


def test_near_copies_are_on_one_side() -> None:
    texts = [f"{verb} the quarterly {thing} report now" for verb in ("make", "write", "draft") for thing in "abcd"]
    near = [Query(f"{text}{end}", "pdf", "x:1") for text in texts for end in ("", " please")]
    far = [Query(f"{word} {word}{word}", expected, "x:1") for word in "qwertz" for expected in ("pdf", "")]
    train, held_out = split_queries([*near, *dict.fromkeys(far)])
    sides = [{one.text for one in side if "report" in one.text} for side in (train, held_out)]
    assert not (sides[0] and sides[1])
    assert {one.expected for side in (train, held_out) for one in side} == {"pdf", ""}


@given(st.lists(st.text(alphabet="abc de", min_size=1, max_size=12).filter(str.strip), unique=True, max_size=30))
def test_every_request_is_on_exactly_one_side(texts: list[str]) -> None:
    queries = list({one.key: one for one in (Query(text, "pdf", "x:1") for text in texts)}.values())
    train, held_out = split_queries(queries)
    assert sorted(one.text for one in (*train, *held_out)) == sorted(one.text for one in queries)
    assert split_queries(queries) == (train, held_out)


@given(
    st.lists(st.text(alphabet="abc de", min_size=1, max_size=12).filter(str.strip), min_size=2, max_size=20),
    st.lists(st.sampled_from(["pdf", ""]), min_size=20, max_size=20),
    st.integers(0, 19),
)
def test_a_request_that_is_added_holds_out_no_request_that_was_trained_on(
    texts: list[str], kinds: list[str], at: int
) -> None:
    pairs = zip(texts, kinds, strict=False)
    queries = list({one.key: one for one in (Query(text, kind, "x:1") for text, kind in pairs)}.values())
    added = queries[at % len(queries)]
    before, _ = split_queries([one for one in queries if one is not added])
    _, held_out = split_queries(queries)
    assert not {one.key for one in before} & {one.key for one in held_out}


def test_where_a_request_lies_in_its_file_does_not_matter() -> None:
    queries = [Query(f"{word} {word}{word} {word}x", "pdf", "x:1") for word in "abcdefghijkl"]
    assert set(split_queries(queries)[1]) == set(split_queries(queries[::-1])[1])


def test_a_near_copy_of_a_request_given_for_training_is_trained_on() -> None:
    near = [
        Query("merge the two tables", "pdf", "x:1", "test"),
        Query("merge the two tables now", "pdf", "x:2", "train"),
    ]
    assert split_queries(near) == (tuple(near), ())
