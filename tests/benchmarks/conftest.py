"""Tests of the benchmarks are slow ones, which run without coverage: what they test does not ship, and many train."""

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands beside this file."""
    for item in items:
        if _HERE in item.path.parents and not any(item.iter_markers("llm")):
            item.add_marker(pytest.mark.slow)
