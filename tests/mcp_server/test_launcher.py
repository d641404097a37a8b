"""The plugin's launcher starts the program where it is installed, and elsewhere says how to install it."""

import ast
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from skillopt import __version__
from tests.fakes.mcp_clients import failed, install_server, say
from tests.fakes.repositories import make_repository

pytestmark = [pytest.mark.anyio, pytest.mark.process]

PLUGIN = Path(__file__).resolve().parents[2] / "plugin"
USUAL = "/usr/bin:/bin"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A copy of the plugin, and a home without any program."""
    shutil.copytree(PLUGIN, tmp_path / "plugin")
    (tmp_path / "home").mkdir()
    return tmp_path


def launcher(place: Path, path: str = USUAL, **environment: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=os.path.realpath(sys.executable),
        args=["-I", str(place / "plugin" / "launch" / "launch.py")],
        env={"HOME": str(place / "home"), "PATH": path, **environment},
        cwd=place,
    )


def program(folder: Path, told: str) -> Path:
    """Make a skillopt-mcp that says a version, and otherwise what it was started with."""
    made = folder / "skillopt-mcp"
    folder.mkdir(parents=True, exist_ok=True)
    made.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && echo "{told}" && exit\necho "$0 $PLUGIN_VERSION_OF_SKILLOPT $*"\n'
    )
    made.chmod(0o755)
    return made


def started(place: Path, path: str = USUAL, **environment: str) -> tuple[str, str]:
    """Run the launcher without a line to answer; give what was printed, and what went to stderr."""
    given = launcher(place, path, **environment)
    command = [given.command, *given.args, "-C", "."]
    ended = subprocess.run(command, env=given.env, cwd=place, input="", capture_output=True, text=True, check=True)
    return ended.stdout.strip(), ended.stderr.strip()


async def test_run_from_a_clone_the_lines_to_type_name_that_clone(home: Path) -> None:
    (home / "pyproject.toml").write_text('[project]\nname = "skillopt-mcp"\n')
    async with Client(launcher(home)) as client:
        assert f"install {home}" in (await say(client, "install_skillopt")).replace("'", "")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_without_the_program_there_is_one_tool_that_says_what_to_type(home: Path, mode: str) -> None:
    async with Client(launcher(home), mode=mode) as client:
        (tool,) = (await client.list_tools()).tools
        assert tool.name == "install_skillopt"
        assert "Call `install_skillopt`" in (client.instructions or "")
        assert "install PATH-OF-CLONE" in await say(client, "install_skillopt")
        assert "install_skillopt" in await failed(client, "list_skills")


async def test_the_program_on_the_path_is_started_in_the_projects_folder(home: Path) -> None:
    make_repository(home / "rows")
    install_server(home / "bin" / "skillopt-mcp")
    given = launcher(home, f"{home / 'bin'}:{os.environ['PATH']}")
    async with Client(given.model_copy(update={"cwd": home / "rows"})) as client:
        assert "- target: " in await say(client, "list_skills", name="rows")  # settings are read, from variables too


@pytest.mark.parametrize("folder", [".local/bin", ".local/share/uv/tools/skillopt-mcp/bin"])
def test_the_program_is_found_where_pipx_and_uv_put_it(home: Path, folder: str) -> None:
    made = program(home / "home" / folder, f"skillopt-mcp {__version__}")
    assert started(home) == (f"{made} {__version__} -C .", "")


def test_the_active_environment_is_looked_into_and_the_projects_own_folder_is_not(home: Path) -> None:
    made = program(home / ".venv" / "bin", f"skillopt-mcp {__version__}")
    program(home, f"skillopt-mcp {__version__}")
    assert started(home) == ("", "")
    assert started(home, VIRTUAL_ENV=str(home / ".venv")) == (f"{made} {__version__} -C .", "")
    assert started(home, VIRTUAL_ENV=".venv") == ("", "")


def test_another_program_of_that_name_is_passed_over_and_one_of_another_version_told(home: Path) -> None:
    program(home / "other", "skillopt-mcp by somebody else, version 7")
    made = program(home / "home" / ".local" / "bin", "skillopt-mcp 9.9.9")
    told, problem = started(home, f"{home / 'other'}:{USUAL}")
    assert told == f"{made} {__version__} -C ."
    assert f"{__version__}, the program 9.9.9; update" in problem


@pytest.mark.parametrize(
    ("repository", "source"),
    [
        ("https://git.example/skillopt", f"git+https://git.example/skillopt@v{__version__}"),
        *(("skillopt-mcp", ""), ("https://git.example/x; rm", "")),
    ],
)
def test_uvx_gets_a_pinned_git_address_and_never_the_bare_name(home: Path, repository: str, source: str) -> None:
    manifest = home / "plugin" / ".claude-plugin" / "plugin.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "repository": repository}))
    uvx = home / "bin" / "uvx"
    uvx.parent.mkdir()
    uvx.write_text('#!/bin/sh\necho "$@"\n')
    uvx.chmod(0o755)
    told = started(home, f"{uvx.parent}:{USUAL}")[0]
    assert told == (f"--from {source} skillopt-mcp -C ." if source else "")


def test_the_launcher_is_read_by_every_python_that_is_still_about() -> None:
    source = (PLUGIN / "launch" / "launch.py").read_text(encoding="utf-8")
    tree = ast.parse(source, feature_version=(3, 7))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    assert imported <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
