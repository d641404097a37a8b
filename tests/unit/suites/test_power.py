"""How often a truly better skill would be called so."""

import json

import pytest

from skillopt.settings import Metric
from skillopt.suites.power import GAINS, Judging, chances, parts_of, smallest_gain_shown
from skillopt.tasks import Task, VerifierSpec


def judging(tasks: int, parts: int = 1, gate: int = 3, here: int = 4, metric: Metric = Metric.MIXED) -> Judging:
    return Judging((parts,) * tasks, gate, here, metric, 0.9)


def test_a_rubric_counts_its_criteria_a_table_its_parts_and_all_else_passes_or_fails() -> None:
    rubric = VerifierSpec("rubric", json.dumps({"criteria": ["a", "b", "c"]}))
    assert parts_of(Task("r", "do r", rubric)) == 3
    assert parts_of(Task("t", "do t", VerifierSpec("table"))) > 1
    assert {parts_of(Task(kind, "do", VerifierSpec(kind))) for kind in ("exact", "regex", "command", "own")} == {1}


@pytest.mark.slow
@pytest.mark.parametrize("parts", [1, 4])
def test_more_tasks_and_greater_gains_are_shown_more_often(parts: int) -> None:
    by_tasks = [chances(judging(tasks, parts), 0.4).here for tasks in (2, 8, 24)]
    by_gain = [chances(judging(12, parts), gain).here for gain in (0.1, 0.4, 1.0)]
    assert by_tasks == sorted(by_tasks)
    assert by_gain == sorted(by_gain)
    assert by_tasks[-1] > 0.9
    assert by_tasks[0] < 0.5


def test_no_gain_is_seldom_called_one() -> None:
    found = chances(judging(12), 1e-9)
    assert found.proven <= 0.1
    assert found.here <= 0.2  # two promises of one in ten


def test_one_task_and_a_gate_without_runs_show_nothing() -> None:
    assert smallest_gain_shown(judging(1), proven=False) is None
    assert smallest_gain_shown(judging(30, gate=0, here=0), proven=False) is None
    assert smallest_gain_shown(judging(30, gate=0), proven=True) is None
    assert smallest_gain_shown(judging(30, gate=0), proven=False) in GAINS


def test_eight_wins_are_needed_where_five_seem_enough() -> None:
    """Five wins in five tasks are p = .03, but wins are lost by chance and half of the tasks pass already."""
    assert smallest_gain_shown(judging(5, here=0), proven=True) is None or chances(judging(5, here=0), 0.5).proven < 0.5
    assert chances(judging(16, here=0), 0.5).proven > 0.5


def test_criteria_show_smaller_gains_than_passes_of_the_same_tasks() -> None:
    passes, criteria = (chances(judging(8, 4, metric=metric), 0.3).here for metric in (Metric.HARD, Metric.SOFT))
    assert criteria > passes


def test_the_same_question_has_the_same_answer() -> None:
    first = chances(judging(7), 0.2)
    chances.cache_clear()
    assert chances(judging(7), 0.2) == first
