"""The pooled step: under much noise edits are taken up together and judged by whole epochs."""

from collections.abc import Callable
from itertools import count

from skillopt.loop.course import go
from skillopt.loop.events import EditRefused, TrainMeasured
from skillopt.loop.step import is_promising, take_pooled_step
from skillopt.loop.training_run import TrainingRun
from tests.fakes.worlds import World, add, named, propose_words, reply_with, words_of

SIZES = (12, 12, 0)


def begun(reply: Callable[[str], str] = propose_words) -> TrainingRun:
    run = World(named([("alpha",), ("beta",)], SIZES)).training(reply, SIZES)
    run.learner.rates.reruns, run.learner.rates.gone = 40.0, 16.0
    run.learner.pooled = True
    return run


def test_what_a_reflection_proposes_is_taken_up_without_a_test() -> None:
    run = begun()
    events = list(go([take_pooled_step(run, run.learner, 1)], run.answers))
    assert words_of(run.draft.skill) == {"keep", "alpha", "beta"}
    assert [event.tally.measured for event in events if isinstance(event, TrainMeasured)] == [12]


def test_no_more_lines_wait_than_one_verdict_can_carry_and_the_rest_is_told() -> None:
    fresh = count()
    run = begun(lambda _: reply_with(*(add(f"w{next(fresh)}", "train-0") for _ in range(20))))
    refused = [
        event
        for step in (1, 2, 3)
        for event in go([take_pooled_step(run, run.learner, step)], run.answers)
        if isinstance(event, EditRefused)
    ]
    assert len(run.draft.lines) == 24
    assert refused
    assert all("24 edits wait" in event.reason for event in refused)


def test_where_nothing_fails_nothing_is_asked() -> None:
    run = World(named([()], SIZES)).training(str, SIZES)
    run.learner.rates.reruns, run.learner.rates.gone = 40.0, 16.0
    list(go([take_pooled_step(run, run.learner, 1)], run.answers))
    assert run.runner.calls_asked == 0


def test_a_draft_is_promising_when_its_newest_half_epoch_leads_the_first_by_more_than_noise() -> None:
    run = begun()
    learner = run.learner
    learner.first_scores = [0.4] * 12
    learner.scores = [0.45] * 12
    assert not is_promising(learner, 12)
    learner.scores = [0.9] * 12
    assert is_promising(learner, 12)
    assert not is_promising(learner, 12)  # the same rollouts are not asked about twice
    learner.scores += [0.9] * 6
    assert is_promising(learner, 12)


def test_the_more_tasks_judge_the_smaller_a_lead_may_be() -> None:
    for val, expected in ((8, False), (400, True)):
        learner = begun().learner
        learner.first_scores, learner.scores = [0.4] * 12, [0.6] * 12
        assert is_promising(learner, val) is expected


def test_after_an_accept_the_next_draft_must_lead_what_was_measured_last() -> None:
    learner = begun().learner
    learner.first_scores, learner.scores = [0.2] * 12, [0.9] * 12
    assert is_promising(learner, 12)
    learner.note_accepted()
    learner.scores += [0.9] * 12
    assert not is_promising(learner, 12)
