"""Where a reader finds a command: in the file of its name."""

import re
from pathlib import Path

import pytest

from skillopt.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
GROUPS = {"job": "jobs", "cancel": "jobs", "take": "rollback", "undecline": "decline", "drop": "decline"}
MOST_FILES = 30


def test_each_command_has_its_options_and_its_text_in_the_file_of_its_name() -> None:
    commands = [command.callback for command in app.registered_commands if command.callback]
    assert len(commands) > 20
    for command in commands:
        assert command.__module__.rpartition(".")[2] == GROUPS.get(command.__name__, command.__name__)


@pytest.mark.parametrize(
    "folder",
    ["cli", "cli/action", "cli/history", "cli/reports", "cli/tasks", "commands", "commands/history", "commands/tasks"],
)
def test_a_folder_of_commands_stays_within_thirty_files(folder: str) -> None:
    assert len(list((ROOT / "skillopt" / folder).glob("*.py"))) <= MOST_FILES


def test_help_lists_every_command_once_under_a_heading_and_begins_with_where_to_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        app(["--help"])
    text = capsys.readouterr().out
    headings = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert headings[:3] == ["Options", "Start here", "Tasks"]
    names = {
        (command.name or command.callback.__name__).replace("_", "-")
        for command in app.registered_commands
        if command.callback
    }
    names |= {group.name for group in app.registered_groups if group.name}
    listed = re.findall(r"^  ([a-z][a-z-]*) {2,}\S", text, re.MULTILINE)
    assert sorted(listed) == sorted(names)
