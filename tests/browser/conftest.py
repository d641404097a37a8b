"""What tests in a real browser share: one Chromium for all of them, a fresh page for each, and axe-core."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, Page, find_chromium, open_browser
from tools.fetch_agents import cache_folder, find_agent


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """Start Chromium, or skip."""
    if find_chromium() is None:
        pytest.skip("no chromium on the PATH: install Debian's package `chromium`, or name one: CHROMIUM=/path/to/it")
    with open_browser(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture
def tab(browser: Chromium) -> Page:
    """Open an empty page."""
    return browser.page()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the source of axe-core, or skip."""
    found: Path | None = find_agent("axe")
    if found is None:
        pytest.skip(f"no axe-core in {cache_folder()}: run `python -m tools.fetch_agents axe`")
    return found.read_text(encoding="utf-8")
