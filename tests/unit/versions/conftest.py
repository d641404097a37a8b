"""What the tests of versions share: a repository with a skill."""

from pathlib import Path

import pytest

from tests.fakes.repositories import make_repository


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a repository with a skill in it."""
    return make_repository(tmp_path / "repository")
