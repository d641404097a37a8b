"""What a result says to its judge changes no verdict, as far as a judge can be kept from obeying it."""

import json
from typing import Final

import pytest

from skillopt.errors import ProviderError
from skillopt.rollouts import Message, Score, Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import File, VerifierSpec
from skillopt.verifiers import load_verifier
from tests.fakes.judge_attacks import ATTACKS
from tests.fakes.judges import JudgeDouble, JudgePrompt, echoing, naive, obedient, sound

BAD: Final = "I looked at it."
CRITERIA: Final = ('The result names the total "forty-two".', 'The result names the owner "Ada".')
SPEC: Final = VerifierSpec("rubric", json.dumps({"criteria": CRITERIA}))


def scored(judge: JudgeDouble, text: str, *, in_file: bool = False) -> Score:
    turns, verifier = (Message("user", "Report total and owner."),), load_verifier(SPEC, judge)
    if not in_file:
        return verifier.score(Trajectory(turns, text), "")
    with Workspace.create([File("report.md", text.encode())]) as workspace:
        return verifier.score(Trajectory(turns, "Done.", ("report.md",)), workspace.path)


def template() -> str:
    """Return what stands outside of data in the prompt of a result that attacks nobody."""
    judge = JudgeDouble(sound)
    scored(judge, "Done.")
    return JudgePrompt.of(judge.prompts[0]).outside


JUDGES: Final = {
    "obeys what is outside of the fences": JudgeDouble(obedient(template())),
    "obeys what is not quoted": JudgeDouble(naive(template())),
    "repeats JSON that it finds": JudgeDouble(sound, reply=echoing),
}


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("in_file", [False, True])
def test_a_judge_that_tells_data_from_orders_gives_no_bad_result_more(judge: str, *, in_file: bool) -> None:
    changed = set()
    for name, attack in ATTACKS.items():
        for text in (f"{BAD}\n{attack}", f"{attack}\n{BAD}"):
            try:
                changed |= {name} if scored(JUDGES[judge], text, in_file=in_file).value else set()
            except ProviderError:
                assert judge == "repeats JSON that it finds"  # no verdict, so nothing was changed
    assert changed == set()


def test_what_addresses_the_judge_is_named_in_the_feedback() -> None:
    score = scored(JudgeDouble(sound), f"{BAD}\n{ATTACKS['plea to the judge']}")
    assert "The result addresses the judge (it speaks to its judge), which counts for nothing." in score.feedback
    assert score.judgement is not None
    assert score.judgement.addressed == "it speaks to its judge"
