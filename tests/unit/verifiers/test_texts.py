"""Verifiers that compare the text of a result: exact, regex, numeric and json; how every kind is loaded."""

from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import SuiteError
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import VERIFIERS, load_verifier
from skillopt.verifiers.json_value import Tolerance, compare_values
from tests.contracts.verifier_contract import VerifierContract, make_spec, score_answer


def test_an_unknown_kind_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(SuiteError, match="found 'tabel'; did you"):
        load_verifier(VerifierSpec("tabel"))


@pytest.mark.parametrize("kind", VERIFIERS)
def test_every_kind_has_a_driver_that_validates_its_options(kind: str) -> None:
    with pytest.raises(SuiteError, match=f"verifier '{kind}'"):
        load_verifier(VerifierSpec(kind, '{"no_such_option": 1}'))


def test_a_file_option_cannot_lead_out_of_the_workspace() -> None:
    with pytest.raises(SuiteError, match=r"found '\.\./secret'"):
        load_verifier(VerifierSpec("exact", '{"value": "a", "file": "../secret"}'))


class TestExactVerifier(VerifierContract):
    kind = "exact"
    right = b"hello\n"
    wrong = b"hullo\n"

    def spec(self) -> VerifierSpec:
        return make_spec("exact", file="output.txt", value="hello")


def test_feedback_names_the_first_line_that_differs() -> None:
    score = score_answer(make_spec("exact", value="a\nb\nc"), "a\nx\nc")

    assert 'answer line 2: expected "b"' in score.feedback


@pytest.mark.parametrize("options", [{}, {"value": "a", "expected": "a.txt"}])
def test_one_expectation_is_required(options: dict[str, str]) -> None:
    with pytest.raises(SuiteError, match="options 'value' and 'expected'"):
        load_verifier(make_spec("exact", File("a.txt", b""), **options))


class TestRegexVerifier(VerifierContract):
    kind = "regex"
    right = b"order 42 shipped"
    wrong = b"order x shipped"

    def spec(self) -> VerifierSpec:
        return make_spec("regex", pattern=r"order \d+ ship", file="output.txt")


def test_a_search_without_end_is_ended_and_scores_0() -> None:
    score = score_answer(make_spec("regex", pattern=r"(a+)+$", time_limit=0.3), "a" * 60 + "b")

    assert (score.value, score.passed) == (0.0, False)
    assert '"(a+)+$" took more than 0.3' in score.feedback


@pytest.mark.parametrize("length", [10, 2_000])
def test_a_search_finds_the_same_in_this_process_and_in_its_own(length: int) -> None:
    text = "\r\n" + "x" * length + "É1\r\n"

    assert score_answer(make_spec("regex", pattern=r"x+é\d\r$", ignore_case=True, multiline=True), text).passed
    assert not score_answer(make_spec("regex", pattern=r"x+é\d\r$", multiline=True), text).passed
    assert score_answer(make_spec("regex", pattern=r"^\r.+1", dotall=True), text).passed


class TestNumericVerifier(VerifierContract):
    kind = "numeric"
    right = b"The total is 1,200.50 EUR."
    wrong = b"The total is 1,200.51 EUR."

    def spec(self) -> VerifierSpec:
        return make_spec("numeric", file="output.txt", value=1200.5)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        *(("3 of 12", 12), ("$1,200.50", "1200.50"), ("\u22125", -5), (".5", 0.5), ("1e-9", "0.000000001"), ("5%", 5)),
        *(("-inf", "-Infinity"), ("1e999999999999", "inf"), ("NaN", "nan"), ("0.30000000000000004", 0.3)),
    ],
)
def test_a_number_is_understood_as_people_write_it(answer: str, value: float | str) -> None:
    assert score_answer(make_spec("numeric", value=value), answer).passed


@pytest.mark.parametrize(
    ("answer", "value"),
    [("v2", 2), ("nan", 2), ("2", "nan"), ("inf", "-inf"), ("1e9", "inf"), ("12345678901235", 12345678901200)],
)
def test_another_number_or_none_fails(answer: str, value: float | str) -> None:
    assert score_answer(make_spec("numeric", value=value), answer).value == 0


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
        *("answer $.a[0]: expected 1, found 2", 'answer $.a[1]["b c"]: expected "x", found "y"'),
        *("answer $.a[2]: unexpected 3", "answer $.gone: missing, expected an object with 1 keys"),
        "answer $.more: unexpected null",
    ]
    assert score.value == 0.0


def test_whole_numbers_are_exact_and_fractions_allow_for_rounding() -> None:
    assert score_answer(make_spec("json", value=0.1 + 0.2), "0.3").passed
    assert score_answer(make_spec("json", value=3), "3.0").passed
    assert not score_answer(make_spec("json", value=12345678901234567), "12345678901234568").passed
    assert not score_answer(make_spec("json", value=1), "1" + "0" * 400).passed
