import json
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from skillopt.tasks import VerifierSpec
from skillopt.verifiers.json_value import Tolerance, compare_values
from tests.contracts.verifier_contract import VerifierContract, make_spec, score_answer

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"

values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class TestJsonVerifier(VerifierContract):
    kind = "json"
    right = b'{"b": [1, 2.5, null], "a": {"x": "y"}}'
    wrong = b'{"b": [1, 2.5, 0], "a": {"x": "y"}}'
    path = "output.json"

    def spec(self) -> VerifierSpec:
        return make_spec("json", value={"a": {"x": "y"}, "b": [1, 2.5, None]}, file="output.json")


@given(values)
def test_every_value_equals_itself(value: Json) -> None:
    assert compare_values(value, json.loads(json.dumps(value)), Tolerance(), 5)[1] == 0


@given(values, values)
def test_the_score_is_a_share_and_full_only_without_differences(left: Json, right: Json) -> None:
    total, wrong, lines = compare_values(left, right, Tolerance(), 3)

    assert 0 <= wrong <= total
    assert bool(wrong) is bool(lines)
    assert len(lines) <= 3
    assert compare_values(right, left, Tolerance(), 3)[1] == wrong


def test_feedback_names_each_difference_by_its_path() -> None:
    spec = make_spec("json", value={"a": [1, {"b c": "x"}], "gone": {"k": 1}})
    score = score_answer(spec, 'Here:\n```json\n{"a": [2, {"b c": "y"}, 3], "more": null}\n```')

    assert score.feedback.splitlines() == [
        "answer $.a[0]: expected 1, found 2",
        'answer $.a[1]["b c"]: expected "x", found "y"',
        "answer $.a[2]: unexpected 3",
        "answer $.gone: missing, expected an object with 1 keys",
        "answer $.more: unexpected null",
    ]
    assert score.value == 0.0


def test_whole_numbers_are_exact_and_fractions_allow_for_rounding() -> None:
    assert score_answer(make_spec("json", value=0.1 + 0.2), "0.3").passed
    assert score_answer(make_spec("json", value=3), "3.0").passed
    assert not score_answer(make_spec("json", value=12345678901234567), "12345678901234568").passed
    assert not score_answer(make_spec("json", value=1), "1" + "0" * 400).passed
