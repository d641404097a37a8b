"""Tool calls of a trajectory, and names of one tool in different agents."""

import json
import re
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any, Final

from skillopt.rollouts import ToolCall, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import quote_json
from skillopt.verifiers.pattern_search import SearchedPattern, search_pattern

__all__ = ["RECORDED_TOOLS", "CallSearch", "asked_tools", "calls_of", "is_recorded", "is_tool"]

RECORDED_TOOLS: Final[dict[str, frozenset[str] | None]] = {
    "chat": frozenset(),
    "handoff": frozenset(),
    "demo": frozenset(),
    "codex": frozenset({"shell", "edit", "write", "mcp"}),
    "claude-code": None,
}
"""Harness → the tools whose use its stream tells of, None for all. A harness that is not listed may tell of any."""

_SAME: Final = {
    "bash": "shell",
    "powershell": "shell",
    "pwsh": "shell",
    "command_execution": "shell",
    "multiedit": "edit",
    "str_replace": "edit",
    "notebookedit": "edit",
    "create": "write",
    "create_file": "write",
    "view": "read",
    "read_file": "read",
    "task": "agent",
    "web_fetch": "webfetch",
    "web_search": "websearch",
}
_PATCH: Final = "apply_patch"
"""Codex writes and edits files by this tool alone."""

_MCP: Final = re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)")


def calls_of(trajectory: Trajectory) -> Iterator[ToolCall]:
    """Yield the tool calls in order."""
    return (call for message in trajectory.messages for call in message.tool_calls)


def is_tool(asked: str, used: str) -> bool:
    """Return whether a tool that was used is the one that is asked for, whatever the agent calls it.

    >>> is_tool("Bash", "shell"), is_tool("Write", "apply_patch"), is_tool("mcp__db__*", "db.query")
    (True, True, True)
    """
    name, found = _plain(asked), _plain(used)
    return fnmatchcase(found, name) or (found == _PATCH and name in ("edit", "write"))


class CallSearch:
    """Looks for calls by tool and arguments, all within one bound on time."""

    def __init__(self, time_limit: float) -> None:
        self._limit = time_limit
        self._end = time.monotonic() + time_limit

    def is_match(self, call: ToolCall, tool: str, pattern: SearchedPattern | None) -> bool:
        """Return whether a call is one of a tool, with arguments in which a pattern is found."""
        if not is_tool(tool, call.name):
            return False
        if pattern is None:
            return True
        left = self._end - time.monotonic()
        found = search_pattern(pattern, call.arguments, left) if left > 0 else None
        if found is None:
            raise TimeoutError(f"the search for {quote_json(pattern.text)} took more than {self._limit:g} s")
        return found


def is_recorded(tool: str, harness: str) -> bool:
    """Return whether the stream of a harness tells of the use of a tool."""
    known = RECORDED_TOOLS.get(harness.partition("/")[0])
    name = _plain(tool)
    return known is None or name in known or ("mcp" in known and "." in name) or (bool(known) and name == _PATCH)


def _plain(name: str) -> str:
    """Write names of one tool in one way: lower case, and an MCP tool as `server.tool`."""
    mcp = _MCP.fullmatch(name)
    plain = f"{mcp['server']}.{mcp['tool']}".lower() if mcp else name.lower()
    return _SAME.get(plain, plain)


def asked_tools(spec: VerifierSpec) -> Iterator[str]:
    """Yield the tools whose use decides a score, those of a check among several too."""
    return _asked(spec.kind, json.loads(spec.options))


def _asked(kind: str, options: Any) -> Iterator[str]:  # noqa: ANN401 - options of any kind, as JSON
    match kind:
        case "tool_used":
            yield options["tool"]
        case "tool_order":
            yield from (step["tool"] for step in options["steps"])
        case "checks":
            for check in options["checks"]:
                yield from _asked(check["kind"], check.get("options", {}))
        case _:
            return
