import pytest

from skillopt.errors import SuiteError
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import load_verifier
from tests.contracts.verifier_contract import VerifierContract, make_spec, score_answer


class TestRegexVerifier(VerifierContract):
    kind = "regex"
    right = b"order 42 shipped"
    wrong = b"order x shipped"

    def spec(self) -> VerifierSpec:
        return make_spec("regex", pattern=r"order \d+ ship", file="output.txt")


def test_a_search_without_end_is_ended_and_scores_0() -> None:
    score = score_answer(make_spec("regex", pattern=r"(a+)+$", time_limit=0.3), "a" * 60 + "b")

    assert (score.value, score.passed) == (0.0, False)
    assert score.feedback == 'answer: the search for "(a+)+$" took more than 0.3 s'


@pytest.mark.parametrize("length", [10, 2_000])
def test_a_search_finds_the_same_in_this_process_and_in_its_own(length: int) -> None:
    text = "\r\n" + "x" * length + "É1\r\n"

    assert score_answer(make_spec("regex", pattern=r"x+é\d\r$", ignore_case=True, multiline=True), text).passed
    assert not score_answer(make_spec("regex", pattern=r"x+é\d\r$", multiline=True), text).passed
    assert score_answer(make_spec("regex", pattern=r"^\r.+1", dotall=True), text).passed


def test_a_broken_pattern_is_refused() -> None:
    with pytest.raises(SuiteError, match="expected a regular expression, found"):
        load_verifier(make_spec("regex", pattern="(a"))
