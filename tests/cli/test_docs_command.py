"""The documentation that comes with the program: every page that a message names can be read."""

import json
import re
from pathlib import Path

from skillopt.commands.docs import read_pages
from tests.fakes.projects import skillopt

ROOT = Path(__file__).resolve().parents[2]


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
