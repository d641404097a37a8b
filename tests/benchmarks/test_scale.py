"""The benchmarks of scale: the page is written from the results file, and what breaks first from measured constants."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scale.__main__ import main
from benchmarks.scale.capacity import CHECK, CHOOSE, Capacity, Job, errors, measure_run
from benchmarks.scale.capacity import markdown as capacity_table
from benchmarks.scale.capacity import plots as capacity_plots
from benchmarks.scale.constants import Constants, Program
from benchmarks.scale.million import ACCOUNT, AGENT, CHAT, NIGHT, Million, limits, markdown
from benchmarks.scale.page import PAGE, Part, format_page, plot_file, read_parts, write_parts
from benchmarks.scale.plot import find_plot
from benchmarks.scale.plotted import Panel, Plot, Series

MEASURED = Constants(1000, 2.0, 5_000, 25_000, 300.0, 3_000.0, 20.0, 600.0, (Program("claude", 240.0, 1.0),))


def test_the_page_is_what_the_results_file_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == format_page(read_parts())


def test_every_plot_of_the_results_file_is_drawn() -> None:
    assert [plot for part in read_parts().values() for plot in part.plots if not plot_file(plot["name"]).exists()] == []


def test_what_breaks_first_is_computed_from_the_constants_in_the_results_file() -> None:
    part = read_parts()["constants"].result
    constants = Constants(**dict(part) | {"programs": tuple(Program(**one) for one in part["programs"])})
    found = Million(limits(constants, AGENT, ACCOUNT), limits(constants, CHAT, ACCOUNT))
    assert read_parts()["million"].markdown == markdown(found)


def test_the_narrowest_limit_comes_first_and_what_does_not_break_is_not_named() -> None:
    found = limits(MEASURED, AGENT, ACCOUNT)
    assert [one.most for one in found] == sorted(one.most for one in found)
    said = markdown(Million(found, limits(MEASURED, CHAT, ACCOUNT)))
    assert f"**First: dollars, at {float(f'{ACCOUNT.usd / AGENT.usd:.1e}'):,.0f} rollouts a night.**" in said
    rich = replace(ACCOUNT, usd=1e12, requests=10**9, uncached=10**12, written=10**12)
    (busy,) = (one for one in limits(MEASURED, CHAT, rich) if one.most < 10**6)
    assert busy.what.startswith("workers")


def test_memory_allows_as_many_clients_as_fit_side_by_side() -> None:
    (memory,) = (one for one in limits(MEASURED, AGENT, ACCOUNT) if one.what == "memory for claude")
    assert memory.most == int(0.9 * 64 * 1024 / 240) * NIGHT / 70


@given(st.floats(1.1, 100.0))
def test_a_rollout_that_takes_more_allows_fewer(factor: float) -> None:
    slow = replace(MEASURED, cpu_ms=MEASURED.cpu_ms * factor, bytes_agent=MEASURED.bytes_agent * factor)
    fast, less = ({one.what: one.most for one in limits(one, AGENT, ACCOUNT)} for one in (MEASURED, slow))
    fewer = {what for what, most in fast.items() if less[what] < most}
    assert fewer == {"processor of the process that trains", "disk for the ledger"}


def test_results_are_read_back_as_they_were_written_and_a_plot_is_found_by_its_name(tmp_path: Path) -> None:
    plot = Plot("waits", "Waiting", [Panel("p", "x", "y", [Series("", [1, 2], [3.0, 4.0])])])
    assert plot.panels[0].series[0].shape == "line"
    parts = {"constants": Part("on a machine", {"cpu_ms": 2.0}, "text", ({"name": "waits", "about": "Waiting"},))}
    write_parts(parts, tmp_path / "scale.json")
    assert read_parts(tmp_path / "scale.json") == parts
    assert find_plot(tmp_path / "scale.json", "waits")["about"] == "Waiting"
    with pytest.raises(LookupError, match="expected a plot 'none'"):
        find_plot(tmp_path / "scale.json", "none")


def test_a_page_with_one_part_says_which_are_not_measured_yet() -> None:
    page = format_page({"threads": Part("on a machine", {}, "| a | b |")})
    assert "## Threads of one machine\n\n| a | b |\n\n`threads`: on a machine.\n" in page
    assert "Not measured yet: `scheduling`, " in page


def test_the_page_can_be_written_anew_without_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.scale.__main__.PAGE", tmp_path / "scale.md")
    monkeypatch.setattr("benchmarks.scale.__main__.read_parts", lambda: {"threads": Part("here", {}, "text")})
    assert main(["--page"]) == 0
    assert capsys.readouterr().out.strip() == (tmp_path / "scale.md").read_text(encoding="utf-8").strip()


def test_errors_are_shares_of_what_it_really_was() -> None:
    assert errors([(110.0, 100.0), (50.0, 100.0), (100.0, 100.0)]) == pytest.approx((0.1, 0.42))


def test_a_run_of_the_real_runner_is_held_against_what_is_foreseen_with_and_without_work_begun_ahead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (("_DRAWS", 1), ("_SIMULATED", 1), ("_FASTER", 1e5)):
        monkeypatch.setattr(f"benchmarks.scale.capacity.{name}", value)
    found = measure_run(Job("real-8", 3, 32))
    assert min(found.minutes, found.usd, found.ahead, *found.guessed, *found.recorded) > 0
    assert found.ahead <= found.barriers
    said = capacity_table(Capacity((found, found)))
    assert said.count("\n| ") == 7
    assert "| minutes, one rollout of each `val` task recorded |" in said
    (plot,) = capacity_plots(Capacity((found,)))
    assert [len(panel.series) for panel in plot.panels] == [2, 2, 2]


def test_no_run_that_was_chosen_by_is_reported() -> None:
    assert not {job.seed for job in CHOOSE} & {job.seed for job in CHECK}
    assert len(CHECK) >= 20
