"""What the tests with real agents use here, too."""

from tests.agents.conftest import agent, no_login  # noqa: F401 - fixtures
