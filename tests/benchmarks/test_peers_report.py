"""The page, the table and the plot of the comparison, from a few runs that are written down here."""

import gzip
import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.peers.__main__ import main
from benchmarks.peers.arena import Figures
from benchmarks.peers.environments import PINS, interpreter, is_ready, pinned
from benchmarks.peers.plot import corners, quartile_lines, read_curves
from benchmarks.peers.report import Circumstances, format_page, read_runs, write_report
from benchmarks.peers.table import by_cell, format_rows, head

RUNS = Path(__file__).with_name("peers.jsonl")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "peers.jsonl.gz"
    made.write_bytes(gzip.compress(RUNS.read_bytes()))
    return made


@pytest.fixture
def runs(file: Path) -> list[Figures]:
    return read_runs(file)


def rows(table: str) -> list[dict[str, str]]:
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    return [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]


def test_a_row_sums_the_runs_of_an_optimizer_up(runs: list[Figures]) -> None:
    cells = by_cell(runs)
    gepa, no_gate = rows(format_rows({peer: cells["distractors", peer] for peer in ("gepa", "no gate")}))
    assert list(gepa) == list(head(2000))
    assert (gepa["reach 95%"], gepa["median rollouts to it"]) == ("1/2", "800")
    assert [gepa[f"true at {point}"] for point in ("666", "1333", "end")] == ["0.500", "0.700", "0.700"]
    assert (gepa["harmed"], gepa["at $0.10 a rollout, $0.05 a call"]) == ("0", "199.75")
    assert (gepa["reported - true"], gepa["accepts"], gepa["false accepts"]) == ("+0.050", "3.0", "1.50")
    assert (gepa["runs with one"], gepa["tokens"], gepa["calls"]) == ("50%", "150", "15")
    assert {no_gate[title] for title in ("reported - true", "accepts", "false accepts", "runs with one")} == {"-"}


def test_the_page_says_how_it_came_about_and_what_was_chosen(runs: list[Figures]) -> None:
    page = format_page(runs, Circumstances("--seeds 2", 3, 7.0))
    assert "Command: `python -m benchmarks.peers --seeds 2`" in page
    assert "Seeds 0 to 1\n" in page
    assert "2000 rollouts a run; best true score: 0.900." in page
    assert f"gepa {pinned('gepa', 'gepa')}" in page
    assert page.count("### distractors") == page.count("### null") == 1
    assert "Choices, for all three configurations" in page
    assert "results/peers.svg" in page
    assert "results/peers.svg" not in format_page(runs, Circumstances("", 3, 7.0, plotted=False))


def test_runs_are_written_so_that_they_can_be_read_back(tmp_path: Path, runs: list[Figures]) -> None:
    how = Circumstances("", 1, 1.0, plotted=False)
    page = write_report(runs, tmp_path, how)
    assert (tmp_path / "RESULTS.md").read_text() == page
    written = tmp_path / "results" / "peers.jsonl.gz"
    assert read_runs(written) == runs
    before = written.read_bytes()
    write_report(runs, tmp_path, how)
    assert written.read_bytes() == before


def test_the_lines_of_the_plot_are_quartiles_of_step_functions() -> None:
    curves = [((0, 0.0), (10, height)) for height in (0.2, 0.4, 0.6, 0.8, 1.0)]
    assert quartile_lines(curves, [9, 10]) == [(0.0, 0.0, 0.0), (0.4, 0.6, 0.8)]
    assert quartile_lines(curves[:1], [50]) == [(0.2, 0.2, 0.2)]


def test_only_the_corners_of_a_step_function_are_drawn() -> None:
    low, high = (0.1, 0.2, 0.3), (0.4, 0.5, 0.6)
    assert corners([0, 1, 2, 3, 4], [low, low, high, high, high]) == ([0, 2, 4], [low, high, high])


def test_the_plot_has_a_panel_for_each_world_and_is_the_same_again(file: Path, tmp_path: Path) -> None:
    if not is_ready("plots"):
        pytest.skip("needs the environment 'plots', which `make bench-peers` sets up")
    script = Path(main.__code__.co_filename).with_name("plot.py")
    drawn = [tmp_path / name for name in ("a.svg", "b.svg")]
    for plot in drawn:
        subprocess.run([interpreter("plots"), script, file, plot], check=True)
    first, again = (plot.read_text() for plot in drawn)
    assert first == again
    assert all(f">{word}</text>" in first for word in ("distractors", "null", "gepa", "no gate"))


def test_curves_are_read_by_world_and_optimizer(file: Path) -> None:
    found, allowed = read_curves(file)
    assert allowed == {"distractors": 2000, "null": 2000}
    assert {world: sorted(peers) for world, peers in found.items()} == {
        "distractors": ["gepa", "no gate"],
        "null": ["gepa"],
    }


def test_every_package_of_every_environment_is_pinned() -> None:
    for pins in PINS.glob("*.txt"):
        assert all(line.count("==") == 1 for line in pins.read_text().splitlines())
    assert pinned("dspy", "dspy")
    with pytest.raises(LookupError, match="expected a pin of 'dspy'"):
        pinned("gepa", "dspy")


def test_the_command_compares_what_needs_no_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["--worlds", "strong", "--peers", "one-shot rewrite", "no gate", "--seeds", "3", "--rollouts", "300"]
    assert main([*told, "--out", str(tmp_path), "--no-plot", "--workers", "1"]) == 0
    shown = capsys.readouterr()
    assert shown.out.strip() == (tmp_path / "RESULTS.md").read_text().strip()
    assert "| one-shot rewrite | " in shown.out
    assert "--peers 'one-shot rewrite' 'no gate'" in shown.out
    lines = gzip.decompress((tmp_path / "results" / "peers.jsonl.gz").read_bytes()).splitlines()
    assert [(json.loads(line)["peer"], json.loads(line)["seed"]) for line in lines] == [
        (peer, seed) for peer in ("one-shot rewrite", "no gate") for seed in range(3)
    ]


def test_a_world_without_an_answer_is_no_choice(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--worlds", "drift"])
    assert "invalid choice: 'drift'" in capsys.readouterr().err
