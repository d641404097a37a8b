"""`skillopt import`: a lasting copy of tasks of other tools."""

import shutil
from pathlib import Path

from skillopt.suites import load_suite
from tests.contracts.format_contract import fixture_of
from tests.fakes.projects import skillopt


def project(folder: Path, shape: str) -> Path:
    shutil.copytree(fixture_of(shape), folder / "orders", dirs_exist_ok=True)
    return folder


def test_tasks_are_copied_into_a_new_suite_and_what_is_left_out_is_listed(tmp_path: Path) -> None:
    shown = skillopt(project(tmp_path, "evals-json"), "import", "orders").stdout.splitlines()

    assert "(evals.json) written to suites/orders" in shown[0]
    assert shown[1] == "1 left out:"
    assert shown[2].startswith("  orders/evals/evals.json:21: ")
    assert "estimate SKILL --suite suites/orders" in "\n".join(shown)
    assert load_suite(tmp_path / "suites" / "orders").digest == load_suite(tmp_path / "orders").digest


def test_importing_again_writes_the_same_bytes_and_never_over_what_is_there(tmp_path: Path) -> None:
    folder = project(tmp_path, "cases-yaml")
    skillopt(folder, "import", "orders", "--to", "a")
    skillopt(folder, "import", "orders", "--to", "b")

    again = skillopt(folder, "import", "orders", "--to", "a")

    assert again.returncode == 2
    assert "folder, found 'a'; choose" in again.stderr
    one, other = (
        {str(p.relative_to(folder / n)): p.read_bytes() for p in (folder / n).rglob("*") if p.is_file()} for n in "ab"
    )
    assert one == other
    assert sorted(path.name for path in folder.iterdir()) == ["a", "b", "orders"]


def test_where_nothing_can_be_imported_nothing_is_written(tmp_path: Path) -> None:
    ended = skillopt(project(tmp_path, "triggers"), "import", "orders/evals/trigger-evals.json")

    assert ended.returncode == 2
    assert "expected tasks, found 3 requests" in ended.stderr
    assert not (tmp_path / "suites").exists()
