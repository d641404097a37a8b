"""What the tests of commands share: no pause between writes to a forge, and one first night for many tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from skillopt.nightly.github import GitHubForge
from tests.fakes.fake_forge import FakeForge, fake_forge
from tests.fakes.nights import Nights, make_nights


@pytest.fixture(scope="session", autouse=True)
def no_pause_between_writes() -> Iterator[None]:
    """Write to the loopback forge at once: GitHub wants a second between writes."""
    seconds, _ = GitHubForge.__init__.__defaults__ or (20, 1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(GitHubForge.__init__, "__defaults__", (seconds, 0.0))
        yield


@pytest.fixture(scope="session")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nights]:
    """Return a project after its first night, which opened a pull request."""
    with fake_forge() as forge:
        nights = make_nights(tmp_path_factory.mktemp("begun"), forge)
        assert nights.run()["rows"]["offer"]["action"] == "opened"
        yield nights


@pytest.fixture
def forge() -> Iterator[FakeForge]:
    with fake_forge() as server:
        yield server


@pytest.fixture
def nights(tmp_path: Path, forge: FakeForge) -> Nights:
    """Return a project before its first night."""
    return make_nights(tmp_path, forge)


@pytest.fixture
def after(tmp_path: Path, forge: FakeForge, begun: Nights) -> Nights:
    """Return a copy of what the first night left, for a test with a forge of its own."""
    return begun.copy(tmp_path, forge)
