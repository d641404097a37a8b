"""Two packages with one import name: what is said when both are installed in one environment."""

import subprocess
import sys
import venv
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from zipfile import ZipFile

import pytest

from skillopt.execution.installation import check_installation, namesake

pytestmark = pytest.mark.process

CHECKOUT = Path(__file__).resolve().parents[3]
CALL = "import logging; from skillopt import Suite, evaluate; evaluate(None, Suite('s', ()), harness='handoff')"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build our wheel, and one named `skillopt` that has the same two files as the published one."""
    folder = tmp_path_factory.mktemp("wheels")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(CHECKOUT))
    (ours,) = folder.glob("*.whl")
    return ours, make_namesake(folder)


def make_namesake(folder: Path) -> Path:
    files = {
        "skillopt/__init__.py": '__version__ = "0.2.0"\n',
        "skillopt/prompts/__init__.py": "",
        "skillopt/types.py": "",
        "skillopt-0.2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: skillopt\nVersion: 0.2.0\n",
        "skillopt-0.2.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    digests = {path: urlsafe_b64encode(sha256(text.encode()).digest()).decode() for path, text in files.items()}
    rows = [f"{path},sha256={digest.rstrip('=')},{len(files[path])}" for path, digest in digests.items()]
    rows.append("skillopt-0.2.0.dist-info/RECORD,,")
    wheel = folder / "skillopt-0.2.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr("skillopt-0.2.0.dist-info/RECORD", "\n".join(rows) + "\n")
    return wheel


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Make an environment that finds what we depend on; give the folder of its programs."""
    venv.create(tmp_path / "venv", with_pip=False)
    (site,) = (tmp_path / "venv" / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return tmp_path / "venv" / "bin"


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, check=True, capture_output=True, text=True)


def pip(programs: Path, *arguments: str) -> None:
    run(sys.executable, "-m", "pip", "--quiet", "--python", str(programs / "python"), *arguments)


def install(programs: Path, *wheels: Path) -> None:
    for wheel in wheels:
        pip(programs, "install", "--no-index", "--no-deps", "--force-reinstall", str(wheel))


def said(programs: Path, *command: str) -> tuple[int, str]:
    """Run a program of the environment away from the sources; give its exit code and what it told on stderr."""
    ended = subprocess.run(
        [str(programs / command[0]), *command[1:]],
        cwd=programs, env={"PATH": "/usr/bin:/bin"}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    return ended.returncode, ended.stderr + (ended.stdout if "doctor" in command else "")


def test_where_the_other_package_overwrote_files_every_command_says_so_and_ends(
    programs: Path, wheels: tuple[Path, Path]
) -> None:
    install(programs, *wheels)
    for command in (("skillopt", "--version"), ("skillopt", "doctor"), ("skillopt-mcp", "--version")):
        code, told = said(programs, *command)
        assert code == 2
        assert told.count("\n") == 1
        assert "the package `skillopt` 0.2.0, which is another one with the same import name, has overwritten" in told
        assert "run `pip uninstall skillopt` and then `pip install --force-reinstall --no-deps PATH-OF-CLONE`" in told
    pip(programs, "uninstall", "--yes", "skillopt")
    code, told = said(programs, "skillopt", "doctor")
    assert code == 2
    assert told.startswith("skillopt: files of skillopt-mcp are missing in ")
    install(programs, wheels[0])
    assert said(programs, "skillopt", "--version") == (0, "")


def test_where_ours_came_last_it_works_and_says_that_the_other_does_not(
    programs: Path, wheels: tuple[Path, Path]
) -> None:
    install(programs, *wheels[::-1])
    sentence = "`import skillopt` gets skillopt-mcp; the package `skillopt` 0.2.0, which is another one"
    for command in (("skillopt", "--version"), ("skillopt-mcp", "--version")):
        code, told = said(programs, *command)
        assert (code, told.count("\n")) == (0, 1)
        assert sentence in told
    assert f"FAIL import name: {sentence}" in said(programs, "skillopt", "doctor")[1]
    _, told = said(programs, "python", "-c", CALL)
    assert told.startswith(sentence)
    assert "expected tasks in split 'val'" in told


def test_where_the_other_package_lies_elsewhere_it_is_said_to_be_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (check_installation(), namesake()) == ("", "")
    with ZipFile(make_namesake(tmp_path)) as archive:
        archive.extractall(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    assert check_installation() == ""
    assert "import name, is hidden by skillopt-mcp; use separate environments" in namesake()
