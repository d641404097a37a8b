"""Virtual environments of Python packages, made once and kept in the user's cache.

Of wheels, which run nothing when they are installed; packages that have to be built are built in the sandbox.
"""

import os
import re
import shutil
import sys
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from filelock import FileLock

from skillopt.errors import FailureKind, ProviderError
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.processes import ProcessResult, run_process
from skillopt.sandbox.roots import packages_folder
from skillopt.sandbox.workspace import Workspace, folder_size
from skillopt.tasks import digest_of

_DONE: Final = ".complete"
_SECONDS: Final = 900.0  # a package without a wheel is built from source, for minutes
_MOST_BYTES: Final = 10 << 30
_DAY, _LONGEST_IDLE = 86_400.0, 30 * 86_400.0
_PASSED_ON: Final = re.compile(r"(PIP|SSL)_.*|.*_proxy|HOME|XDG_CACHE_HOME", re.IGNORECASE)


def provide_packages(packages: Sequence[str], python: str = "") -> str:
    """Return the folder of a virtual environment that has these packages, made now where there is none."""
    program = _interpreter(python)
    key = digest_of(os.path.realpath(program), *sorted(packages))[:24]
    cache = packages_folder()
    cache.mkdir(parents=True, exist_ok=True)
    place = cache / key
    if not (place / _DONE).exists():
        with FileLock(cache / f"{key}.lock"):
            if not (place / _DONE).exists():
                shutil.rmtree(place, ignore_errors=True)
                _make(place, program, packages)
                _forget(cache)
    os.utime(place / _DONE)
    return str(place)


def _forget(cache: Path) -> None:
    """Remove what was not used for 30 days, and above 10 GiB what was not used for the longest time, or for a day."""
    used = {place: place.stat().st_mtime for place in cache.glob(f"*/{_DONE}")}
    left = _MOST_BYTES
    for done in sorted(used, key=used.__getitem__, reverse=True):
        left -= int(done.read_text(encoding="ascii") or 0)
        idle = time.time() - used[done]
        if idle > _LONGEST_IDLE or (left < 0 and idle > _DAY):
            done.unlink()  # first, so that whoever comes meanwhile makes it anew
            shutil.rmtree(done.parent, ignore_errors=True)


def base_of(venv: str) -> str:
    """Return the installation of Python that a virtual environment was made of."""
    return str(Path(venv, "bin", "python").resolve().parent.parent)


def _make(place: Path, program: str, packages: Sequence[str]) -> None:
    # Without packages nothing is asked of an index, and it takes a tenth of the time.
    _expect(_run([program, "-m", "venv", *(() if packages else ("--without-pip",)), str(place)]), "make an environment")
    if packages:
        pip = [str(place / "bin" / "python"), "-m", "pip", "install", "--no-input"]
        ended = _run([*pip, "--only-binary", ":all:", *packages])
        box = Sandbox("auto")
        if ended.status != 0 and box.active and not ended.timed_out:
            with Workspace.create() as home:
                built = box.wrap_build([*pip, "--no-cache-dir", *packages], home.path, str(place), base_of(str(place)))
                ended = _run(built, home.path)
        _expect(ended, f"install {', '.join(packages)}")
    (place / _DONE).write_text(str(folder_size(str(place), on_disk=True)), encoding="ascii")


def _run(argv: Sequence[str], home: str = "") -> ProcessResult:
    environment = {name: value for name, value in os.environ.items() if _PASSED_ON.fullmatch(name)}
    return run_process(argv, "/", {**environment, **({"HOME": home, "TMPDIR": home} if home else {})}, _SECONDS)


def _expect(ended: ProcessResult, what: str) -> None:
    if ended.status != 0:
        said = f"over {_SECONDS:g} s" if ended.timed_out else " ".join((ended.stderr or ended.stdout).split())[-400:]
        problem = f"could not {what}: {said}; install them by hand, or use a container"
        raise ProviderError.of(FailureKind.MISSING_PROGRAM, problem)


@lru_cache(maxsize=16)
def _interpreter(python: str) -> str:
    """Find a Python of a version, among those beside the one that runs this too; else the one that runs this."""
    beside = Path(sys.base_prefix).resolve().parent.glob(f"*{python}*/bin/python{python}") if python else ()
    for found in (*sorted(map(str, beside)), shutil.which(f"python{python}") if python else None):
        if found and run_process([found, "-c", ""], "/", {}, _SECONDS).status == 0:
            return found
    return os.path.realpath(sys.executable)
