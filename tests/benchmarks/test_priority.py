"""Optimizer models are held against planted truth: what helps, what harms, and in which order."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.landscapes.worlds import WORLDS
from benchmarks.priority.__main__ import main
from benchmarks.priority.asking import answer
from benchmarks.priority.cases import make_case
from benchmarks.priority.correlation import interval, kendall, spearman
from benchmarks.priority.references import REFERENCES
from skillopt.models import load_model
from skillopt.presets import make_settings
from skillopt.skills.edits import Op
from skillopt.testing import ScriptedModel

SETTINGS = make_settings()
CASES = [make_case("harmful", seed, 36) for seed in range(12)]


# Where nothing helps, or nothing alone, no candidate can; and a case asks for train tasks.
@pytest.mark.parametrize("name", [name for name in WORLDS if WORLDS[name].train and name not in {"null", "all-pairs"}])
def test_every_world_gives_candidates_that_help_that_harm_and_that_change_nothing(name: str) -> None:
    case = make_case(name, 3, 36)
    gains = [case.gains[edit.id] for edit in case.edits]
    assert min(gains) < 0 < max(gains)
    assert {edit.op for edit in case.edits} == {Op.ADD, Op.DELETE}
    assert case.failing
    assert {task for edit in case.edits for task in edit.tasks} <= {task.id for task, _ in case.failing}


def test_a_case_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    assert make_case("harmful", 0, 36) == CASES[0] != CASES[1]


def test_reasons_do_not_tell_right_candidates_from_wrong_ones() -> None:
    forms: dict[bool, set[str]] = {True: set(), False: set()}
    for case in CASES:
        for edit in case.edits:
            forms[case.gains[edit.id] > 0].add(re.sub(r"\d+", "#", edit.rationale))
    assert forms[True] == forms[False] == {"# tasks show symptom S#."}


def test_the_oracle_is_perfect_and_chance_is_worth_nothing() -> None:
    oracle = [answer(case, "oracle", REFERENCES["oracle"](case), SETTINGS) for case in CASES]
    assert all(one.ranked == one.reflected == one.helpful == 1.0 for one in oracle)
    cases = [make_case("harmful", seed, 36) for seed in range(60)]
    chance = [answer(case, "random", REFERENCES["random"](case), SETTINGS) for case in cases]
    low, high = interval([one.ranked for one in chance], 0.99)
    assert low < 0 < high


def test_evidence_alone_ranks_better_than_the_simulated_proposer() -> None:
    def mean(name: str) -> float:
        return sum(answer(case, name, REFERENCES[name](case), SETTINGS).ranked for case in CASES) / len(CASES)

    assert mean("grounding") > mean("simulated") + 0.1


def test_a_model_that_proposes_nothing_or_cannot_be_read_has_no_order() -> None:
    silent = answer(CASES[0], "demo", load_model("demo", SETTINGS), SETTINGS)
    assert (silent.reflected, silent.proposed, silent.unreadable) == (0.0, 0, 0)
    broken = answer(CASES[0], "broken", ScriptedModel(lambda _: "no"), SETTINGS)
    assert (broken.ranked, broken.reflected, broken.unreadable, broken.usage.calls) == (0.0, 0.0, 2, 4)


def test_proposing_what_does_harm_first_is_worse_than_proposing_nothing() -> None:
    case = CASES[0]
    (worst, *_) = sorted(case.edits, key=lambda edit: case.gains[edit.id])
    edit = {"op": worst.op.value, "anchor": worst.anchor, "section": worst.section, "content": worst.content}
    found = answer(case, "harm", ScriptedModel(lambda _: json.dumps({"edits": [edit], "order": []})), SETTINGS)
    assert found.reflected < 0
    assert (found.helpful, found.harmful) == (0.0, 1.0)


def test_pairs_that_are_equal_in_truth_do_not_count_and_ties_where_it_differs_count_nothing() -> None:
    assert kendall([3, 1, 2], [1.0, 0.0, 0.0]) == 1.0
    assert kendall([1, 1], [0.0, 1.0]) == 0.0
    with pytest.raises(ValueError, match="found nothing"):
        kendall([1, 2], [0.5, 0.5])


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=8))
def test_correlations_are_between_one_and_minus_one_and_turn_with_the_order(pairs: list[tuple[int, int]]) -> None:
    predicted, truth = zip(*pairs, strict=True)
    against = [-value for value in predicted]
    assert abs(spearman(predicted, truth)) <= 1.0 + 1e-9
    assert spearman(predicted, truth) == pytest.approx(-spearman(against, truth))
    if len(set(truth)) > 1:
        assert abs(kendall(predicted, truth)) <= 1.0
        assert kendall(predicted, truth) == -kendall(against, truth)


def test_an_interval_holds_the_mean_and_shrinks_with_more_cases() -> None:
    low, high = interval([0.0, 1.0] * 5)
    narrow = interval([0.0, 1.0] * 50)
    assert low < narrow[0] < 0.5 < narrow[1] < high


def test_the_command_prints_a_row_for_each_model_and_writes_a_line_for_each_case(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = tmp_path / "answers.jsonl"
    assert main(["--model", "demo", "--worlds", "weak", "--cases", "2", "--json", str(lines)]) == 0
    shown = capsys.readouterr().out
    for name in (*REFERENCES, "demo"):
        assert f"| weak | {name} |" in shown
    assert "seeds 0 to 1" in shown
    assert len(lines.read_text(encoding="utf-8").splitlines()) == 2 * (len(REFERENCES) + 1)


def test_a_model_that_does_not_exist_is_a_usage_error_that_names_the_nearest(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--model", "dmo", "--worlds", "weak", "--cases", "1"]) == 2
    assert "did you mean 'demo'" in capsys.readouterr().err
