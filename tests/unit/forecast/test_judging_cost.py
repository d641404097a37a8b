"""What judging adds to the typical cost of a rollout."""

import json

from skillopt.forecast.typical_costs import typical_rollout
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split, Suite, Task, VerifierSpec

SKILL = Skill("a", SkillDocument("Be brief."))
SETTINGS = Settings(harness="chat/anthropic/claude-haiku-4-5", judge="anthropic/claude-haiku-4-5")
RUBRIC = VerifierSpec("rubric", json.dumps({"criteria": ["It is brief."]}))


def suite(*specs: VerifierSpec) -> Suite:
    return Suite("s", tuple((Split.VAL, Task(str(at), f"Do {at}.", spec)) for at, spec in enumerate(specs)))


def test_a_judge_is_reckoned_to_the_rollouts_that_it_judges() -> None:
    none, half, every = (
        typical_rollout(SETTINGS, suite(*specs), SKILL)
        for specs in ((VerifierSpec("exact"),) * 2, (RUBRIC, VerifierSpec("exact")), (RUBRIC,) * 2)
    )
    assert every.tokens - none.tokens == 2 * (half.tokens - none.tokens) > 4_000
    assert none.usd is not None
    assert every.usd is not None
    assert every.usd > 2 * none.usd
    assert every.seconds is not None
    assert none.seconds is not None
    assert every.seconds > none.seconds


def test_checks_with_a_judge_among_them_are_judged_too() -> None:
    checks = {"checks": [{"kind": "exact"}, {"kind": "rubric", "options": {"criteria": ["It is brief."]}}]}
    both = suite(VerifierSpec("checks", json.dumps(checks)))
    assert typical_rollout(SETTINGS, both, SKILL) == typical_rollout(SETTINGS, suite(RUBRIC), SKILL)
