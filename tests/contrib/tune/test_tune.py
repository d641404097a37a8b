"""Searching for settings on a real suite: real processes, real git, the demo target."""

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from skillopt.contrib.tune.tune import RANGES, tuning_suite
from skillopt.errors import UsageError
from skillopt.suites import load_suite
from skillopt.tasks import Split, Suite
from tests.fakes.projects import git, make_project, skillopt, skillopt_process

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

PAGE = (Path(__file__).parents[3] / "docs" / "tune.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_project(tmp_path_factory.mktemp("original") / "project", tasks=16, name="my-skill")


@pytest.fixture(scope="module")
def searched(original: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, Any]]]:
    """A project in which every command of the page has ended, one after the other, and their results."""
    folder = Path(shutil.copytree(original, tmp_path_factory.mktemp("searched") / "project"))
    found = []
    for line in re.findall(r"^\$ python -m skillopt\.contrib\.tune (.+)$", PAGE, re.MULTILINE):
        ended = tune(folder, *line.split(), "--json")
        assert ended.returncode == 0, f"{line}: {ended.stderr}"
        found.append(json.loads(ended.stdout))
    return folder, found


def tune(folder: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "skillopt.contrib.tune", *arguments]
    environment = {**os.environ, **environment}
    return subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True, text=True)


def tasks_run(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / ".skillopt" / "ledger.db")) as database:
        return {task for (task,) in database.execute("SELECT DISTINCT task FROM calls WHERE kind = 'rollout'")}


def test_a_search_says_which_settings_are_best_and_goes_on_as_its_page_says(
    searched: tuple[Path, list[dict[str, Any]]],
) -> None:
    found, second, capped, raised = searched[1]
    assert [one["number"] for one in found["trials"]] == [0, 1, 2]
    assert found["trials"][0]["params"] == {"patch_tests": 4, "edit_budget": 30}
    assert found["seeds"] == [0, 1]
    for one in found["trials"]:
        assert all(0 <= score <= 1 for score in one["scores"])
        assert one["rollouts"] > 0
    best = max(found["trials"], key=lambda one: (one["score"], -one["rollouts"]))
    assert (found["best"], found["reason"]) == (best["number"], "")
    assert found["paid_rollouts"] > 0
    assert found["study"] == second["study"]
    assert second["trials"][:3] == found["trials"]
    assert capped["study"] == raised["study"] != found["study"]
    assert capped["paid_rollouts"] <= 100
    assert len(raised["trials"]) == 2
    assert all(f"| `{name}` | {least} to {most} |" in PAGE for name, (least, most) in RANGES.items())


def test_nothing_is_committed_and_the_held_out_test_is_not_touched(
    searched: tuple[Path, list[dict[str, Any]]],
) -> None:
    folder, _ = searched
    assert git(folder, "for-each-ref", "--format=%(refname)") == "refs/heads/main"
    assert git(folder, "status", "--porcelain") == ""
    run = tasks_run(folder)
    assert run
    assert not any(task.startswith("test") for task in run)
    assert json.loads(skillopt(folder, "status", "--json").stdout)["runs"] == []


def test_without_optuna_the_command_says_how_to_install_it(original: Path, tmp_path: Path) -> None:
    broken = tmp_path / "modules"
    broken.mkdir()
    (broken / "optuna.py").write_text("raise ImportError('no optuna here')\n", encoding="utf-8")
    path = os.pathsep.join(filter(None, (str(broken), os.environ.get("PYTHONPATH", ""))))
    ended = tune(original, "my-skill", "--trials", "3", PYTHONPATH=path)
    assert ended.returncode == 2
    assert "pip install 'PATH-OF-CLONE[tune]'" in ended.stderr
    assert skillopt_process(original, "suite", "check", "my-skill", PYTHONPATH=path).returncode == 0


def test_what_scores_is_a_part_of_train_and_nothing_of_the_test_is_left(original: Path) -> None:
    suite = load_suite(original / "suites" / "my-skill.jsonl")
    made = tuning_suite(suite, 3)
    train, val, test = (set(made.tasks(split)) for split in Split)
    assert (len(train), len(test)) == (12, 4)
    assert train | test == set(suite.tasks(Split.TRAIN))
    assert val == set(suite.tasks(Split.VAL))
    assert not test & set(suite.tasks(Split.TEST))
    assert tuning_suite(suite, 3) == made != tuning_suite(suite, 4)
    few = Suite(suite.name, tuple(pair for pair in suite.splits if not pair[1].id.startswith("train1")))
    with pytest.raises(UsageError, match="expected at least 16 train"):
        tuning_suite(few, 3)
