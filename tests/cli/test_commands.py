"""All commands: where a reader finds them, the pages that they name, and text that would steer a terminal."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from skillopt.commands.app import COMMANDS as HEADINGS
from skillopt.commands.app import app, load_command
from skillopt.commands.docs import read_pages
from tests.fakes.hostile_terminal import STEERING, make_hostile
from tests.fakes.projects import FAST, skillopt

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = {0, 1, 2, 3}
ARGUMENTS = {
    "gate": ("main", "skillopt/rows"),
    "nightly": ("check", "--output", "state.json", "--set", "remote="),
    "optimize": FAST,
    "rollback": ("rows", "main"),
    "show": ("skillopt/rows",),
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
    *("diff rows HEAD~1 HEAD", "gate HEAD~1"),
    *("log rows --json", "report rows --json", "show rows", "suite show rows"),
    *("report rows --format markdown", "report rows --format html"),
    *("nightly offer nowhere", "nightly train --state nowhere.json --output out"),
    *("evaluate rows --of main --of skillopt/rows -v", "evaluate rows --of none --harness demo --harness demo/hasty"),
    *("gate HEAD~1 --summary a.md --github a.txt", "gate HEAD~1 --summary no/a.md"),
    *("decline rows 1 --reason no", "decline --undo rows", "take rows", "show draft rows", "suite check rows --json"),
    *("shrink rows --dry-run",),
    *("import suites/rows.jsonl --to copy", "init --harness opencode"),
)
"""Commands with options that print more of a project."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hostile(tmp_path_factory.mktemp("hostile") / "project")


@pytest.mark.process
@pytest.mark.parametrize("command", [*COMMANDS, *MORE])
def test_no_command_prints_what_would_steer_a_terminal(command: str, hostile: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(hostile, tmp_path / "project", symlinks=True)

    ended = skillopt(folder, *command.split(), *ARGUMENTS.get(command, ()))

    assert ended.returncode in DOCUMENTED
    assert STEERING.search(ended.stdout + ended.stderr) is None


def test_every_row_is_of_a_command() -> None:
    assert set(ARGUMENTS) <= set(COMMANDS)


GROUPS = dict.fromkeys(("take", "rollback", "decline"), "decisions")
NAMES = [name for heading in HEADINGS.values() for name in heading]


def test_each_command_has_its_options_and_its_text_in_the_file_of_its_name_or_of_its_kind() -> None:
    assert len(NAMES) > 20
    for heading in HEADINGS.values():
        for name, (path, line) in heading.items():
            module, _, function = path.rpartition(".")[2].partition(":")
            assert module == GROUPS.get(function, function)
            assert line.endswith(".")
            command = load_command(name)
            assert command is not None
            assert command.help


def test_help_lists_every_command_once_under_a_heading(capsys: pytest.CaptureFixture[str]) -> None:
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


def test_pages_are_listed_with_their_titles_and_read_by_name(tmp_path: Path) -> None:
    listed = skillopt(tmp_path, "docs")
    assert re.search(r"^settings +Settings$", listed.stdout, re.MULTILINE)
    read = skillopt(tmp_path, "docs", "docs/settings.md")
    assert read.stdout.rstrip() == (ROOT / "docs" / "settings.md").read_text(encoding="utf-8").rstrip()
    found = json.loads(skillopt(tmp_path, "docs", "--json").stdout)
    assert {page["name"] for page in found["pages"]} == {path.stem for path in (ROOT / "docs").glob("*.md")}


def test_every_page_that_the_program_names_is_there_and_named_by_the_command_that_shows_it() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "skillopt").rglob("*.py")]
    named = {page for source in sources for page in re.findall(r"skillopt docs ([a-z][a-z-]+)", source)}
    assert named
    assert named <= read_pages().keys()
    assert not [source for source in sources if re.search(r"see docs/", source)]
