"""Tests see nothing of the machine they run on: no home, no git or skillopt settings, no terminal."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

# With it each process that a test starts would compile all that it imports, which takes longer than most tests.
_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
_FOREIGN = ("GIT_", "SKILLOPT_", "XDG_")
# Each of them makes Rich or Typer write colours, or guess at a terminal.
_TERMINAL = ("CLICOLOR_FORCE", "FORCE_COLOR", "GITHUB_ACTIONS", "PY_COLORS", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
_FIXED = {
    "COLUMNS": "100",
    "GIT_AUTHOR_EMAIL": "tester@example.com",
    "GIT_AUTHOR_NAME": "Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.com",
    "GIT_COMMITTER_NAME": "Tester",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "SKILLOPT_ENGINE": "none",
    "TERM": "dumb",
}

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)


def pytest_configure() -> None:
    """Clean the environment before any test module is imported, and so for every process they start."""
    settings.load_profile("ci" if "CI" in os.environ else "default")
    for name in [name for name in os.environ if name.startswith(_FOREIGN) or name in {*_TERMINAL, _NO_BYTECODE}]:
        del os.environ[name]
    os.environ.update(_FIXED)
    # Programs of tests are the tests' own; where bubblewrap is missing they run in CI without it.
    os.environ.pop("CI", None)
    # A shell starts what it puts in the background with Ctrl-C ignored, and so would be every
    # command that a test starts and then interrupts.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Return all tests an empty home."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        yield


@pytest.fixture(scope="session")
def trained_once(tmp_path_factory: pytest.TempPathFactory, home: None) -> Path:
    """Train the project of `make_project`, once for all processes of a run; nobody changes it."""
    # Imported on use: what it imports looks at the environment, which is not clean before.
    from tests.fakes.projects import make_trained  # noqa: PLC0415 - see above

    assert home is None
    place = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:  # whose folders lie in the one that they share
        place = place.parent
    with FileLock(place / "trained.lock"):
        if not (place / "trained").exists():
            make_trained(place / "training").rename(place / "trained")
    return place / "trained"


@pytest.fixture
def trained(trained_once: Path, tmp_path: Path) -> tuple[Path, dict[str, object]]:
    """Return a copy of a project in which a version was accepted, and what its training said."""
    folder = shutil.copytree(trained_once / "project", tmp_path / "trained", symlinks=True)
    return folder, json.loads((trained_once / "result.json").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a project that nothing has trained yet."""
    from tests.fakes.projects import make_project  # noqa: PLC0415 - see `trained_once`

    return make_project(tmp_path / "project")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[object]:
    """Return a new ledger."""
    from skillopt.storage.ledger import Ledger  # noqa: PLC0415 - see `trained_once`

    with closing(Ledger.open(tmp_path)) as opened:
        yield opened
