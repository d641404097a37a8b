"""The page of results: tables, plot, versions, the command, and every choice of the adapters.

Owns RESULTS.md and the files beside it. Does not own the tables (table) or drawing (plot).
"""

import gzip
import json
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.landscapes.worlds import WORLDS
from benchmarks.peers.arena import Figures
from benchmarks.peers.contestants import CONTESTANTS
from benchmarks.peers.environments import interpreter, pinned
from benchmarks.peers.table import by_cell, format_rows
from skillopt import __version__

__all__ = ["Circumstances", "format_page", "read_runs", "write_report"]

_COLUMNS = """\
`reach 95%`: runs whose document came to 95% of the best true score, and after how many rollouts (median of those
runs only, so read both). `true at`: mean true score of the document that would be handed over after so many
rollouts; `harmed`: runs whose last document is worse than the first; `area` averages the true score over the budget.
`reported - true`: the score that the optimizer reports for its document minus that document's true score. `false
accepts`: documents that its gate let through and that are no better than the one they were compared with, a run; `-`
where there is no gate or nothing is reported. `calls`: of the optimizer model. Prices are examples: no run cost
anything. `seconds` includes the simulation. In the null world every document is as good as the best one: only false
accepts and `reported - true` say something there.
"""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How the runs were made.

    Args:
        arguments: Of the command.
        workers: Processes in use.
        seconds: All runs together took.
        plotted: Whether the plot is drawn, which needs its environment.
    """

    arguments: str
    workers: int
    seconds: float
    plotted: bool = True


def write_report(runs: Sequence[Figures], folder: Path, how: Circumstances) -> str:
    """Write the page, the plot and the runs; give the page.

    Args:
        runs: All of them.
        folder: For RESULTS.md; the rest goes to `results` in it.
        how: The runs were made.
    """
    results = folder / "results"
    results.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(asdict(run)) + "\n" for run in runs)
    data = results / "peers.jsonl.gz"
    # without a time of writing, so that the same runs are the same bytes
    data.write_bytes(gzip.compress(lines.encode(), mtime=0))
    if how.plotted:
        plot = [interpreter("plots"), Path(__file__).with_name("plot.py"), data, results / "peers.svg"]
        subprocess.run(list(map(str, plot)), check=True)
    page = format_page(runs, how)
    (folder / "RESULTS.md").write_text(page, "utf-8")
    return page


def read_runs(file: Path) -> list[Figures]:
    """Read runs back from the file beside the page."""
    rows = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    return [Figures(**row | {"curve": tuple((since, score) for since, score in row["curve"])}) for row in rows]


def format_page(runs: Sequence[Figures], how: Circumstances) -> str:
    """Write the page.

    Args:
        runs: All of them.
        how: They were made.
    """
    cells = by_cell(runs)
    worlds = list(dict.fromkeys(run.world for run in runs))
    peers = list(dict.fromkeys(run.peer for run in runs))
    parts = ["# Peers side by side", _preamble(runs, how), _versions(peers), "## Results", _COLUMNS.strip()]
    if how.plotted:
        parts.append("![True score against rollouts, median and quartiles](results/peers.svg)")
    for world in worlds:
        cell = {peer: cells[world, peer] for peer in peers if (world, peer) in cells}
        one = next(iter(cell.values()))[0]
        told = f"{WORLDS[world].about}. {one.rollouts} rollouts a run; best true score: {one.best:.3f}."
        parts += [f"### {world}", told, format_rows(cell)]
    parts.append("## How each is driven")
    for adapter in dict.fromkeys(CONTESTANTS[peer].adapter for peer in peers):
        names = [peer for peer in peers if CONTESTANTS[peer].adapter == adapter]
        parts += [f"### {', '.join(f'`{name}`' for name in names)}", CONTESTANTS[names[0]].choices]
    return "\n\n".join(parts) + "\n"


def _preamble(runs: Sequence[Figures], how: Circumstances) -> str:
    seeds = sorted({run.seed for run in runs})
    machine = f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"
    return (
        "Written by `make bench-peers`; do not edit.\n\n"
        "Simulated worlds with planted truth (`benchmarks/landscapes`): the true expected score of every document is\n"
        "known, and nobody but this page sees it. Everybody has the same tasks, the same simulated optimizer model\n"
        "with the same habits of error, and the same number of rollouts. These are simulations of our making: they\n"
        "rank mechanisms, not products.\n\n"
        f"- Command: `{f'python -m benchmarks.peers {how.arguments}'.strip()}`\n"
        f"- Seeds {seeds[0]} to {seeds[-1]}\n"
        f"- {machine}, {how.workers} processes; {len(runs)} runs in {how.seconds:.0f} s"
    )


def _versions(peers: Sequence[str]) -> str:
    packages = {(CONTESTANTS[peer].environment, CONTESTANTS[peer].package) for peer in peers}
    found = [f"{package} {pinned(environment, package)}" for environment, package in sorted(packages) if package]
    return "- Versions: " + ", ".join([f"skillopt-mcp {__version__} (this checkout)", *found])
