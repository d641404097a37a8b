"""Where a reader finds a command: in the file of its name."""

from pathlib import Path

from skillopt.cli.app import app

ROOT = Path(__file__).resolve().parents[1]
GROUPS = {"job": "jobs", "cancel": "jobs", "tune": "tuning"}
MOST_FILES = 30


def test_each_command_has_its_options_and_its_text_in_the_file_of_its_name() -> None:
    found = [(command.callback.__name__, command.callback.__module__) for command in app.registered_commands]  # type: ignore[union-attr]
    assert len(found) > 20
    assert [module for _, module in found] == [f"skillopt.cli.{GROUPS.get(name, name)}" for name, _ in found]


def test_the_command_line_stays_within_thirty_files() -> None:
    assert len(list((ROOT / "skillopt" / "cli").glob("*.py"))) <= MOST_FILES
