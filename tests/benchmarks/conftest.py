"""Tests of the benchmarks are no part of the quick tests: what they test does not ship, and many of them train."""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands beside this file."""
    for item in items:
        if _HERE in item.path.parents and not any(item.iter_markers("slow")):
            item.add_marker(pytest.mark.process)
