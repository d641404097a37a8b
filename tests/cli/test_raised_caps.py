"""`optimize` with a higher cap: the same run goes on, also after an accept."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.projects import git, make_project, skillopt

pytestmark = pytest.mark.process

PAPER = ("--set", "preset=paper", "--set", "edit_budget=1", "--set", "seed=2")


def trained(folder: Path, cap: int, *more: str) -> dict[str, Any]:
    ended = skillopt(folder, "optimize", "rows", "--json", *PAPER, "--max-rollouts", str(cap), *more)
    assert ended.returncode == 0, ended.stderr
    found: dict[str, Any] = json.loads(ended.stdout)
    return found


def test_a_higher_cap_goes_on_with_the_same_run_pays_nothing_twice_and_adds_to_its_versions(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    first, second, third = (trained(folder, cap) for cap in (30, 60, 100))
    assert first["run"] == second["run"] == third["run"]
    assert (first["resumed"], second["resumed"], third["resumed"]) == (False, True, True)
    assert sum(one["paid_rollouts"] for one in (first, second, third)) == third["rollouts"]
    assert [len(one["versions"]) for one in (first, second, third)] == [1, 2, 2]
    assert third["versions"] == second["versions"]
    assert second["versions"][:1] == first["versions"]
    assert git(folder, "rev-list", "main..skillopt/rows").split() == third["versions"][::-1]
    again = trained(folder, 100)
    assert again["run"] != third["run"], "a run that is over is not begun anew"
