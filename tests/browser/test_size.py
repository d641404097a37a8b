"""The report of a run of a hundred thousand rollouts: small, whole, and soon there."""

import time
from pathlib import Path

import pytest

from tests.browser.chromium import Page
from tests.browser.large_run import ROLLOUTS, make_large_run
from tests.fakes.projects import skillopt

pytestmark = pytest.mark.browser


def test_a_hundred_thousand_rollouts_make_a_report_below_five_megabytes_that_opens(tab: Page, tmp_path: Path) -> None:
    folder = make_large_run(tmp_path / "large")
    begun = time.monotonic()
    text = skillopt(folder, "report", "--format", "html").stdout
    made = time.monotonic() - begun
    path = tmp_path / "report.html"
    path.write_text(text, encoding="utf-8")
    tab.open(path.as_uri())
    timing = tab.evaluate("performance.getEntriesByType('navigation')[0].toJSON()")
    print(  # noqa: T201 - what was measured, shown by `make test-browser`
        f"{ROLLOUTS:,} rollouts: {len(text.encode()) / 1e6:.2f} MB, made in {made:.1f} s, "
        f"loaded in {timing['loadEventEnd'] / 1000:.2f} s"
    )
    assert len(text.encode()) < 5_000_000
    assert tab.complaints == []
    assert tab.evaluate("document.querySelectorAll('#rollouts > details').length") == 60
    shown = tab.evaluate("document.querySelector('#rollouts').textContent")
    assert "60 of 33,600 recorded rollouts of the train tasks" in shown
    tab.look(width=360)
    assert tab.evaluate("document.documentElement.scrollWidth") == 360
