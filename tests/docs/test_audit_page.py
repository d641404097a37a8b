"""The commands on the page about audits run as they stand there."""

from pathlib import Path

import pytest

from tests.docs.test_docs import CHECKOUT, blocks, run_shown
from tests.fakes.projects import make_project

pytestmark = pytest.mark.docs


def test_the_commands_of_the_page_about_audits_run_as_shown(tmp_path: Path) -> None:
    folder = make_project(tmp_path)
    for shown in blocks(CHECKOUT / "docs" / "audit.md", "console"):
        run_shown(folder, shown)
    assert "against no skill" in (folder / "audit.html").read_text(encoding="utf-8")
