"""The commands on the page about triggers run as they stand there."""

from pathlib import Path

import pytest

from tests.docs.test_docs import CHECKOUT, blocks, run_shown
from tests.fakes.projects import git
from tests.fakes.triggers import make_siblings

pytestmark = pytest.mark.docs


def test_the_commands_of_the_page_about_triggers_run_as_shown(tmp_path: Path) -> None:
    folder = make_siblings(tmp_path)
    shown, _ = blocks(CHECKOUT / "docs" / "triggers.md", "console")
    run_shown(folder, shown)
    assert "Use for " in (folder / "skills" / "expense-claims" / "SKILL.md").read_text(encoding="utf-8")
    assert git(folder, "log", "-1", "--format=%(trailers:key=Kind,valueonly)") == "description"
