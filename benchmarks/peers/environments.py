"""The peers' virtual environments: made from pinned packages when they are missing.

Owns the folders and when they are made anew. Does not own what runs in them (processes).
"""

import subprocess
import sys
import venv
from pathlib import Path

__all__ = ["FOLDER", "PINS", "interpreter", "is_ready", "make_ready", "pinned"]

FOLDER = Path(__file__).resolve().parents[2] / ".bench-venvs"
"""Where the environments are; git ignores it."""

PINS = Path(__file__).resolve().parent / "pins"
"""One requirements file for each environment, with every package's version."""


def interpreter(name: str) -> Path:
    """Give the path of an environment's interpreter, whether it is there or not."""
    return FOLDER / name / "bin" / "python"


def is_ready(name: str) -> bool:
    """Tell whether an environment was made from the pins as they are now."""
    stamp = FOLDER / name / "installed"
    return stamp.exists() and stamp.read_text("utf-8") == _pins(name)


def pinned(name: str, package: str) -> str:
    """Give the version of a package in an environment.

    Raises:
        LookupError: The package is not pinned there.
    """
    for line in _pins(name).splitlines():
        found, _, version = line.partition("==")
        if found == package:
            return version
    raise LookupError(f"expected a pin of {package!r}, found none in {PINS / name}.txt")


def make_ready(name: str) -> None:
    """Make an environment unless it is ready; your pip configuration applies.

    Raises:
        subprocess.CalledProcessError: pip could not install the pins.
    """
    if is_ready(name):
        return
    print(f"Setting up {FOLDER.name}/{name}, once ...", file=sys.stderr, flush=True)
    venv.create(FOLDER / name, clear=True, with_pip=True)
    pip = [str(interpreter(name)), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    subprocess.run([*pip, "--no-deps", "-r", str(PINS / f"{name}.txt")], check=True)
    (FOLDER / name / "installed").write_text(_pins(name), "utf-8")


def _pins(name: str) -> str:
    return (PINS / f"{name}.txt").read_text("utf-8")
