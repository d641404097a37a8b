"""A gate that starts from a record: what it runs, what it says, and that a refusal is the verdict of fresh pairs."""

from dataclasses import replace
from random import Random

import pytest

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.decide import Outcome
from skillopt.loop.events import GateDecided, RunEnded
from skillopt.protocols import RolloutRequest
from skillopt.review.gate import ChangeGate, Demand, OldRecord
from skillopt.review.one_sided import TaskRecord
from skillopt.review.result import Judged, Standing
from skillopt.rollouts import Rollout, Usage
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored
from tests.fakes.constants import settings_with

NAMES = [f"task{number}" for number in range(12)]
SUITE = Suite("words", tuple((Split.VAL, Task(name, f"do {name}", VerifierSpec("exact"))) for name in NAMES))
OLD, NEW = (Skill("words", SkillDocument(text)) for text in ("old", "new"))
RECORD = OldRecord({name: TaskRecord(2 * (name != "task11"), 2) for name in NAMES}, "record of 24 rollouts")


def judge(
    passes: dict[str, tuple[float | None, float | None]], demand: Demand | None = None
) -> tuple[Judged, list[RolloutRequest]]:
    """Gate where named tasks score so with the old and with the new text, and all others pass."""

    def score(request: RolloutRequest) -> Rollout:
        old, new = passes.get(request.task.id, (1.0, 1.0))
        return scored(request, new if request.skill == NEW else old)

    runner = ScriptedRunner(score, str)
    gate = ChangeGate(OLD, NEW, SUITE, settings_with({}), runner, demand or Demand(record=RECORD))
    events = list(gate.events())
    assert isinstance(events[-1], RunEnded)
    assert not [one for one in events if isinstance(one, GateDecided)] or demand
    assert gate.judged is not None
    return gate.judged, runner.requests


def test_a_harmless_change_runs_the_new_text_only_and_says_what_could_go_unseen() -> None:
    judged, asked = judge({})
    assert judged.answer is Standing.PASSED
    assert judged.verdict is None
    assert {request.skill for request in asked} == {NEW}
    assert len(asked) == 11
    assert judged.watched is not None
    assert judged.watched.passed == "11 → 11 of 11"
    assert judged.watched.wrong_refusal < 0.021
    assert 0 <= judged.watched.unseen_harm <= judged.watched.unseen_task < 0.3


def test_tasks_whose_evidence_names_changed_lines_run_first() -> None:
    _, asked = judge({}, Demand(record=replace(RECORD, named=frozenset({"task4", "task9", "gone"}))))
    assert {request.task.id for request in asked[:2]} == {"task4", "task9"}


def test_a_refusal_is_the_verdict_of_fresh_pairs_of_the_tasks_that_broke() -> None:
    judged, asked = judge({"task3": (1.0, 0.0)})
    assert judged.answer is Standing.REFUSED
    assert judged.verdict is not None
    assert judged.verdict.outcome is Outcome.REJECT
    assert judged.verdict.broken == judged.broken == ("task3",)
    assert {request.task.id for request in asked if request.skill == OLD} == {"task3"}


def test_a_task_that_fails_with_both_texts_now_is_no_harm_and_is_named() -> None:
    judged, _ = judge({"task3": (0.0, 0.0)})
    assert judged.answer is Standing.PASSED
    assert "task3" in judged.reason


def test_what_cannot_be_told_says_what_would_tell() -> None:
    random = Random(1)

    def score(request: RolloutRequest) -> Rollout:
        """The new text fails a fourth of all runs, wherever."""
        rollout = scored(request, float(request.skill == OLD or random.random() < 0.75))
        assert rollout.score is not None
        return replace(rollout, score=replace(rollout.score, usage=Usage(calls=1, usd=0.5)))

    gate = ChangeGate(OLD, NEW, SUITE, settings_with({}), ScriptedRunner(score, str), Demand(record=RECORD))
    list(gate.events())
    assert gate.judged is not None
    assert gate.judged.answer is Standing.CANNOT_TELL
    assert "`--margin 0.2`" in gate.judged.reason
    assert gate.judged.reason.endswith("48 rollouts, $24.00")


@pytest.mark.parametrize("demand", [Demand(margin=0.3, record=RECORD), Demand(record=OldRecord({}, ""))])
def test_a_margin_or_a_record_without_tasks_that_pass_runs_both_texts_on_all_tasks(demand: Demand) -> None:
    judged, asked = judge({}, demand)
    assert judged.watched is None
    assert {(request.skill, request.task.id) for request in asked} == {
        (side, name) for side in (OLD, NEW) for name in NAMES
    }


def test_nothing_is_said_where_nothing_could_be_measured() -> None:
    with pytest.raises(InvalidMeasurementError):
        judge(dict.fromkeys(NAMES, (None, None)))
