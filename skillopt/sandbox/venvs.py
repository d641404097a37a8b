"""Virtual environments of Python packages, made once of wheels and kept in the user's cache.

Only wheels: a package that has to be built would run its author's code outside of the sandbox.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Final

from skillopt.errors import FailureKind, ProviderError
from skillopt.sandbox.processes import run_process
from skillopt.tasks import digest_of

__all__ = ["base_of", "provide_packages"]

_DONE: Final = ".complete"
_SECONDS: Final = 900.0
_NETWORK: Final = re.compile(r"(PIP|UV|SSL)_.*|.*_proxy|HOME|XDG_CACHE_HOME", re.IGNORECASE)


def provide_packages(packages: Sequence[str], python: str = "") -> str:
    """Return the folder of a virtual environment that has these packages, made now where there is none."""
    program = _interpreter(python)
    key = digest_of(os.path.realpath(program), *sorted(packages))[:24]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "skillopt", "venvs")
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / key
    if not (place / _DONE).exists():
        with _alone(cache / f"{key}.lock"):
            if not (place / _DONE).exists():
                shutil.rmtree(place, ignore_errors=True)
                _make(place, program, packages)
    return str(place)


def base_of(venv: str) -> str:
    """Return the installation of Python that a virtual environment was made of."""
    return str(Path(venv, "bin", "python").resolve().parent.parent)


def _make(place: Path, program: str, packages: Sequence[str]) -> None:
    uv = shutil.which("uv")
    made = [uv, "venv", "--seed", "--python", program, str(place)] if uv else [program, "-m", "venv", str(place)]
    _run(made, "make a virtual environment")
    if packages:
        pip = [uv, "pip"] if uv else [str(place / "bin" / "python"), "-m", "pip"]
        to = ["--python", str(place / "bin" / "python")] if uv else ["--no-input"]
        _run([*pip, "install", *to, "--only-binary", ":all:", *packages], f"install {', '.join(packages)} from wheels")
    (place / _DONE).touch()


def _run(argv: Sequence[str], what: str) -> None:
    environment = {name: value for name, value in os.environ.items() if _NETWORK.fullmatch(name)}
    ended = run_process(argv, "/", environment, _SECONDS)
    if ended.status != 0:
        said = f"over {_SECONDS:g} s" if ended.timed_out else " ".join((ended.stderr or ended.stdout).split())[-400:]
        kind = FailureKind.MISSING_PROGRAM
        raise ProviderError(kind, f"{kind}: could not {what}: {said}; install them by hand, or use a container")


@lru_cache(maxsize=16)
def _interpreter(python: str) -> str:
    """Find a Python of a version, among those beside the one that runs this too; else the one that runs this."""
    beside = Path(sys.base_prefix).resolve().parent.glob(f"*{python}*/bin/python{python}") if python else ()
    for found in (*sorted(map(str, beside)), shutil.which(f"python{python}") if python else None):
        if found and run_process([found, "-c", ""], "/", {}, _SECONDS).status == 0:
            return found
    return os.path.realpath(sys.executable)


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other processes out, so that none makes the same environment meanwhile."""
    import fcntl  # noqa: PLC0415 - not on Windows, which has no sandbox either

    with path.open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
