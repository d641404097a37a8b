"""What a run of the tests leaves on disk, the next ones would have to remove."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.process
def test_a_run_whose_tests_pass_leaves_no_temporary_files(tmp_path: Path) -> None:
    chosen = "tests/unit/demo/test_harness.py::test_rules_of_the_skill_are_done_and_shown"
    command = [sys.executable, "-m", "pytest", "-q", "-n0", "-p", "no:cacheprovider", chosen]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTEST_DEBUG_TEMPROOT": str(tmp_path)}, check=True)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
