"""Trigger sets: every shape gives requests with the skill they expect; contradictions are refused with their places."""

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.contrib.triggers.queries import (
    Query,
    TriggerSet,
    find_copied_words,
    read_queries,
    split_queries,
)
from skillopt.errors import SuiteError

NAMES = ("pdf", "docx", "tables")


def written(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    text = "\n".join(map(json.dumps, value)) if name.endswith(".jsonl") and isinstance(value, list) else None
    path.write_text(text or json.dumps(value), encoding="utf-8")
    return path


def expected(folder: Path, name: str, value: object) -> list[tuple[str, str]]:
    found = read_queries([TriggerSet(written(folder, name, value), "pdf")], NAMES, folder)
    return [(one.text, one.expected) for one in found.queries]


def test_a_named_skill_that_is_installed_is_expected_and_another_name_is_not(tmp_path: Path) -> None:
    rows = [
        {"intent": "a", "expected_skill": "plugin:docx"},
        {"intent": "b", "expected_skill": "unknown"},
        {"intent": "c", "expected_skill": "PDF"},
    ]
    assert expected(tmp_path, "routing-eval.jsonl", rows) == [("a", "docx"), ("b", ""), ("c", "pdf")]


def test_requests_of_a_sibling_say_which_skill_a_near_miss_is_for(tmp_path: Path) -> None:
    own = written(tmp_path, "triggers.json", [{"query": "b", "should_trigger": False}])
    other = written(tmp_path, "trigger-evals.json", {"should_trigger": ["b", "c"], "should_not_trigger": ["a"]})
    sets = [TriggerSet(own, "pdf"), TriggerSet(other, "docx", only_positive=True)]
    found = read_queries(sets, NAMES, tmp_path)
    assert [(one.text, one.expected) for one in found.queries] == [("b", "docx"), ("c", "docx")]


@pytest.mark.parametrize("other", ["merge  IT", "Merge it!", "\uff2d\uff45\uff52\uff47\uff45 it"])
def test_requests_that_differ_in_case_punctuation_or_form_are_one(tmp_path: Path, other: str) -> None:
    rows = [{"query": "Merge it", "should_trigger": True}, {"query": other, "should_trigger": False}]
    with pytest.raises(SuiteError, match=":1; remove"):
        expected(tmp_path, "triggers.json", rows)


def test_a_request_that_names_the_skill_and_says_no_is_refused(tmp_path: Path) -> None:
    rows = [{"query": "a", "expected_skill": "pdf", "should_trigger": False}]
    with pytest.raises(SuiteError, match="'pdf' is expected"):
        expected(tmp_path, "triggers.json", rows)


def of_two(folder: Path, own: object, other: object) -> list[tuple[str, str]]:
    sets = [
        TriggerSet(written(folder, "triggers.json", own), "pdf"),
        TriggerSet(written(folder, "trigger-evals.json", other), "docx", only_positive=True),
    ]
    return [(one.text, one.expected) for one in read_queries(sets, NAMES, folder).queries]


@pytest.mark.parametrize(
    ("own", "other", "problem"),
    [
        (
            {"should_trigger": ["x"]},
            {"should_trigger": ["X"]},
            "'X', found that 'docx' should be loaded here and that 'pdf' should be loaded in triggers.json:1",
        ),
        (
            [{"query": "x", "expected_skill": "docx"}],
            {"should_not_trigger": ["x"]},
            "'x', found that 'docx' should not be loaded here and that it should be in triggers.json:1",
        ),
    ],
)
def test_sets_of_siblings_that_contradict_are_refused_with_both_places(
    tmp_path: Path, own: object, other: object, problem: str
) -> None:
    with pytest.raises(SuiteError) as error:
        of_two(tmp_path, own, other)
    said = f"trigger-evals.json:1: expected one label for the request {problem}; remove or correct one"
    assert str(error.value) == said


def test_sets_of_siblings_that_agree_are_put_together(tmp_path: Path) -> None:
    own = [{"query": "x", "expected_skill": "docx"}, {"query": "y", "should_trigger": False}]
    assert of_two(tmp_path, own, {"should_trigger": ["x", "y"]}) == [("x", "docx"), ("y", "docx")]


CHINESE = "\u8bf7\u628a\u8fd9\u4e9b\u53d1\u7968\u5f55\u5165\u62a5\u9500\u5355\u91cc"
"""Twelve characters: please enter these invoices into the expense form."""


@pytest.mark.parametrize(
    ("text", "request_", "copied"),
    [
        (
            "Use to merge the two vendor tables by id.",
            "merge the two vendor tables by id",
            "merge the two vendor tables by",
        ),
        ("Use it: Drop empty rows.", "drop empty rows", "drop empty rows"),
        ("Cleans vendor tables.", "vendor tables", ""),
        ("Cleans all of the house tables.", "the house tables", ""),
        (f"Use for {CHINESE}.", CHINESE, " ".join(CHINESE)),
        (f"Use for {CHINESE[4:6]}.", CHINESE, ""),
        (f"Use for {CHINESE[:7]}.", CHINESE[:7], " ".join(CHINESE[:7])),
    ],
)
def test_a_description_that_copies_a_request_is_noticed(text: str, request_: str, copied: str) -> None:
    assert find_copied_words(text, "Cleans the house tables.", request_) == copied


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


@given(
    st.lists(st.text(alphabet="abc de", min_size=1, max_size=12).filter(str.strip), min_size=2, max_size=20),
    st.lists(st.sampled_from(["pdf", ""]), min_size=20, max_size=20),
)
def test_a_request_that_is_appended_holds_out_no_request_that_was_trained_on(
    texts: list[str], kinds: list[str]
) -> None:
    pairs = zip(texts, kinds, strict=False)
    queries = list({one.key: one for one in (Query(text, kind, "x:1") for text, kind in pairs)}.values())
    before, _ = split_queries(queries[:-1])
    _, held_out = split_queries(queries)
    assert not {one.key for one in before} & {one.key for one in held_out}


@given(st.integers(0, 12), st.integers(0, 12), st.randoms(use_true_random=False))
def test_of_each_label_half_is_held_out(positive: int, negative: int, random: Random) -> None:
    labels = ["pdf"] * positive + [""] * negative
    random.shuffle(labels)
    queries = [Query(chr(ord("a") + at) * 3, label, f"x:{at}") for at, label in enumerate(labels)]
    for side in split_queries(queries):
        for label, size in (("pdf", positive), ("", negative)):
            assert abs(2 * sum(one.expected == label for one in side) - size) <= 1


def test_a_near_copy_of_a_request_given_for_training_is_trained_on() -> None:
    near = [
        Query("merge the two tables", "pdf", "x:1", "test"),
        Query("merge the two tables now", "pdf", "x:2", "train"),
    ]
    assert split_queries(near) == (tuple(near), ())
