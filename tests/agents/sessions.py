"""Whole sessions: a real client in a home of its own, the real server, and a model that plays the agent.

Owns how each client is set up, as docs/in-your-agent.md tells users, and what a session leaves behind. Does not own
what the model does (tests.fakes.host_player) or how a session is shown (transcripts).
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.fakes.host_wires import Seen, play_host, read_anthropic, read_openai
from tests.fakes.mcp_clients import install_server
from tests.fakes.projects import make_project
from tools.fake_providers.loopback import Requested

_ROOT = Path(__file__).resolve().parents[2]
_SECONDS = 240
_PATHS: Mapping[str, str] = {"claude": "/v1/messages", "codex": "/v1/responses"}
WAIT = {"CLAUDE_CODE_MCP_STARTUP_WAIT_MS": "60000"}
"""What has Claude Code wait for a server; without it, one that starts slowly comes after the first request."""

_ASKED = "Improve my skill rows with the tools of skillopt. One round, at most 15 minutes a job."
# What a user has in config.toml, but for the provider.
_CODEX = (
    *("web_search=disabled", "analytics.enabled=false", "check_for_update_on_startup=false"),
    *("features.unbounded_connection_retries=false", 'model="fake-model"', 'model_provider="fake"'),
    *('model_providers.fake.name="fake"', 'model_providers.fake.wire_api="responses"'),
)


@dataclass(frozen=True, slots=True)
class Way:
    """How the server comes to a client."""

    client: str
    set_up: tuple[tuple[str, ...], ...]
    flags: tuple[str, ...]
    asked: str

    @property
    def command(self) -> tuple[str, ...]:
        """The arguments of the client, headless."""
        return ("-p", self.asked, *self.flags) if self.client == "claude" else ("exec", *self.flags, self.asked)


WAYS: Mapping[str, Way] = {
    "claude-code, registered": Way(
        "claude", (("mcp", "add", "skillopt", "--", "skillopt-mcp"),), ("--allowedTools", "mcp__skillopt"), _ASKED
    ),
    "claude-code, plugin": Way(
        "claude",
        (("plugin", "marketplace", "add", "{market}"), ("plugin", "install", "skillopt@skillopt")),
        ("--allowedTools", "mcp__plugin_skillopt_skillopt"),
        "/skillopt:optimize rows. One round, at most 15 minutes a job.",
    ),
    "codex, registered": Way(
        "codex",
        (("mcp", "add", "skillopt", "--", "skillopt-mcp"),),
        (
            *("-c", 'mcp_servers.skillopt.default_tools_approval_mode="approve"'),
            *("-c", "mcp_servers.skillopt.required=true"),
        ),
        _ASKED,
    ),
    "codex, plugin": Way(
        "codex",
        (("plugin", "marketplace", "add", "{market}"), ("plugin", "add", "skillopt@skillopt")),
        ("-c", 'plugins.skillopt@skillopt.mcp_servers.skillopt.default_tools_approval_mode="approve"'),
        "$skillopt:optimize-skill Improve my skill rows. One round, at most 15 minutes a job.",
    ),
}
"""The four ways, by name."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session that ended."""

    way: Way
    project: Path
    ended: "subprocess.CompletedProcess[str]"
    seen: Seen
    requests: tuple[Requested, ...]

    @property
    def turns(self) -> tuple[Requested, ...]:
        """List the requests that the client sent to the model."""
        return tuple(request for request in self.requests if request.path == _PATHS[self.way.client])


def make_place(place: Path) -> Path:
    """Make a project, an empty home, the marketplace, and a folder for the PATH with the real `skillopt-mcp`."""
    make_project(place / "project")
    (place / "home" / ".codex").mkdir(parents=True)
    (place / "home" / ".gitconfig").write_text("[user]\nname = Ann\nemail = ann@example.com\n", encoding="utf-8")
    for name in (".claude-plugin", "plugin"):
        shutil.copytree(_ROOT / name, place / "market" / name)
    install_server(place / "programs" / "skillopt-mcp")
    return place


def client_variables(place: Path, url: str) -> dict[str, str]:
    """Return the environment of a client, with nothing of this machine but the PATH."""
    home = place / "home"
    return {
        "PATH": f"{place / 'programs'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(home),
        "CODEX_HOME": str(home / ".codex"),
        "LANG": "C.UTF-8",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "ANTHROPIC_API_KEY": "key-for-loopback-only",
        **WAIT,
        # Without it Claude Code asks its own servers when it adds a marketplace, and waits for them.
        "ANTHROPIC_BASE_URL": url,
    }


def run_session(program: str, way: Way, place: Path) -> Session:
    """Set a client up by its own commands, and have it do what the user asks, headless."""
    with play_host(way.client) as provider:
        commands = [[word.format(market=place / "market") for word in words] for words in way.set_up]
        for words in (*commands, [*way.command, *client_settings(way, provider.url)]):
            ended = subprocess.run(
                [program, *words],
                cwd=place / "project",
                env=client_variables(place, provider.url),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                timeout=_SECONDS,
            )
            assert ended.returncode == 0, ended.stdout + ended.stderr
        requests = tuple(provider.requests)
    bodies = [request.body for request in requests if request.path == _PATHS[way.client]]
    assert bodies, ended.stdout + ended.stderr
    read = read_anthropic if way.client == "claude" else read_openai
    return Session(way, place / "project", ended, read(bodies[-1]), requests)


def client_settings(way: Way, url: str) -> tuple[str, ...]:
    """Return what makes a client use the loopback provider, and nothing else."""
    if way.client == "claude":
        return ()
    # Where plugins are on, Codex asks github.com for a catalogue of them.
    plugins = () if way.set_up[0][0] == "plugin" else ("features.plugins=false",)
    settings = (*_CODEX, *plugins, f'model_providers.fake.base_url="{url}/v1"')
    return tuple(word for setting in settings for word in ("-c", setting))
