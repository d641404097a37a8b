import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.tasks import VerifierSpec
from tests.contracts.verifier_contract import VerifierContract, make_spec, score_answer


class TestNumericVerifier(VerifierContract):
    kind = "numeric"
    right = b"The total is 1,200.50 EUR."
    wrong = b"The total is 1,200.51 EUR."

    def spec(self) -> VerifierSpec:
        return make_spec("numeric", file="output.txt", value=1200.5)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ("3 of 12", 12),
        ("$1,200.50", "1200.50"),
        ("\u22125", -5),
        (".5", 0.5),
        ("1e-9", "0.000000001"),
        ("5%", 5),
        ("12kg", 12),
        ("-inf", "-Infinity"),
        ("1e999999999999", "inf"),
        ("NaN", "nan"),
        ("0.1", 0.1),
        ("0.30000000000000004", 0.3),
        ("12345678901234567890.5", "12345678901234567890.5"),
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


@given(st.decimals(allow_nan=False))
def test_every_decimal_is_close_to_itself(number: object) -> None:
    assert score_answer(make_spec("numeric", value=str(number)), f"It is {number}").passed
