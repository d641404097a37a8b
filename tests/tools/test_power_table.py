"""The table of the gate's power that `estimate` reads."""

import csv

import pytest

from tools.power_table import COLUMNS, TABLE, make_row

pytestmark = pytest.mark.slow


def test_the_table_is_what_the_gates_own_tests_show_in_simulation() -> None:
    with TABLE.open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    assert header == list(COLUMNS)
    for parts, rounds, tasks in ((1, 4, 12), (1, 1, 6), (4, 4, 8)):
        assert [str(cell) for cell in make_row(parts, rounds, tasks)] in rows


def test_more_tasks_show_smaller_gains_and_one_task_none() -> None:
    one, few, many = (make_row(1, 4, tasks) for tasks in (1, 8, 40))
    least = COLUMNS.index("least_proven")
    assert one[least] == ""
    assert int(many[least]) < int(few[least])
