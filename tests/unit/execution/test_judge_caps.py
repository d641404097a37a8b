"""Calls of a judge count in every cap, a third reading too."""

import json
from pathlib import Path

import pytest

from skillopt.execution.metering import Caps, Meter, MeteredModel, OutOfBudget
from skillopt.rollouts import Message, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import load_verifier
from tests.fakes.judges import JudgeDouble, JudgePrompt

SPEC = VerifierSpec("rubric", json.dumps({"criteria": ["It is elegant."]}))


def wavering() -> JudgeDouble:
    turns = iter(("met", "not met", "met"))
    said: dict[str, str] = {}

    def verdict(read: JudgePrompt, criterion: str) -> str:
        if criterion != "It is elegant.":
            return "not met"
        return said.setdefault(read.key, next(turns, "met"))

    return JudgeDouble(verdict)


def score(meter: Meter, judge: JudgeDouble, folder: Path) -> None:
    verifier = load_verifier(SPEC, MeteredModel(judge, [meter], "judge"))
    verifier.score(Trajectory((Message("user", "Speak."),), "Hello."), str(folder))


def test_each_reading_is_counted_for_the_judge(tmp_path: Path) -> None:
    meter = Meter(Caps())
    score(meter, wavering(), tmp_path)
    assert meter.by_role["judge"].calls == 3
    assert meter.by_role["judge"].usd == pytest.approx(0.003)


def test_a_cap_ends_the_readings_before_it_is_passed(tmp_path: Path) -> None:
    judge, meter = wavering(), Meter(Caps(usd=0.0115))
    with pytest.raises(OutOfBudget, match=r"the cap of \$0.0115"):
        score(meter, judge, tmp_path)
    assert len(judge.prompts) == 2
