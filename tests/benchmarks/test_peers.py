"""Other optimizers in the worlds: the arena is fair and counts, and each optimizer does what it says it does."""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean

import pytest

from benchmarks.landscapes.lines import idle_line, rule_line
from benchmarks.landscapes.runs import Job, run_job
from benchmarks.landscapes.truth import document_of, start_of, true_score
from benchmarks.landscapes.worlds import WORLDS
from benchmarks.peers import no_gate
from benchmarks.peers.arena import Figures, SimulatedArena
from benchmarks.peers.contestants import CONTESTANTS, Batch, play
from benchmarks.peers.environments import is_ready
from benchmarks.peers.exchange import BudgetSpentError, Outcome, failures
from benchmarks.peers.processes import PeerError, PeerProcess

# An interpreter that has nothing installed, as far as the environment of these tests goes.
BARE = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
INSIDE = [name for name, contestant in CONTESTANTS.items() if not contestant.environment]
OUTSIDE = [name for name, contestant in CONTESTANTS.items() if contestant.environment]


def arena(world: str = "distractors", seed: int = 0, rollouts: int = 1000) -> SimulatedArena:
    return SimulatedArena(world, "somebody", seed, rollouts)


def figures(peer: str, world: str, rollouts: int, seed: int = 0) -> Figures:
    (run,) = play(Batch(world, peer, range(seed, seed + 1), rollouts))
    return replace(run, wall=0.0)


def test_a_rollout_that_is_asked_for_again_is_a_new_draw_with_the_expected_mean() -> None:
    field = arena(rollouts=4000)
    text = document_of(tuple(rule_line(rule) for rule in range(6)))
    passes = [tuple(outcome.score for outcome in field.run(text, field.terms.val)) for _ in range(100)]
    assert len(set(passes)) > 90
    assert fmean(map(fmean, passes)) == pytest.approx(true_score(WORLDS["distractors"], text), abs=0.03)


def test_what_goes_wrong_shows_its_symptom_and_what_goes_right_does_not() -> None:
    outcomes = arena().run(document_of(()), arena().terms.train)
    assert {len(failures(outcomes)) + sum(outcome.score == 1 for outcome in outcomes)} == {60}
    assert all(("symptom S" in outcome.feedback) == (outcome.score < 1) for outcome in outcomes)


def test_more_rollouts_than_are_left_are_refused_and_none_is_run() -> None:
    field = arena(rollouts=40)
    field.run(field.terms.start, field.terms.val)
    assert field.left == 4
    with pytest.raises(BudgetSpentError):
        field.run(field.terms.start, field.terms.val[:5])
    assert field.left == 4
    assert len(field.run(field.terms.start, field.terms.val[:4])) == 4


def test_the_same_question_gets_another_sample_and_another_arena_gets_the_same_ones() -> None:
    failing = [Outcome(f"train-{rule:03d}", 0.0, f"symptom S{rule:02d}") for rule in range(12)]
    first, second = arena(), arena()
    asked = [first.propose(first.terms.start, failing, 4) for _ in range(5)]
    assert len({made.text for made in asked}) == 5
    assert asked == [second.propose(second.terms.start, failing, 4) for _ in range(5)]
    assert all(made.text.endswith("\n") and len(made.edits) <= 4 for made in asked)


def test_a_proposal_s_text_has_its_edits_made() -> None:
    field = arena("harmful-deletes")
    text = document_of((idle_line(1), idle_line(2), idle_line(3)))
    failing = [Outcome("train-001", 0.0, "symptom S01"), Outcome("train-002", 0.0, "symptom S02")]
    kinds = set()
    for _ in range(40):
        made = field.propose(text, failing, 2)
        lines = made.text.splitlines()
        for edit in made.edits:
            kinds.add(edit.op)
            assert (edit.line in lines) == (edit.op == "add")
    assert kinds == {"add", "delete"}


def test_the_figures_follow_from_what_was_said() -> None:
    field = arena(rollouts=100)
    one, two = document_of((rule_line(0),)), document_of((rule_line(0), idle_line(0)))
    field.run(field.terms.start, field.terms.val)
    field.accepts(field.terms.start, one)
    field.returns(one, 0.4)
    field.run(one, field.terms.val)
    field.accepts(one, two)
    field.returns(two, 0.5)
    field.called()
    found = field.figures(2.0, gated=True)
    low, high = (true_score(WORLDS["distractors"], text) for text in (field.terms.start, one))
    assert [since for since, _ in found.curve] == [0, 36, 72]
    assert [score for _, score in found.curve] == pytest.approx([low, high, high], abs=1e-6)
    assert (found.accepted, found.false_accepts, found.calls, found.asked) == (2, 1, 1, 72)
    assert found.reported == 0.5
    assert found.reported_true == pytest.approx(high)
    assert found.area == pytest.approx((36 * low + 64 * high) / 100, abs=1e-6)
    assert field.figures(2.0, gated=False).false_accepts is None


def test_edits_are_ranked_by_support_only_where_the_optimizer_model_does_so() -> None:
    supports = [1, 5, 2, 5, 3]
    ranked = arena("strong").rank(supports)
    assert [supports[at] for at in ranked] == [5, 5, 3, 2, 1]
    orders = {tuple(arena("distractors", seed).rank(supports)) for seed in range(20)}
    assert len(orders) > 10


@pytest.mark.parametrize("world", ["errors", "drift", "flaky-verifiers"])
def test_a_world_that_peers_have_no_answer_to_is_refused(world: str) -> None:
    with pytest.raises(ValueError, match="without errors, shifts and flaky verifiers"):
        arena(world)


def test_peers_start_from_the_document_of_the_world() -> None:
    assert arena("spoiled").terms.start == start_of(WORLDS["spoiled"]).document.text


@pytest.mark.parametrize("peer", INSIDE)
def test_an_optimizer_in_this_interpreter_is_the_same_again_and_keeps_to_the_budget(peer: str) -> None:
    found = figures(peer, "harmful", 500)
    assert found == figures(peer, "harmful", 500)
    assert found.asked <= 500
    assert all(since <= 500 for since, _ in found.curve)


def test_one_shot_looks_at_every_train_task_once_and_reports_one_pass_over_val() -> None:
    found = figures("one-shot rewrite", "noise-free", 3000)
    assert (found.asked, found.calls, found.accepted) == (96, 1, None)
    assert found.reported == found.reported_true
    assert found.curve[0] == (0, 0.0)
    assert found.curve[-1][0] == 60


def test_without_a_gate_everything_stays_and_harm_adds_up() -> None:
    found = figures("no gate", "harmful", 3000)
    assert found.reported is None
    assert found.tokens > 2000
    assert max(score for _, score in found.curve) > 0.3 > found.curve[-1][1]


def test_the_textgrad_shape_goes_back_when_the_mean_falls() -> None:
    found = figures("textgrad-style", "noise-free", 3000)
    scores = [score for _, score in found.curve]
    assert scores == sorted(scores)
    assert found.reported == found.reported_true == 1.0


def test_our_presets_have_the_figures_of_the_landscapes() -> None:
    found, run = figures("our paper", "strong", 500, seed=3), run_job(Job("strong", "paper", 3, 500, shipped=True))
    assert (found.curve, found.reach, found.false_accepts) == (run.curve, run.reach, run.false_accepts)
    assert (found.reported, found.reported_true, found.asked) == (run.reported, run.reported_true, run.asked)


def test_longer_our_published_loop_goes_on_where_it_would_have_ended() -> None:
    ended, longer = (figures(peer, "strong", 900, seed=3) for peer in ("our paper", "our paper, longer"))
    assert longer.asked > ended.asked
    assert 850 < longer.asked <= 900


@pytest.mark.parametrize("peer", INSIDE)
def test_a_suite_smaller_than_a_batch_is_trained_on_all_the_same(peer: str) -> None:
    found = figures(peer, "real-8", 120)
    assert 0 < found.asked <= 120
    assert found.calls > 0
    assert found.curve[0][1] == pytest.approx(0.42)


def test_every_seed_deals_the_few_tasks_of_a_suite_anew() -> None:
    terms = [arena("real-12", seed).terms for seed in (0, 1)]
    assert [len(one.train) + len(one.val) for one in terms] == [12, 12]
    shown = [
        tuple(outcome.feedback for outcome in arena("real-12", seed).run(terms[0].start, terms[0].train))
        for seed in (0, 1)
    ]
    assert shown[0] != shown[1]


def test_a_proposer_that_fades_offers_a_right_line_twice_and_then_hardly_ever() -> None:
    field = arena("fading", rollouts=10)
    failing = [Outcome(f"train-{rule:03d}", 0.0, f"symptom S{rule:02d}") for rule in range(12)]
    made = [field.propose(field.terms.start, failing, 12) for _ in range(40)]
    offered = [
        sum("RULE-00a" in edit.line for proposal in part for edit in proposal.edits) for part in (made[:8], made[8:])
    ]
    assert offered[0] == 2
    assert offered[1] <= 4


def test_a_run_over_the_wire_is_the_run_in_this_interpreter() -> None:
    near, far = arena("hostile", 5, 400), arena("hostile", 5, 400)
    with pytest.raises(BudgetSpentError):
        no_gate.train(near)
    with PeerProcess(BARE, no_gate.__name__) as process:
        process.play(far)
        again = arena("hostile", 5, 400)
        process.play(again)
    expected = near.figures(0.0, gated=False)
    assert expected.calls > 10
    assert far.figures(0.0, gated=False) == again.figures(0.0, gated=False) == expected


def test_a_peer_that_breaks_says_what_it_wrote() -> None:
    with (
        pytest.raises(PeerError, match=r"No module named 'benchmarks\.peers\.nobody'"),
        PeerProcess(BARE, "benchmarks.peers.nobody") as process,
    ):
        process.play(arena())


@pytest.mark.parametrize("peer", list(CONTESTANTS))
def test_every_adapter_says_what_was_chosen_for_it(peer: str) -> None:
    choices = CONTESTANTS[peer].choices
    assert "hoices" in choices
    shared = [name for name in OUTSIDE if CONTESTANTS[name].adapter == CONTESTANTS[peer].adapter]
    assert len(shared) < 2 or f"- `{peer}`:" in choices


@pytest.mark.parametrize("peer", OUTSIDE)
def test_a_peer_from_the_package_index_is_the_same_again_and_keeps_to_the_budget(peer: str) -> None:
    contestant = CONTESTANTS[peer]
    if not is_ready(contestant.environment):
        pytest.skip(f"needs the environment {contestant.environment!r}, which `make bench-peers` sets up")
    first, again = (replace(run, wall=0.0) for _ in range(2) for run in play(Batch("partial", peer, range(1), 2000)))
    assert asdict(first) == asdict(again)
    assert first.calls > 0
    assert 500 < first.asked <= 2000
    assert first.curve[-1][1] > first.curve[0][1]
