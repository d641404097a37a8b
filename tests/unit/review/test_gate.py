"""Measuring a change by a person: harm is found, noise is not taken for it, and a rerun says the same."""

import pytest

from skillopt.gate.decide import Outcome, Verdict
from skillopt.loop.events import Event, GateDecided, RunEnded
from skillopt.protocols import RolloutRequest
from skillopt.review.gate import ChangeGate, Demand, why_untestable
from skillopt.review.result import Judged, Required, Standing
from skillopt.rollouts import Rollout
from skillopt.settings import make_settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored
from tests.fakes.constants import settings_with

TASKS = 24
SUITE = Suite(
    "words",
    tuple(
        (split, Task(f"{split.value}-{number}", f"{split.value} task {number}", VerifierSpec("exact")))
        for split in Split
        for number in range(TASKS)
    ),
)
NAMES = [task.id for task in SUITE.tasks(Split.VAL)]


def skill(text: str) -> Skill:
    return Skill("words", SkillDocument(text))


OLD, NEW = skill("old"), skill("new")


def runner(lost: int = 0, won: int = 0, by: float = 1.0) -> ScriptedRunner:
    """The new text loses so much in some tasks of each split and wins in the tasks after them."""

    def score(request: RolloutRequest) -> Rollout:
        number = int(request.task.id.split("-")[1])
        new = request.skill is not None and request.skill.digest == NEW.digest
        worse, better = number < lost, lost <= number < lost + won
        return scored(request, 1.0 - by if (new and worse) or (not new and better) else 1.0)

    return ScriptedRunner(score, str)


def judge(runner: ScriptedRunner, demand: Demand | None = None, **values: object) -> tuple[Judged, list[Event]]:
    settings = settings_with({"metric": "soft", **values})
    gate = ChangeGate(OLD, NEW, SUITE, settings, runner, demand or Demand())
    events = list(gate.events())
    assert gate.judged is not None
    return gate.judged, events


def of(judged: Judged) -> Verdict:
    assert judged.verdict is not None
    return judged.verdict


def test_a_harmful_change_is_refused_with_the_tasks_that_it_broke() -> None:
    judged, events = judge(runner(lost=16))
    assert (of(judged).outcome, judged.answer) == (Outcome.REJECT, Standing.REFUSED)
    assert judged.reason.startswith("shown to be worse")
    assert set(judged.worse) == set(of(judged).broken) == set(NAMES[:16])
    assert of(judged).after < of(judged).before
    ended = events[-1]
    assert isinstance(ended, RunEnded)
    assert ended.reason == judged.reason


def test_a_change_that_changes_nothing_passes_and_says_what_is_not_ruled_out() -> None:
    judged, events = judge(runner())
    assert (of(judged).outcome, judged.answer) == (Outcome.INCONCLUSIVE, Standing.PASSED)
    assert "loss of more than 0.10" in judged.reason
    assert judged.lowest == pytest.approx(-0.1)
    assert judged.verdict is not None
    assert (judged.verdict.wins, judged.verdict.ties, judged.verdict.losses) == (0, TASKS, 0)
    assert "shown to be worse" in of(judged).reason
    (decided,) = [event for event in events if isinstance(event, GateDecided)]
    assert (decided.kind, decided.verdict, decided.passed) == ("change", judged.verdict, True)


def test_what_is_neither_shown_nor_ruled_out_is_said_with_the_loss_that_still_fits() -> None:
    asked = runner()
    few = Suite("words", tuple(pair for pair in SUITE.splits if pair[1].id in NAMES[:8]))
    gate = ChangeGate(OLD, NEW, few, make_settings(), asked, Demand())
    (decided,) = [event for event in gate.events() if isinstance(event, GateDecided)]
    assert gate.judged is not None
    assert gate.judged.answer is Standing.CANNOT_TELL
    assert gate.judged.reason.startswith("cannot tell: a loss")
    assert decided.passed is None


@pytest.mark.parametrize(
    ("tasks", "demand", "needed"),
    [(3, Demand(Required.BETTER), 4), (0, Demand(), 2), (1, Demand(), 2), (12, Demand(margin=0.1), 24)],
)
def test_a_suite_that_can_never_show_what_is_asked_is_untestable_and_says_what_would_do(
    tasks: int, demand: Demand, needed: int
) -> None:
    settings = make_settings()
    assert f"least {needed} val task" in why_untestable(tasks, settings, demand)
    assert why_untestable(needed, settings, demand) == ""


def test_a_better_change_passes_either_demand() -> None:
    for required in Required:
        judged, _ = judge(runner(won=20), Demand(required))
        assert judged.answer is Standing.PASSED
        assert of(judged).losses == 0
    unchanged, _ = judge(runner(), Demand(Required.BETTER))
    assert unchanged.answer is Standing.REFUSED
    assert "to be better" in unchanged.reason


def test_a_little_harm_in_many_tasks_does_not_hide_behind_one_great_gain() -> None:
    def score(request: RolloutRequest) -> Rollout:
        number, new = int(request.task.id.split("-")[1]), request.skill == NEW
        if number == 0:
            return scored(request, float(new))
        return scored(request, 0.46 if new else 0.5)

    judged, _ = judge(ScriptedRunner(score, str))
    assert of(judged).outcome is Outcome.REJECT
    assert of(judged).losses > of(judged).wins
    assert of(judged).confidence >= 0.95
    assert (of(judged).wins, of(judged).losses) == (1, len(judged.worse))


@pytest.mark.parametrize("rule", ["sequential", "paired", "strict"])
def test_whatever_the_rule_harm_is_found_and_no_harm_is_not(rule: str) -> None:
    assert judge(runner(lost=16), gate=rule)[0].answer is Standing.REFUSED
    assert judge(runner(), gate=rule)[0].answer is Standing.PASSED


def test_a_margin_asks_for_proof_that_no_such_loss_is_there() -> None:
    wide, _ = judge(runner(), Demand(margin=0.3))
    assert wide.answer is Standing.PASSED
    assert wide.lowest >= -0.3
    narrow, _ = judge(runner(), Demand(margin=0.02))
    assert narrow.answer is Standing.REFUSED
    assert narrow.reason.startswith("a loss of 0.02")


def test_a_new_skill_is_compared_with_no_skill() -> None:
    asked = runner()
    gate = ChangeGate(skill(""), NEW, SUITE, make_settings(), asked, Demand())
    assert list(gate.events())
    assert {request.skill for request in asked.requests} == {None, NEW}


def test_each_change_is_measured_with_repeats_of_its_own() -> None:
    repeats = []
    for earlier in ((), (0.0,)):
        asked = runner()
        list(ChangeGate(OLD, NEW, SUITE, make_settings(), asked, Demand()).events(earlier))
        repeats.append({request.repeat for request in asked.requests})
    assert not repeats[0] & repeats[1]
