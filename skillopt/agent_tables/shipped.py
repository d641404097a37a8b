"""Tables of agents that are shipped: OpenCode, Gemini CLI and Copilot CLI.

Each was run with its real command line, in the version that tools/fetch_agents.py names, against model servers on
loopback. What its provider is called and where it listens are the fields that a user is likely to set anew.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from skillopt.agent_tables.table import (
    AgentTable,
    AnswerRule,
    ErrorRule,
    ExitStatuses,
    ResultRule,
    ToolRule,
    UsageRule,
)

__all__ = ["SHIPPED", "find_agent_table"]

_OPENCODE: Final = AgentTable(
    command=("opencode", "run", "--format", "json", "--pure", "--auto", "--title", "task"),
    model=("--model", "{model}"),
    keys=("ANTHROPIC_API_KEY",),
    url=("https://api.anthropic.com/v1",),
    environment={
        "OPENCODE_CONFIG": "{config}/opencode.json",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    },
    files={
        "config/opencode.json": json.dumps(
            {
                "autoupdate": False,
                "share": "disabled",
                "snapshot": False,
                "permission": {"*": "allow"},
                "provider": {"anthropic": {"options": {"baseURL": "{url}", "apiKey": "{env:ANTHROPIC_API_KEY}"}}},
            }
        )
    },
    output="lines",
    answer=AnswerRule(when={"type": "text"}, text="part.text"),
    tool=ToolRule(
        when={"type": "tool_use"},
        name="part.tool",
        input="part.state.input",
        result=("part.state.output", "part.state.error"),
        failed={"part.state.status": "error"},
    ),
    usage=UsageRule(
        when={"type": "step_finish"},
        input=("part.tokens.input", "part.tokens.cache.read", "part.tokens.cache.write"),
        cached=("part.tokens.cache.read",),
        output=("part.tokens.output", "part.tokens.reasoning"),
        usd="part.cost",
    ),
    error=ErrorRule(when={"type": "error"}, text="error.data.message", status="error.data.statusCode"),
)

_GEMINI: Final = AgentTable(
    command=("gemini", "--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
    model=("--model", "{model}"),
    keys=("GEMINI_API_KEY",),
    url=("https://generativelanguage.googleapis.com",),
    environment={"GOOGLE_GEMINI_BASE_URL": "{url}"},
    files={
        ".gemini/settings.json": json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 2},
                "privacy": {"usageStatisticsEnabled": False},
                "model": {"maxSessionTurns": "{turns}"},
            }
        ).replace('"{turns}"', "{turns}")
    },
    turns=30,
    output="lines",
    answer=AnswerRule(when={"type": "message", "role": "assistant"}, text="content", joined=True),
    tool=ToolRule(when={"type": "tool_use"}, name="tool_name", input="parameters", id="tool_id"),
    result=ResultRule(
        when={"type": "tool_result"}, id="tool_id", text=("output", "error.message"), failed={"status": "error"}
    ),
    usage=UsageRule(
        when={"type": "result"}, input="stats.input_tokens", cached="stats.cached", output="stats.output_tokens"
    ),
    error=ErrorRule(when={"type": "result", "status": "error"}, text="error.message"),
    exits=ExitStatuses(limit=(53,)),
)

_COPILOT: Final = AgentTable(
    command=("copilot", "--output-format", "json", "--allow-all", "--no-ask-user", "--no-auto-update"),
    model=("--model", "{model}"),
    keys=("COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
    url=("https://api.githubcopilot.com", "https://api.github.com"),
    environment={"COPILOT_AUTO_UPDATE": "false"},
    output="lines",
    answer=AnswerRule(when={"type": "assistant.message"}, text="data.content"),
    tool=ToolRule(
        when={"type": "tool.execution_start"}, name="data.toolName", input="data.arguments", id="data.toolCallId"
    ),
    result=ResultRule(
        when={"type": "tool.execution_complete"},
        id="data.toolCallId",
        text=("data.result.content", "data.error.message"),
        failed={"data.success": False},
    ),
    error=ErrorRule(when={"type": "model.call_failure"}, text="data.errorMessage", status="data.statusCode"),
)

SHIPPED: Final = MappingProxyType({"copilot": _COPILOT, "gemini": _GEMINI, "opencode": _OPENCODE})
"""Name of the harness → table. A table of the same name in skillopt.toml replaces the fields that it has."""


def find_agent_table(harness: str, own: Mapping[str, AgentTable]) -> AgentTable | None:
    """Find the table of a harness, the user's own first; None for a harness that has none."""
    kind = harness.partition("/")[0]
    return own.get(kind) or SHIPPED.get(kind)
