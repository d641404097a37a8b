"""Two packages with one import name: what is said when both are installed in one environment."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.execution.installation import namesake


@pytest.mark.process
def test_every_front_end_says_that_another_package_has_the_same_import_name(tmp_path: Path) -> None:
    assert namesake() == ""
    (tmp_path / "skillopt-0.2.0.dist-info").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for module in ("skillopt", "skillopt_mcp"):
        ended = subprocess.run(
            [sys.executable, "-m", module, "--version"], env=environment, check=True, capture_output=True, text=True
        )
        assert ended.stderr.count("\n") == 1
        assert "`skillopt` 0.2.0, which is another" in ended.stderr
