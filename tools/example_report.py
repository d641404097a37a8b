"""The example of a report: that of a small run, the same wherever and whenever it is made.

The run is a real one of the offline demo with fewer tasks. Of its record only the times and the commit ids, which hold
a time, are not shown as they are: times are fixed, ids left out.
"""

import os
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from benchmarks.demo.__main__ import make_repository
from skillopt.project import Project
from skillopt.reports.load_view import find_run, load_view
from skillopt.reports.run_page import read_rollouts, render_page
from skillopt.storage.ledger import Ledger

__all__ = ["make_report"]

_TASKS: Final = {"train": 24, "val": 24, "test": 24}
_AT, _END = "2026-11-01T02:00:00+00:00", "2026-11-01T02:00:05+00:00"


def make_report(folder: Path) -> dict[str, str]:
    """Train in a scratch folder and give the page of the run, by its name."""
    make_repository(folder)
    tasks = folder / "suites" / "tidy_tables" / "tasks.jsonl"
    lines = tasks.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for split, count in _TASKS.items() for line in [one for one in lines if f'"{split}"' in one][:count]]
    tasks.write_text("".join(kept), encoding="utf-8")
    command = [sys.executable, "-m", "skillopt", "optimize", "tidy-tables", "--quiet"]
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SKILLOPT_"))}
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, env=outside)
    with closing(Ledger.open(folder, read_only=True)) as ledger:
        view = load_view(Project.find(folder), ledger, find_run(ledger))
        versions = tuple(replace(version, commit="") for version in view.versions)
        gates = tuple(replace(gate, at="") for gate in view.gates)
        fixed = replace(view, started=_AT, ended=_END, base="", versions=versions, gates=gates)
        page = render_page(fixed, read_rollouts(ledger, fixed, most=16))
        return {"report.html": page.replace(view.run, "0123456789ab") + "\n"}
