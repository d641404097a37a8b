"""`skillopt suite show`: tasks, what scores them, what cannot be run."""

import shutil
from pathlib import Path

from tests.fakes.projects import skillopt

FIXTURES = Path(__file__).parents[1] / "fakes" / "formats"


def project(folder: Path, shape: str) -> Path:
    shutil.copytree(FIXTURES / shape, folder, dirs_exist_ok=True)
    return folder


def test_a_suite_is_shown_with_what_scores_each_task_and_what_cannot_be_run(tmp_path: Path) -> None:
    shown = skillopt(project(tmp_path, "evals-json"), "suite", "show", "orders").stdout.splitlines()

    assert "orders/evals/evals.json (format evals.json), 1 left" in shown[0]
    assert sorted(shown[1:3]) == [
        "  fold 1  eval-1  judge (2 criteria); 1 file",
        "  fold 2  eval-2  judge (1 criterion)",
    ]
    assert shown[3:5] == ["2 of 2 tasks need a judge: a model, named by the setting `judge`", "left out:"]
    assert shown[5].startswith("  orders/evals/evals.json:21: eval-lost: expected")


def test_a_skill_is_shown_where_a_file_or_a_folder_of_the_working_folder_has_its_name(tmp_path: Path) -> None:
    folder = project(tmp_path, "evals-json")
    by_name = skillopt(folder, "suite", "show", "orders").stdout
    below = folder / "below"
    (below / "orders").mkdir(parents=True)
    (below / "other").write_text("default:\n    echo\n", encoding="utf-8")
    (folder / "skillopt.toml").write_text('[skills.other]\npath = "orders"\n', encoding="utf-8")

    for name in ("orders", "other"):
        shown = skillopt(below, "suite", "show", name)

        assert (shown.returncode, shown.stderr) == (0, "")
        assert shown.stdout.splitlines()[1:3] == by_name.splitlines()[1:3]
    assert "other:1: expected a suite" in skillopt(below, "suite", "show", "./other").stderr
