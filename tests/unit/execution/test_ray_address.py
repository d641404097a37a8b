"""A Ray run that cannot begin ends at once: a wrong address, a port of something else, no Ray. Nothing is started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:1", "found nobody who listens at 127.0.0.1:1"),
        ("ray://head:10001", 'expected HOST:PORT, as in "10.0.0.5:6379", "auto" or "local", found'),
        ("head", "expected HOST:PORT"),
    ],
)
def test_a_wrong_address_is_refused_at_once(address: str, said: str) -> None:
    assert said in refusal_of(address)


def refusal_of(address: str) -> str:
    """Connect in a process of its own, which is in no cluster."""
    code = f"""
from pathlib import Path
from skillopt import Suite
from skillopt.execution.drivers import load_drivers
from skillopt.settings import make_settings
chosen = make_settings(("flags", {{"harness": "demo", "model": "demo", "ray": {address!r}}}))
load_drivers(chosen, Suite("none", ()), Path(), optimizer=False).cluster.ready()
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert "skillopt.errors.SettingsError: ray" in ended.stderr
    return ended.stderr


def test_without_ray_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError('no ray here', name='ray')\n")
    code = """
from pathlib import Path
from skillopt import Suite
from skillopt.execution.drivers import load_drivers
from skillopt.settings import make_settings
chosen = make_settings(("flags", {"harness": "demo", "model": "demo", "ray": "auto"}))
load_drivers(chosen, Suite("none", ()), Path(), optimizer=False)
"""
    path = os.pathsep.join((str(tmp_path), str(ROOT)))
    ended = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert "expected the package ray, found none; install it with `pip install 'PATH-OF-CLONE[ray]'`" in ended.stderr
