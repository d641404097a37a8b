"""Trigger sets: every shape gives requests with the skill they expect; contradictions are refused with their places."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SuiteError
from skillopt.triggers.queries import Query, TriggerSet, read_queries, split_queries

NAMES = ("pdf", "docx", "tables")


def written(folder: Path, name: str, value: object) -> Path:
    path = folder / name
    text = "\n".join(map(json.dumps, value)) if name.endswith(".jsonl") and isinstance(value, list) else None
    path.write_text(text or json.dumps(value), encoding="utf-8")
    return path


def expected(folder: Path, name: str, value: object) -> list[tuple[str, str]]:
    found = read_queries([TriggerSet(written(folder, name, value), "pdf")], NAMES, folder)
    return [(one.text, one.expected) for one in found.queries]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trigger-evals.json", [{"query": "a", "should_trigger": True}, {"query": "b", "should_trigger": False}]),
        (
            "eval_queries.json",
            {
                "queries": [
                    {"query": "a", "should_trigger": True, "reason": "x"},
                    {"query": "b", "shouldTrigger": False},
                ]
            },
        ),
        ("triggers.json", {"should_trigger": ["a"], "should_not_trigger": ["b"]}),
        ("routing-eval.jsonl", [{"intent": "a", "expected_skill": "pdf"}, {"intent": "b", "expected_skill": None}]),
        (
            "evals.json",
            [
                {"question": "a", "expected_skill": "pdf", "should_trigger": True},
                {"question": "b", "expected_skill": None, "should_trigger": False},
            ],
        ),
    ],
)
def test_public_shapes_say_which_skill_is_expected(tmp_path: Path, name: str, value: object) -> None:
    assert expected(tmp_path, name, value) == [("a", "pdf"), ("b", "")]


def test_a_named_skill_that_is_installed_is_expected_and_another_name_is_not(tmp_path: Path) -> None:
    rows = [
        {"intent": "a", "expected_skill": "plugin:docx"},
        {"intent": "b", "expected_skill": "unknown"},
        {"intent": "c", "expected_skill": "PDF"},
    ]
    assert expected(tmp_path, "routing-eval.jsonl", rows) == [("a", "docx"), ("b", ""), ("c", "pdf")]


def test_contradictory_labels_are_refused_with_both_places(tmp_path: Path) -> None:
    rows = [{"query": "Merge it", "should_trigger": True}, {"query": "merge  IT", "should_trigger": False}]
    path = tmp_path / "trigger-evals.json"
    path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    with pytest.raises(SuiteError) as error:
        read_queries([TriggerSet(path, "pdf")], NAMES, tmp_path)
    assert str(error.value) == (
        "trigger-evals.json:6: expected one label for the request 'merge  IT', found that it should not be here and "
        "that 'pdf' should be loaded in trigger-evals.json:2; remove or correct one"
    )


def test_a_request_that_stands_twice_with_one_label_counts_once(tmp_path: Path) -> None:
    rows = [{"query": "a", "should_trigger": True}, {"query": " A ", "should_trigger": True}]
    assert expected(tmp_path, "triggers.json", rows) == [("a", "pdf")]


def test_requests_of_a_sibling_say_which_skill_a_near_miss_is_for(tmp_path: Path) -> None:
    own = written(tmp_path, "triggers.json", [{"query": "b", "should_trigger": False}])
    other = written(tmp_path, "trigger-evals.json", {"should_trigger": ["b", "c"], "should_not_trigger": ["a"]})
    sets = [TriggerSet(own, "pdf"), TriggerSet(other, "docx", only_positive=True)]
    found = read_queries(sets, NAMES, tmp_path)
    assert [(one.text, one.expected) for one in found.queries] == [("b", "docx"), ("c", "docx")]


def test_splits_of_the_author_are_kept() -> None:
    queries = [
        Query("alpha beta", "pdf", "x:1", "train"),
        Query("gamma delta", "pdf", "x:2", "validation"),
        Query("epsilon", "pdf", "x:3", "test"),
    ]
    train, held_out = split_queries(queries)
    assert [one.text for one in train] == ["alpha beta"]
    assert [one.text for one in held_out] == ["gamma delta", "epsilon"]


def test_near_copies_are_on_one_side_and_both_kinds_of_request_on_both_sides() -> None:
    texts = [f"{verb} the quarterly {thing} report now" for verb in ("make", "write", "draft") for thing in "abcd"]
    near = [Query(f"{text}{end}", "pdf", "x:1") for text in texts for end in ("", " please")]
    far = [Query(f"{word} {word}{word}", expected, "x:1") for word in "qwertz" for expected in ("pdf", "")]
    train, held_out = split_queries([*near, *dict.fromkeys(far)])
    sides = [{one.text for one in side if "report" in one.text} for side in (train, held_out)]
    assert not (sides[0] and sides[1])
    plain = [
        Query(f"{word}{number}", expected, "x:1") for number, word in enumerate("abcdefgh") for expected in ("pdf",)
    ]
    others = [Query(f"other {one.text} {one.text}x", "", "x:1") for one in plain]
    for side in split_queries([*plain, *others]):
        assert {one.expected for one in side} == {"pdf", ""}


@given(st.lists(st.text(alphabet="abc de", min_size=1, max_size=12).filter(str.strip), unique=True, max_size=30))
def test_every_request_is_on_exactly_one_side(texts: list[str]) -> None:
    queries = list({one.key: one for one in (Query(text, "pdf", "x:1") for text in texts)}.values())
    train, held_out = split_queries(queries)
    assert sorted(one.text for one in (*train, *held_out)) == sorted(one.text for one in queries)
    assert split_queries(queries) == (train, held_out)
