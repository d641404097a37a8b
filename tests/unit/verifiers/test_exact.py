import pytest

from skillopt.errors import SuiteError
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import load_verifier
from tests.contracts.verifier_contract import VerifierContract, make_spec, score_answer


class TestExactVerifier(VerifierContract):
    kind = "exact"
    right = b"hello\n"
    wrong = b"hullo\n"

    def spec(self) -> VerifierSpec:
        return make_spec("exact", file="output.txt", value="hello")


def test_feedback_names_the_first_line_that_differs() -> None:
    score = score_answer(make_spec("exact", value="a\nb\nc"), "a\nx\nc")

    assert score.feedback == 'answer line 2: expected "b", found "x"'


@pytest.mark.parametrize("options", [{}, {"value": "a", "expected": "a.txt"}])
def test_one_expectation_is_required(options: dict[str, str]) -> None:
    with pytest.raises(SuiteError, match="expected one of the options 'value' and 'expected'"):
        load_verifier(make_spec("exact", File("a.txt", b""), **options))
