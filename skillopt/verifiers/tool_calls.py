"""Verifiers `tool_used` and `tool_order`: tool calls of a trajectory, and names of one tool in different agents."""

import json
import re
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, ToolCall, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import failed, quote_json, read_options
from skillopt.verifiers.pattern_search import LONGEST_PATTERN, SearchedPattern, search_pattern

__all__ = [
    "RECORDED_TOOLS",
    "ToolOrderOptions",
    "ToolOrderVerifier",
    "ToolStep",
    "ToolUsedOptions",
    "ToolUsedVerifier",
    "asked_tools",
    "is_recorded",
    "is_tool",
]

RECORDED_TOOLS: Final[dict[str, frozenset[str] | None]] = {
    "chat": frozenset(),
    "handoff": frozenset(),
    "demo": frozenset(),
    "codex": frozenset({"shell", "edit", "write", "mcp"}),
    "claude-code": None,
}
"""Harness → the tools whose use its stream tells of, None for all. A harness that is not listed may tell of any."""

_NAMES: Final = {
    "shell": "bash powershell pwsh command_execution",
    "edit": "multiedit str_replace notebookedit",
    "write": "create create_file",
    "read": "view read_file",
    "agent": "task",
    "webfetch": "web_fetch",
    "websearch": "web_search",
}
_SAME: Final = {other: name for name, others in _NAMES.items() for other in others.split()}
_PATCH: Final = "apply_patch"
"""Codex writes and edits files by this tool alone."""

_MCP: Final = re.compile(r"mcp__(?P<server>.+?)__(?P<tool>.+)")


def is_tool(asked: str, used: str) -> bool:
    """Return whether a tool that was used is the one that is asked for, whatever the agent calls it.

    >>> is_tool("Bash", "shell"), is_tool("Write", "apply_patch"), is_tool("mcp__db__*", "db.query")
    (True, True, True)
    """
    name, found = _plain(asked), _plain(used)
    return fnmatchcase(found, name) or (found == _PATCH and name in ("edit", "write"))


_SEARCH_SECONDS = 5.0


class _CallSearch:
    """Looks for calls by tool and arguments, all within one bound on time."""

    def __init__(self) -> None:
        self._end = time.monotonic() + _SEARCH_SECONDS

    def is_match(self, call: ToolCall, tool: str, pattern: SearchedPattern | None) -> bool:
        """Return whether a call is one of a tool, with arguments in which a pattern is found."""
        if not is_tool(tool, call.name):
            return False
        if pattern is None:
            return True
        left = self._end - time.monotonic()
        found = search_pattern(pattern, call.arguments, left) if left > 0 else None
        if found is None:
            raise TimeoutError(f"the search for {quote_json(pattern.text)} took more than {_SEARCH_SECONDS:g} s")
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
    for part in spec.parts:
        options = json.loads(part.options)
        if part.kind == "tool_used":
            yield options["tool"]
        elif part.kind == "tool_order":
            yield from (step["tool"] for step in options["steps"])


class ToolStep(BaseModel):
    """A call of a tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: Annotated[
        str,
        Field(
            description="Name of the tool, as any of the agents writes it; `*` stands for any characters.",
            min_length=1,
            max_length=200,
        ),
    ]
    arguments: Annotated[
        str | None,
        Field(
            description="Pattern in Python's syntax; only calls in whose arguments it is found count.",
            min_length=1,
            max_length=LONGEST_PATTERN,
        ),
    ] = None

    def pattern(self, kind: str) -> SearchedPattern | None:
        """Compile the pattern of the arguments."""
        return None if self.arguments is None else SearchedPattern.read(kind, self.arguments)


class ToolOrderOptions(BaseModel):
    """Options of the verifier `tool_order`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: Annotated[
        tuple[ToolStep, ...],
        Field(description="Calls, each with `tool` and perhaps `arguments`, in order.", min_length=2, max_length=20),
    ]


class ToolOrderVerifier:
    """Scores 1 when the first call of each step comes before the first call of the next, else 0."""

    def __init__(self, spec: VerifierSpec) -> None:
        self._steps = [(step, step.pattern(spec.kind)) for step in read_options(ToolOrderOptions, spec).steps]

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - the port gives both
        """Look for the first call of each step."""
        try:
            return self._order([call for message in trajectory.messages for call in message.tool_calls])
        except TimeoutError as error:
            return failed(f"tools: {error}")

    def _order(self, calls: list[ToolCall]) -> Score:
        search = _CallSearch()
        before, last = -1, ""
        for step, pattern in self._steps:
            first = next((at for at, call in enumerate(calls) if search.is_match(call, step.tool, pattern)), None)
            name = quote_json(step.tool)
            if first is None:
                return failed(f"tools: expected a call of {name}, found it missing")
            if first <= before:
                return failed(f"tools: expected the first call of {name} after that of {last}, found it before")
            before, last = first, name
        return Score(1.0, passed=True)


class ToolUsedOptions(ToolStep):
    """Options of the verifier `tool_used`."""

    min: Annotated[int, Field(description="Fewest calls.", ge=0)] = 1
    max: Annotated[int | None, Field(description="Most calls; without it, any number.", ge=0)] = None


class ToolUsedVerifier:
    """Scores 1 when the number of calls is within the bounds, else 0."""

    def __init__(self, spec: VerifierSpec) -> None:
        options = self._options = read_options(ToolUsedOptions, spec)
        if options.max is not None and options.max < options.min:
            raise SuiteError(
                f"verifier 'tool_used': expected 'max' of at least {options.min}, found {options.max}; correct one"
            )
        self._pattern = options.pattern(spec.kind)

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - the port gives both
        """Count the calls."""
        options = self._options
        search = _CallSearch()
        try:
            calls = (call for message in trajectory.messages for call in message.tool_calls)
            found = sum(search.is_match(call, options.tool, self._pattern) for call in calls)
        except TimeoutError as error:
            return failed(f"tools: {error}")
        if options.min <= found and (options.max is None or found <= options.max):
            return Score(1.0, passed=True)
        wanted = f"at least {options.min}" if found < options.min else f"at most {options.max}"
        how = "" if options.arguments is None else f" with {quote_json(options.arguments)}"
        return failed(f"tools: expected {wanted} calls of {quote_json(options.tool)}{how}, found {found}")
