"""What tests with real agents share: their programs, a login that only a fake provider takes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.agents.rows import TASK
from tools.fetch_agents import cache_folder, find_agent

_SECRETS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"),
    *("CLAUDE_CONFIG_DIR", "OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY", "CODEX_HOME"),
)


@pytest.fixture(autouse=True)
def no_login(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds a key or a login of whoever runs it."""
    for name in _SECRETS:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Return a folder with the input of the task of these tests."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    (folder / "input.csv").write_bytes(TASK.files[0].content)
    return folder


@pytest.fixture(scope="session")
def agent() -> Callable[[str], str]:
    """Return the path of a program that was fetched, or skip."""

    def find(name: str) -> str:
        found: Path | None = find_agent(name)
        if found is None:
            pytest.skip(f"no {name} in {cache_folder()}: run `python -m tools.fetch_agents`")
        return str(found)

    return find
