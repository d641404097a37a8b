"""Fixtures of the tests of agents and of commands, which the tests of these packages use, too."""

from tests.agents.conftest import agent, no_login  # noqa: F401 - they are fixtures
from tests.cli.conftest import after, begun, forge, nights, no_pause_between_writes  # noqa: F401 - they are fixtures
