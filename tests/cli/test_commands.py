"""Commands in a process of their own, as users start them, and all of them with text that would steer a terminal."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from skillopt.commands.app import COMMANDS as HEADINGS
from skillopt.commands.app import load_command
from tests.fakes.hostile_terminal import STEERING, make_hostile
from tests.fakes.projects import FAST, skillopt

DOCUMENTED = {0, 1, 2, 3}
ARGUMENTS = {
    "gate": ("main", "skillopt/rows"),
    "nightly": ("check", "--output", "state.json", "--set", "remote="),
    "optimize": FAST,
    "rollback": ("rows", "main"),
    "show": ("skillopt/rows",),
    "update": ("rows", "--onto", "skills/rows"),
    "write-tasks": ("rows",),
}
"""What a command is given that needs more than its name; a new command needs no row if it needs nothing."""


def commands(group: object, *words: str) -> Iterator[tuple[str, ...]]:
    """List the commands, those of groups with the names of their groups."""
    if not isinstance(group, typer.core.TyperGroup):
        yield words
        return
    for name, command in group.commands.items():
        yield from commands(command, *words, name)


COMMANDS = sorted(
    " ".join(words)
    for heading in HEADINGS.values()
    for name in heading
    if (command := load_command(name)) is not None
    for words in commands(command, name)
)

MORE = (
    *("diff rows HEAD~1 HEAD", "diff rows HEAD~1 HEAD --words", "gate HEAD~1"),
    *("log rows --json", "report rows --json", "show rows", "suite show rows"),
    *("report rows --format markdown", "report rows --format html", "report rows --all-splits"),
    *("nightly offer nowhere", "nightly train --state nowhere.json --output out"),
)
"""Commands with options that print more of a project."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hostile(tmp_path_factory.mktemp("hostile") / "project")


@pytest.mark.process
@pytest.mark.parametrize("command", [*COMMANDS, *MORE])
def test_no_command_prints_what_a_project_holds_so_that_it_steers_a_terminal(
    command: str, hostile: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(hostile, tmp_path / "project", symlinks=True)

    ended = skillopt(folder, *command.split(), *ARGUMENTS.get(command, ()))

    assert ended.returncode in DOCUMENTED
    assert STEERING.search(ended.stdout + ended.stderr) is None


def test_every_row_is_of_a_command() -> None:
    assert set(ARGUMENTS) <= set(COMMANDS)
