"""The cache of virtual environments is bounded by age and size."""

import os
import time
from pathlib import Path

import pytest

from skillopt.contrib.harbor.venvs import provide_packages
from skillopt.sandbox.roots import packages_folder

GIBIBYTE = 1 << 30
HOUR = 3600.0


def made(name: str, size: int, hours: float) -> Path:
    """Make what stands for an environment that was used some hours ago."""
    done = packages_folder() / name / ".complete"
    done.parent.mkdir(parents=True)
    done.write_text(str(size), encoding="ascii")
    os.utime(done, (time.time() - hours * HOUR,) * 2)
    return done.parent


def test_a_new_environment_makes_those_go_that_are_old_or_too_much_and_none_that_is_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    old, large, fits = made("old", 0, 31 * 24), made("large", 4 * GIBIBYTE, 50), made("fits", 3 * GIBIBYTE, 40)
    used = made("used", 6 * GIBIBYTE, 2)

    new = Path(provide_packages(()))

    assert [place.exists() for place in (old, large, fits, used, new)] == [False, False, True, True, True]
    assert int((new / ".complete").read_text(encoding="ascii")) > 0
