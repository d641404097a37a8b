"""What `estimate` says of time: from recorded latencies where there are some, and that it is a guess where not."""

import json
import re
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.storage.ledger import Ledger
from tests.fakes.projects import make_project, skillopt

pytestmark = pytest.mark.process


def test_time_is_a_guess_until_rollouts_are_recorded_and_then_shrinks_with_workers(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    guess = skillopt(project, "estimate", "rows", "--harness", "chat/anthropic/claude-haiku-4-5").stdout
    assert "with 2 workers; a guess: no latencies are recorded\n" in guess
    assert skillopt(project, "evaluate", "rows").returncode == 0
    _slow_down(project, 60.0)
    found = {
        workers: skillopt(project, "estimate", "rows", "--set", f"workers={workers}", "--json").stdout
        for workers in (1, 8)
    }
    likely = {workers: json.loads(said)["likely"] for workers, said in found.items()}
    pace = {workers: one["minutes"]["median"] / one["rollouts"]["median"] for workers, one in likely.items()}
    assert pace[1] > 0.8
    assert pace[1] / pace[8] > 1.5
    said = skillopt(project, "estimate", "rows", "--set", "workers=8").stdout
    assert (
        "with 2 workers on Ray, whose start is not counted; from "
        in skillopt(project, "estimate", "rows", "--set", "ray=true").stdout
    )
    assert re.search(r"^time: .* with 8 workers; from \d+ recorded latencies$", said, re.MULTILINE), said


def test_what_is_recorded_counts_where_ray_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = make_project(tmp_path / "project")
    assert skillopt(project, "evaluate", "rows").returncode == 0
    monkeypatch.delitem(sys.modules, "skillopt.execution.ray_cluster", raising=False)
    monkeypatch.setitem(sys.modules, "ray", None)
    said = skillopt(project, "estimate", "rows", "--set", "ray=true").stdout
    assert re.search(r"^tasks that pass now: \d+ of \d+ as recorded$", said, re.MULTILINE), said


def _slow_down(project: Path, seconds: float) -> None:
    """Record again what is recorded, as if each rollout had taken so long."""
    ledger_file = project / ".skillopt" / "ledger.db"
    with closing(Ledger.open(project)) as ledger:
        (identity,) = {row.identity for row in ledger.costs() if row.kind == "rollout"}
        keys = [row.key for row in ledger.target_results(identity)]
        found = ledger.rollouts(keys)
    for name in ("ledger.db", "ledger.db-wal", "ledger.db-shm"):
        (ledger_file.parent / name).unlink(missing_ok=True)
    with closing(Ledger.open(project)) as ledger:
        slow = [(key, replace(one, seconds=seconds)) for key, one in found.items()]
        ledger.store_rollouts("", slow, identity)
