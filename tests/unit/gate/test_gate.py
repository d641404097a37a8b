"""Measuring for the gate: side by side, no longer than needed, one error for all verdicts of a run."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from skillopt.errors import InvalidMeasurementError
from skillopt.gate.comparison import Pairs, TaskCosts
from skillopt.gate.decide import Outcome
from skillopt.gate.error_budget import ErrorBudget
from skillopt.gate.gate import BASELINE_TASKS, Gate, resolvable_gain
from skillopt.gate.grades import Against, Grade
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Rollout, Usage
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import Task, VerifierSpec
from skillopt.testing import ScriptedRunner, scored
from tests.fakes.constants import settings_with

TASKS = [Task(f"val-{number}", f"task {number}", VerifierSpec("exact")) for number in range(24)]


def skill(name: str) -> Skill:
    return Skill("words", SkillDocument(f"---\nname: words\ndescription: Words.\n---\n{name}\n"))


OLD, NEW = skill("old"), skill("new")


def settings(**values: object) -> Settings:
    return settings_with({"metric": "soft", **values})


def keeper(runner: ScriptedRunner, *, looked: tuple[float, ...] = (), **values: object) -> Gate:
    return Gate(TASKS, settings(**values), runner, looked=looked)


def better_by(tasks: int) -> ScriptedRunner:
    """The new skill passes so many tasks that the old one fails; all others tie."""
    names = {task.id for task in TASKS[:tasks]}
    return ScriptedRunner(
        lambda request: scored(request, float(request.skill == NEW) if request.task.id in names else 1.0), str
    )


def test_a_great_gain_is_accepted_before_all_tasks_were_run() -> None:
    runner = better_by(24)
    verdict = keeper(runner).decide("here", OLD, NEW)
    assert verdict.outcome is Outcome.ACCEPT
    assert len(runner.requests) == len(TASKS)
    assert verdict.confidence >= 0.95
    sides = Counter(request.skill == NEW for request in runner.requests)
    assert sides[True] == sides[False]


def test_a_tight_cap_has_one_look_at_the_tasks_that_fit_those_with_a_baseline_first() -> None:
    runner = better_by(24)
    gate = keeper(runner)
    gate.baseline(OLD)
    runner.requests.clear()
    verdict = gate.decide("here", OLD, NEW, BASELINE_TASKS)
    assert verdict.accepted
    assert len(verdict.pairs) == BASELINE_TASKS
    assert {request.skill for request in runner.requests} == {NEW}


def test_what_one_round_cannot_tell_is_run_again_and_never_counts_a_task_twice() -> None:
    runner = better_by(3)
    verdict = keeper(runner).decide("here", OLD, NEW)
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.wins + verdict.ties + verdict.losses == len(TASKS)
    assert {request.repeat for request in runner.requests} == {0, 1, 2}


def test_what_a_gate_left_out_when_it_gave_up_runs_for_the_grade_as_far_as_rollouts_are_left() -> None:
    gate = keeper(ScriptedRunner(lambda request: scored(request, float(request.skill == OLD)), str))
    looked_at = len(gate.decide("here", OLD, NEW).pairs)
    assert looked_at < len(TASKS) - 1
    gate.measure_rest(OLD, NEW, 3)
    assert gate.grade("end", OLD, NEW).grading.tasks == looked_at + 1
    gate.measure_rest(OLD, NEW, 2 * len(TASKS))
    assert gate.grade("end", OLD, NEW).grading.tasks == len(TASKS)


def test_each_comparison_has_rollouts_of_its_own() -> None:
    runner = better_by(24)
    gatekeeper = keeper(runner)
    gatekeeper.decide("here", OLD, NEW)
    first = {request.repeat for request in runner.requests}
    runner.requests.clear()
    gatekeeper.decide("here", OLD, NEW)
    assert not first & {request.repeat for request in runner.requests}


def test_who_has_spent_error_before_is_asked_for_more_and_gets_nothing_when_it_is_spent() -> None:
    fresh, late, never = better_by(7), better_by(7), better_by(24)
    assert keeper(fresh).decide("here", OLD, NEW).outcome is Outcome.ACCEPT
    assert keeper(late, looked=(0.03, 0.025)).decide("here", OLD, NEW).outcome is not Outcome.ACCEPT
    assert keeper(never, looked=(0.1,)).decide("here", OLD, NEW).outcome is not Outcome.ACCEPT


def test_a_verdict_says_what_error_it_spent_and_an_accept_spends_none() -> None:
    gate = keeper(better_by(24))
    assert gate.decide("here", OLD, NEW).error_spent == 0.0
    assert gate.error_spent == pytest.approx(0.0)
    gate = keeper(ScriptedRunner(lambda request: scored(request, float(request.skill == OLD)), str))
    spent = gate.decide("here", OLD, NEW).error_spent
    assert spent == pytest.approx(0.05)
    assert gate.error_spent == pytest.approx(spent)


def test_partial_scores_are_judged_by_their_mean_and_a_rare_great_loss_is_not_overlooked() -> None:
    accepted = 0
    for seed in range(200):
        draw = Random(seed)
        gains = {task.id: -0.45 if draw.random() < 0.1 else 0.05 for task in TASKS}

        def rollout(request: RolloutRequest, gains: dict[str, float] = gains) -> Rollout:
            return scored(request, 0.5 + gains[request.task.id] * (request.skill == NEW))

        accepted += keeper(ScriptedRunner(rollout, str)).decide("here", OLD, NEW).outcome is Outcome.ACCEPT
    assert accepted <= 200 * 0.07


def test_a_draft_that_was_never_compared_is_proven_at_the_end_where_that_can_be_shown() -> None:
    gate = keeper(better_by(24))
    verdict = gate.grade("end", OLD, NEW, 4)
    assert (verdict.outcome, verdict.grading.grade) == (Outcome.ACCEPT, Grade.PROVEN)


def test_after_many_nights_that_failed_a_gain_on_these_tasks_is_shown_by_fresh_repeats_that_stop_when_it_is() -> None:
    draw, spent = Random(1), ErrorBudget.after(0.1, ())
    for _ in range(12):
        spent = spent.spend(spent.allowance)
    mended = {task.id for task in TASKS[:12]}

    def flipping(request: RolloutRequest) -> Rollout:
        passes = request.skill == NEW and request.task.id in mended
        return scored(request, float(passes != (draw.random() < 0.1)))

    runner = ScriptedRunner(flipping, str)
    grading = keeper(runner, looked=(spent.spent,)).grade("end", OLD, NEW, 4).grading
    assert grading.grade is Grade.PROVEN_HERE
    assert (grading.tasks, 10 <= grading.changed <= 14) == (24, True)
    assert grading.grade is Grade.PROVEN_HERE
    assert len(runner.requests) < 4 * 2 * len(TASKS)


def test_a_draft_that_does_worse_is_called_worse() -> None:
    runner = ScriptedRunner(lambda request: scored(request, float(request.skill == OLD)), str)
    grading = keeper(runner).grade("end", OLD, NEW, 4).grading
    assert grading.grade is Grade.WORSE
    assert (grading.probability or 0.0) < 0.01
    assert len(runner.requests) == 2 * len(TASKS)


@pytest.mark.parametrize(("passes", "outcome"), [(24, Outcome.ACCEPT), (20, Outcome.ACCEPT), (14, Outcome.REJECT)])
def test_a_later_version_is_better_than_the_first_text_and_not_worse_than_the_newest(
    passes: int, outcome: Outcome
) -> None:
    last = skill("candidate")
    known = {OLD: 0, NEW: 20, last: passes}
    runner = ScriptedRunner(
        lambda request: scored(request, float(TASKS.index(request.task) < known[request.skill or OLD])), str
    )
    gate = keeper(runner)
    assert gate.decide("step 1", OLD, NEW).outcome is Outcome.ACCEPT
    verdict = gate.decide_later("step 2", OLD, NEW, last)
    assert (verdict.outcome, verdict.grading.against) == (outcome, Against.FIRST)
    assert bool(verdict.error_spent) is (outcome is Outcome.REJECT)


def test_a_text_that_fails_all_that_the_start_passes_is_worse_and_never_offered() -> None:
    tasks = TASKS[:20]

    def run(request: RolloutRequest) -> Rollout:
        return scored(request, float(request.skill == OLD and request.task in tasks[:3]))

    verdict = Gate(tasks, settings(), ScriptedRunner(run, str)).grade("end", OLD, NEW, 4)
    assert (verdict.outcome, verdict.grading.grade) == (Outcome.REJECT, Grade.WORSE)
    assert not verdict.grading.offered
    assert verdict.grading.high < 0.15


def test_what_all_tasks_taught_is_proven_here_at_most_and_rollouts_of_learning_give_a_probability_alone() -> None:
    runner = ScriptedRunner(lambda request: scored(request, float(request.skill == NEW)), str)
    gate = keeper(runner)
    before, after = (runner.rollouts([RolloutRequest(text, task) for task in TASKS]) for text in (OLD, NEW))
    gate.take_up(OLD, NEW, Pairs(list(before), list(after)))
    assert gate.grade("end", OLD, NEW).grading.grade is Grade.LIKELY
    assert keeper(runner).grade("end", OLD, NEW, 4, "all tasks taught it").grading.grade is Grade.PROVEN_HERE


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.slow
def test_a_run_in_which_nothing_helps_accepts_no_more_often_than_promised_however_often_it_asks(
    *, partial: bool
) -> None:
    runs, asked, accepted = 400, 6, 0
    for seed in range(runs):
        draw = Random(seed)

        def luck(request: RolloutRequest, draw: Random = draw) -> Rollout:
            return scored(request, draw.choice((0.0, 0.25, 0.75, 1.0)) if partial else float(draw.random() < 0.5))

        gatekeeper = keeper(ScriptedRunner(luck, str))
        found = [gatekeeper.decide("here", OLD, skill(f"candidate {number}")).outcome for number in range(asked)]
        accepted += Outcome.ACCEPT in found
    assert accepted / runs <= 0.1 + 3 * (0.1 * 0.9 / runs) ** 0.5


@pytest.mark.slow
def test_in_a_year_of_nights_that_gain_nothing_fewer_skills_are_called_better_than_promised() -> None:
    skills, false = 40, 0
    for number in range(skills):
        draw, spent = Random(number), 0.0

        def luck(request: RolloutRequest, draw: Random = draw) -> Rollout:
            return scored(request, float(draw.random() < 0.6))

        for night in range(12):
            gate = Gate(TASKS[:12], settings(seed=100 * number + night), ScriptedRunner(luck, str), looked=[spent])
            gates = gate.decide("in between", OLD, skill(f"draft {night}")), gate.grade("end", OLD, NEW, 2)
            spent += gate.error_spent
            if gates[0].outcome is Outcome.ACCEPT or gates[1].grading.grade in (Grade.PROVEN, Grade.PROVEN_HERE):
                false += 1
                break
    assert false / skills <= 0.07 + 2 * (0.07 * 0.93 / skills) ** 0.5


def costing(**costs: float | None) -> ScriptedRunner:
    """Old and new score the same; the new one takes other turns or dollars, where the old one takes 10 of each."""

    def run(request: RolloutRequest) -> Rollout:
        found = costs if request.skill == NEW else {}
        done = scored(request, 1.0)
        usage = Usage(int(found.get("turns") or 10), usd=found.get("usd", 10.0))
        return replace(done, trajectory=replace(done.trajectory, usage=usage))

    return ScriptedRunner(run, str)


@pytest.mark.parametrize("gate", ["sequential", "paired"])
def test_a_verdict_tells_what_a_rollout_of_both_sides_takes(gate: str) -> None:
    before, after = keeper(costing(turns=4, usd=None), gate=gate).decide("here", OLD, NEW).costs
    assert (before, after) == (TaskCosts(10.0, 10.0), TaskCosts(None, 4.0))


def test_a_dead_provider_is_no_verdict() -> None:
    runner = ScriptedRunner(lambda request: scored(request, None), str)
    with pytest.raises(InvalidMeasurementError, match="scripted failure"):
        keeper(runner).decide("step 1", OLD, NEW)


def test_the_baseline_takes_a_sample_unless_candidates_are_compared_with_it() -> None:
    sampled, whole = better_by(0), better_by(0)
    keeper(sampled).baseline(OLD)
    keeper(whole, gate="strict").baseline(OLD)
    assert {len({request.task.id for request in runner.requests}) for runner in (sampled,)} == {BASELINE_TASKS}
    assert len({request.task.id for request in whole.requests}) == len(TASKS)


def test_a_split_that_could_never_certify_a_gain_is_told_beforehand() -> None:
    assert resolvable_gain(3, settings()) is None
    smallest = resolvable_gain(24, settings())
    assert smallest is not None
    assert smallest == 5 / 24
    assert resolvable_gain(4, settings()) == 1.0
    paired = resolvable_gain(24, settings(gate="paired"))
    assert paired is not None
    assert paired <= smallest


def test_the_first_comparison_uses_the_baseline_as_the_incumbent_s_side_and_runs_it_once() -> None:
    runner = better_by(0)
    gate = keeper(runner)
    gate.baseline(OLD, whole=True)
    before = sum(request.skill == OLD for request in runner.requests)
    gate.decide("here", OLD, NEW, len(TASKS))
    asked = [request for request in runner.requests if request.skill == OLD]
    assert before == len(asked) == len(TASKS)
    gate.decide("there", OLD, NEW, 2 * len(TASKS))
    assert len([request for request in runner.requests if request.skill == OLD]) > before


def test_a_deterministic_target_counts_each_task_once_however_often_it_is_run() -> None:
    few, more = better_by(4), better_by(5)
    assert keeper(few, gate="paired").grade("end", OLD, NEW, 4).grading.grade is Grade.LIKELY
    assert keeper(more, gate="paired").grade("end", OLD, NEW, 4).grading.grade is Grade.PROVEN_HERE
