"""The judge's own noise: measured by what it read twice, and never taken for a gain."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from skillopt.gate.comparison import Pairs, compare
from skillopt.gate.decide import Outcome, Question, decide
from skillopt.gate.gate import Gate, here_plan
from skillopt.gate.grades import Grade
from skillopt.gate.judge_noise import judge_agreement
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Judgement, Rollout, Score, Status, Trajectory
from skillopt.settings import Metric, make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner


def judged(task: int, first: str, second: str, *, skill: str = "a", addressed: str = "") -> Rollout:
    value = first.count("y") / len(first)
    judgement = Judgement(tuple(first), (first, second), f"{skill} {task}", addressed=addressed)
    score = Score(value, value == 1.0, judgement=judgement)
    return Rollout(str(task), skill, 0, Trajectory(), Status.OK, score)


def side(skill: str, readings: Sequence[tuple[str, str]]) -> list[Rollout]:
    return [judged(task, *pair, skill=skill) for task, pair in enumerate(readings)]


def test_agreement_is_of_criteria_read_twice_and_unanswered_ones_do_not_count() -> None:
    found = judge_agreement([judged(0, "yyn", "yny"), judged(1, "yy-", "yyn"), judged(2, "y", "n", addressed="orders")])
    assert found is not None
    assert (found.agreed, found.criteria, found.results) == (3, 5, 2)
    assert found.low < 0.6 < found.high
    assert found.words.startswith("judge agrees with itself")
    assert found.words.endswith("; 1 more were not read twice)")


def test_the_interval_holds_the_true_share_for_criteria_that_always_go_together() -> None:
    draw, held = random.Random(1), 0
    for _ in range(1000):
        marks = ["yyyyyy" if draw.random() < 0.7 else "nnnnnn" for _ in range(12)]
        found = judge_agreement(side("a", [("yyyyyy", mark) for mark in marks]))
        assert found is not None
        held += found.low <= 0.7 <= found.high
    assert held >= 930


@pytest.mark.parametrize(("mended", "shown"), [(3, False), (5, True)])
def test_repeats_of_a_judge_that_may_always_err_alike_count_each_task_once(mended: int, *, shown: bool) -> None:
    pairs = Pairs()
    for _ in range(3):
        before, after = side("a", [("n", "n")] * mended + [("y", "y")] * 7), side("b", [("y", "y")] * (mended + 7))
        pairs.add(Pairs(before, after))
    assert decide(compare(pairs, Metric.SOFT), Question.HERE, 0.05, here_plan(3, mended + 7)).accepted is shown


def test_a_judge_that_agrees_with_itself_about_as_often_as_a_coin_shows_nothing_and_a_grade_cannot_tell() -> None:
    draw = random.Random(2)
    names = [f"t{number}" for number in range(12)]

    def toss(request: RolloutRequest) -> Rollout:
        after = request.skill is not None and request.skill.name == "after"
        first = "".join(draw.choice("yn") for _ in range(3)) if not after else "yyy"
        second = "".join(draw.choice("yn") for _ in range(3))
        return judged(names.index(request.task.id), first, second, skill=request.digest)

    tasks = [Task(name, name, VerifierSpec("rubric")) for name in names]
    before, after = (Skill(name, SkillDocument(name)) for name in ("before", "after"))
    runner = ScriptedRunner(lambda request: replace(toss(request), task_id=request.task.id), str)
    gate = Gate(tasks, make_settings(), runner)
    found = gate.grade("here", before, after, rounds=2).grading
    assert compare(gate.measured(before, after), Metric.SOFT).tossed
    assert (found.grade, found.probability, found.offered) == (Grade.CANNOT_TELL, None, False)


def test_a_few_judged_results_among_others_are_no_reason_to_tell_nothing() -> None:
    plain = [Rollout(str(task), "a", 0, Trajectory(), Status.OK, Score(0.0, passed=False)) for task in range(3)]
    assert judge_agreement(plain) is None
    tossed = [judged(9, "yn", "ny")]
    assert compare(Pairs(tossed, tossed), Metric.SOFT).tossed
    assert not compare(Pairs([*plain, *tossed], [*plain, *tossed]), Metric.SOFT).tossed


def test_what_a_judge_shows_that_agrees_with_itself_as_a_coin_does_is_no_verdict() -> None:
    before, after = side("a", [("nn", "ny")] * 8), side("b", [("yy", "ny")] * 8)
    verdict = decide(compare(Pairs(before, after), Metric.SOFT, 0.9), Question.BETTER, 0.3)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.judge is not None
    assert (verdict.judge.agreed, verdict.judge.criteria) == (16, 32)


def test_harm_that_a_judge_sees_in_every_task_is_a_verdict() -> None:
    before, after = side("a", [("yy", "yy")] * 8), side("b", [("nn", "nn")] * 8)
    assert decide(compare(Pairs(before, after), Metric.SOFT), Question.WORSE, 0.1).rejected
