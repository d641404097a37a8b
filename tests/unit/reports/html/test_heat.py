"""The heat map: what needs a look first, flips against the last version that ran, and no cell made up."""

from skillopt.reports.html.heat import make_heat_map
from skillopt.reports.task_grid import Cell, HeatRow
from skillopt.reports.view import VersionView

PASS, FAIL, MIXED, NONE = Cell(1, 1, 1.0), Cell(1, 0, 0.3), Cell(3, 2, 0.8), Cell()


def versions(count: int) -> list[VersionView]:
    return [VersionView(number, "", str(number), "", 1) for number in range(count)]


def test_a_flip_is_seen_across_a_version_under_which_the_task_did_not_run() -> None:
    heat = make_heat_map([HeatRow("a", "val", (PASS, NONE, FAIL))], versions(3))
    (line,) = heat.splits[0].panels[0]
    assert [cell.flip for cell in line.cells] == ["", "", "broken"]
    assert line.cells[1].words == "not evaluated"
    assert line.cells[2].words == "failed, broken"
    assert heat.splits[0].broken == 1


def test_not_evaluated_looks_unlike_failed_without_any_colour() -> None:
    heat = make_heat_map([HeatRow("a", "val", (FAIL, NONE, MIXED, PASS))], versions(4))
    (line,) = heat.splits[0].panels[0]
    assert [cell.text for cell in line.cells] == [".30", "·", "2/3", "✓"]
    assert [cell.classes for cell in line.cells] == ["failed l1", "", "mixed fixed", "passed"]


def test_one_unlucky_repeat_of_several_breaks_nothing() -> None:
    heat = make_heat_map([HeatRow("a", "val", (PASS, Cell(7, 6, 0.9), Cell(2, 1, 0.6)))], versions(3))
    (line,) = heat.splits[0].panels[0]
    assert [cell.flip for cell in line.cells] == ["", "", "broken"]


def test_broken_tasks_stand_first_and_tasks_that_never_ran_are_counted_only() -> None:
    rows = [
        HeatRow("fine", "val", (PASS, PASS)),
        HeatRow("fixed", "val", (FAIL, PASS)),
        HeatRow("failing", "val", (FAIL, FAIL)),
        HeatRow("broken", "val", (PASS, FAIL)),
        HeatRow("idle", "val", (NONE, NONE)),
    ]
    (split,) = make_heat_map(rows, versions(2)).splits
    assert [line.task for panel in split.panels for line in panel] == ["broken", "failing", "fixed", "fine"]
    assert (split.shown, split.never_run, split.fixed, split.broken) == (4, 1, 1, 1)


def test_more_than_can_be_shown_is_left_out_and_counted() -> None:
    rows = [HeatRow(f"t{number}", "train", (FAIL,) * 30) for number in range(1000)]
    heat = make_heat_map(rows, versions(30))
    assert heat.versions[0] == 0
    assert heat.versions[-1] == 29
    assert len(heat.versions) + heat.versions_left_out == 30
    assert heat.splits[0].shown + heat.splits[0].left_out == 1000
    assert heat.splits[0].shown < 200
    assert sum(len(panel) for panel in heat.splits[0].panels) < 60
    assert sum(len(panel) for panel in (*heat.splits[0].panels, *heat.splits[0].folded)) == heat.splits[0].shown
