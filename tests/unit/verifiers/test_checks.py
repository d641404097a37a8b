import pytest

from skillopt.errors import SuiteError
from skillopt.rollouts import Trajectory, Usage
from skillopt.tasks import VerifierSpec
from skillopt.testing import ScriptedModel
from skillopt.verifiers import load_verifier
from tests.contracts.verifier_contract import VerifierContract, make_spec, score_answer
from tests.fakes.judges import answer


def regex(pattern: str, name: str = "", **more: object) -> dict[str, object]:
    return {"kind": "regex", "options": {"pattern": pattern, **more}, "name": name}


def judged(*criteria: str) -> dict[str, object]:
    return {"kind": "rubric", "options": {"criteria": criteria}, "name": "tone"}


class TestChecksVerifier(VerifierContract):
    kind = "checks"
    right = b"order 42 shipped"
    wrong = b"order x shipped"

    def spec(self) -> VerifierSpec:
        return make_spec("checks", checks=[regex(r"\d+", file=self.path), regex("ship", file=self.path)])


def test_the_score_is_the_weighted_share_of_the_checks_and_each_failed_one_is_named() -> None:
    checks = [{**regex("total", "says the total"), "weight": 3}, regex("sorry", "no excuse", absent=True), regex("x")]

    score = score_answer(make_spec("checks", checks=checks), "The total is 3, sorry.")

    assert (score.value, score.passed) == (0.6, False)
    assert score.feedback.splitlines() == [
        'no excuse: answer: expected no match of "sorry", found one',
        'check 3: answer: expected a match of "x", found none',
    ]


def test_checks_that_cost_nothing_run_before_the_judge_and_its_usage_is_counted() -> None:
    model = ScriptedModel(answer("yn", ("kind", "short")))
    spec = make_spec("checks", checks=[judged("kind", "short"), regex("done", "says done")])

    score = load_verifier(spec, model).score(Trajectory(answer="nothing"), ".")

    assert score.value == 0.25
    assert score.usage == Usage(calls=len(model.prompts))
    assert model.prompts
    assert score.feedback.startswith("says done: ")
    assert "model: tone: 1 of 2 criteria" in score.feedback
    assert score.judgement is not None
    assert (score.judgement.readings, score.judgement.share) == (("yn", "yn"), 0.5)


@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ([], "checks: "),
        ([{"kind": "checks", "options": {}}], "checks.0.kind: expected another kind than 'checks'"),
        ([{"kind": "regex", "options": {"patern": "a"}, "name": "first"}], "first: verifier 'regex': unknown option"),
        ([regex("a"), {"kind": "tabel"}], "check 2: expected the kind of a verifier, found 'tabel'"),
        ([{**regex("a"), "weight": 0}], r"checks.0.weight: expected a number above 0, found 0"),
    ],
)
def test_a_wrong_check_is_refused_by_its_place_or_name(checks: list[object], message: str) -> None:
    with pytest.raises(SuiteError, match=message):
        load_verifier(make_spec("checks", checks=checks))
