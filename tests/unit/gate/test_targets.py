"""One text for several targets: the unit stays the task, no target may get worse, and one target changes nothing."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.gate.comparison import Outcome
from skillopt.gate.gate import Gate
from skillopt.gate.grades import Grade
from skillopt.loop.events import GateDecided, decode_event, encode_event
from skillopt.loop.evidence import TrainEvidence
from skillopt.loop.release_check import Released, check_release
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored
from tests.fakes.constants import settings_with

ALONE = [Task(f"val-{number}", f"task {number}", VerifierSpec("exact")) for number in range(24)]
SUITE = Suite("words", tuple((Split.VAL, task) for task in ALONE))
BOTH = SUITE.spread(("a", "b")).tasks(Split.VAL)
OLD, NEW = (
    Skill("words", SkillDocument(f"---\nname: words\ndescription: Words.\n---\n{name}\n")) for name in ("old", "new")
)


def settings(**values: object) -> Settings:
    return settings_with({"metric": "soft", **values})


def number(task: Task) -> int:
    return int(task.unit.id.removeprefix("val-"))


def passing(passes: Callable[[bool, Task], bool | None]) -> ScriptedRunner:
    """Answer by whether the text is the new one, and the task; None is an infrastructure error."""

    def rollout(request: RolloutRequest) -> Rollout:
        found = passes(request.skill == NEW, request.task)
        return scored(request, None if found is None else float(found))

    return ScriptedRunner(rollout, str)


def better_for_a(broken: int) -> ScriptedRunner:
    """Mend all tasks of one target, and break so many of the other."""
    return passing(lambda new, task: new if task.target == "a" else not new or number(task) >= broken)


def test_spread_tasks_name_their_target_and_leave_what_identifies_the_suite_as_it_was() -> None:
    assert [task.id for task in BOTH[:2]] == ["val-0@a", "val-0@b"]
    assert [task.unit for task in BOTH[::2]] == ALONE
    assert SUITE.spread(("a", "b")).digest == SUITE.digest
    folded = Suite(SUITE.name, SUITE.splits, (tuple(ALONE[:12]), tuple(ALONE[12:]))).spread(("a", "b"))
    assert folded.folds is not None
    assert [(len(fold), len({task.unit.id for task in fold})) for fold in folded.folds] == [(24, 12), (24, 12)]


@pytest.mark.parametrize(("broken", "outcome"), [(1, Outcome.INCONCLUSIVE), (8, Outcome.REJECT)])
def test_a_text_that_is_better_for_one_target_and_worse_for_another_is_refused(broken: int, outcome: Outcome) -> None:
    """A loss that is shown rejects, one that may be noise lets the draft wait; the mean alone would accept both."""
    verdict = Gate(BOTH, settings(), better_for_a(broken)).decide("here", OLD, NEW)
    assert (verdict.outcome, verdict.gain > 0.3) == (outcome, True)
    assert [str(one) for one in verdict.targets] == ["a: 0 → 24 of 24", f"b: 24 → {24 - broken} of 24"]
    assert f"but worse for b: 24 → {24 - broken} of 24 tasks passed, gain -0." in verdict.reason


def test_the_mean_accepts_what_one_target_gains_and_the_worst_counts_tasks_that_all_targets_pass() -> None:
    runner = passing(lambda new, task: new if task.target == "a" else False)
    accepted = Gate(BOTH, settings(), runner).decide("here", OLD, NEW)
    assert accepted.outcome is Outcome.ACCEPT
    assert accepted.wins + accepted.ties + accepted.losses == len({pair.task for pair in accepted.pairs}) <= 24
    refused = Gate(BOTH, settings(across_targets="worst"), runner).decide("here", OLD, NEW)
    assert (refused.outcome, refused.gain) == (Outcome.REJECT, 0.0)
    strong = passing(lambda new, task: new or task.target == "a")
    verdict = Gate(BOTH, settings(across_targets="worst"), strong).decide("here", OLD, NEW)
    assert (verdict.outcome, verdict.before, verdict.after) == (Outcome.ACCEPT, 0.0, 1.0)


def test_a_task_that_one_target_has_no_score_of_is_missing_and_changes_no_mean() -> None:
    runner = passing(lambda new, task: None if task.target == "b" and number(task) < 4 and new else task.target == "a")
    verdict = Gate(BOTH, settings(gate="paired"), runner).decide("here", OLD, NEW)
    assert (verdict.missing, verdict.gain) == (4, 0.0)


def test_every_batch_runs_each_target_as_often_and_a_round_takes_both() -> None:
    runner = passing(lambda new, task: number(task) < 3 and new)
    gate = Gate(BOTH, settings(), runner)
    gate.baseline(OLD)
    assert set(Counter(request.task.target for request in runner.requests).values()) == {6}
    gate.decide("here", OLD, NEW)
    counts = Counter((request.task.target, request.skill == NEW) for request in runner.requests)
    assert counts["a", True] == counts["b", True]
    assert counts["a", False] == counts["b", False]


def test_train_tasks_are_drawn_so_that_targets_take_turns() -> None:
    evidence = TrainEvidence(OLD, BOTH, Random(3))
    order = evidence.shuffled(evidence.tasks)
    assert all({name[-1] for name in order[at : at + 2]} == {"a", "b"} for at in range(0, len(order), 2))


def test_a_draft_that_a_target_is_worse_with_is_graded_by_that_target() -> None:
    grading = Gate(BOTH, settings(), better_for_a(3)).grade("end", OLD, NEW, 4)
    assert (grading.grade in (Grade.UNPROVEN, Grade.WORSE), grading.gain < 0) == (True, True)


def test_the_release_check_counts_tasks_once_and_refuses_a_text_that_breaks_a_target() -> None:
    for broken, outcome in ((0, Outcome.ACCEPT), (6, Outcome.REJECT)):
        (found,) = check_release(better_for_a(broken), Released(OLD), NEW, BOTH, settings())
        assert (found.verdict.outcome, len(found.verdict.pairs), found.before.measured) == (outcome, 24, 24)  # type: ignore[union-attr]  # it was measured


def test_a_verdict_of_one_target_is_recorded_as_before_and_one_of_several_is_read_back() -> None:
    runner = passing(lambda new, _: new)
    for tasks, recorded in ((ALONE, False), (BOTH, True)):
        event = GateDecided(1, "edits", (), Gate(tasks, settings(), runner).decide("here", OLD, NEW))
        kind, payload = encode_event(event)
        assert ('"targets"' in payload) is recorded
        assert decode_event(kind, payload) == event


OUTCOMES = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=24, max_size=24)


@given(OUTCOMES, st.sampled_from(["mean", "worst"]), st.sampled_from(["sequential", "paired", "strict"]))
def test_targets_that_do_alike_and_one_target_are_judged_as_the_gate_judges_tasks(
    outcomes: list[tuple[bool, bool]], across: str, rule: str
) -> None:
    def decide(tasks: list[Task] | tuple[Task, ...]) -> tuple[Outcome, float, int, int]:
        runner = passing(lambda new, task: outcomes[number(task)][new])
        gate = Gate(tasks, settings(across_targets=across, gate=rule), runner)
        gate.baseline(OLD)
        verdict = gate.decide("here", OLD, NEW)
        return verdict.outcome, round(verdict.gain, 9), verdict.wins, verdict.losses

    assert decide(ALONE) == decide([replace(task, id=f"{task.id}@a", target="a") for task in ALONE])
    if rule != "sequential":  # there the looks differ, for the first one may be at a part of the tasks
        assert decide(BOTH) == decide(ALONE)
