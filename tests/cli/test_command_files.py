"""Where a reader finds a command: in the file of its name."""

import re
import subprocess
import sys

import pytest

from skillopt.commands.app import COMMANDS, app, load_command

GROUPS = {"job": "jobs", "cancel": "jobs", "take": "rollback", "undecline": "decline", "drop": "decline"}
NAMES = [name for heading in COMMANDS.values() for name in heading]


def test_each_command_has_its_options_and_its_text_in_the_file_of_its_name() -> None:
    assert len(NAMES) > 20
    for heading in COMMANDS.values():
        for name, (path, line) in heading.items():
            module, _, function = path.rpartition(".")[2].partition(":")
            assert module == GROUPS.get(function, function)
            assert line.endswith(".")
            command = load_command(name)
            assert command is not None
            assert command.help


def test_help_lists_every_command_once_under_a_heading_and_begins_with_where_to_start(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        app(["--help"])
    text = capsys.readouterr().out
    headings = re.findall(r"^(\S.*):$", text, re.MULTILINE)
    assert headings[:3] == ["Options", "Start here", "Tasks"]
    listed = re.findall(r"^  ([a-z][a-z-]*) {2,}\S", text, re.MULTILINE)
    assert sorted(listed) == sorted(NAMES)


def test_help_imports_no_command() -> None:
    code = (
        "import sys; from skillopt.commands.app import app; app(['--help'], standalone_mode=False);"
        "print(sorted(name for name in sys.modules if name.startswith('skillopt.commands')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.splitlines()[-1] == "['skillopt.commands', 'skillopt.commands.app']"
