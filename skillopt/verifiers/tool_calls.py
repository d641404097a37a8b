"""Verifiers `tool_used` and `tool_order`: tool calls of a trajectory, and names of one tool in different agents."""

import json
import re
import time
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Annotated, Final

from pydantic import Field

from skillopt.errors import SuiteError
from skillopt.rollouts import Score, Trajectory
from skillopt.tasks import VerifierSpec
from skillopt.verifiers import StrictOptions, failed, quote_json, read_options
from skillopt.verifiers.pattern_search import LONGEST_PATTERN, compile_pattern, search_pattern

RECORDED_TOOLS: Final[dict[str, frozenset[str] | None]] = {
    "chat": frozenset(),
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


_SEARCH_SECONDS: Final = 5.0  # as the verifier `regex` takes


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


class ToolStep(StrictOptions):
    """A call of a tool."""

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

    def calls(self, kind: str, trajectory: Trajectory) -> Iterator[int]:
        """Yield which calls of a rollout are such; looking for arguments ends after 5 s with a `TimeoutError`."""
        pattern = None if self.arguments is None else compile_pattern(kind, self.arguments)
        end = time.monotonic() + _SEARCH_SECONDS
        for at, call in enumerate(call for message in trajectory.messages for call in message.tool_calls):
            if is_tool(self.tool, call.name):
                left = end - time.monotonic()
                held = pattern is None or (search_pattern(pattern, call.arguments, left) if left > 0 else None)
                if held is None:
                    told = f"the search for {quote_json(self.arguments)} took more than {_SEARCH_SECONDS:g} s"
                    raise TimeoutError(told)
                if held:
                    yield at


class ToolOrderOptions(StrictOptions):
    """Options of the verifier `tool_order`."""

    steps: Annotated[
        tuple[ToolStep, ...],
        Field(description="Calls, each with `tool` and perhaps `arguments`, in order.", min_length=2, max_length=20),
    ]


class ToolOrderVerifier:
    """Scores 1 when the first call of each step comes before the first call of the next, else 0."""

    def __init__(self, spec: VerifierSpec) -> None:
        self._steps = read_options(ToolOrderOptions, spec).steps
        for step in self._steps:
            list(step.calls(spec.kind, Trajectory()))  # refuses a pattern that is none

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - the port gives both
        """Look for the first call of each step."""
        before, last = -1, ""
        for step in self._steps:
            name = quote_json(step.tool)
            try:
                first = next(step.calls("tool_order", trajectory), None)
            except TimeoutError as error:
                return failed(f"tools: {error}")
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
        list(options.calls(spec.kind, Trajectory()))  # as above

    def score(self, trajectory: Trajectory, workspace: str) -> Score:  # noqa: ARG002 - the port gives both
        """Count the calls."""
        options = self._options
        try:
            found = len(list(options.calls("tool_used", trajectory)))
        except TimeoutError as error:
            return failed(f"tools: {error}")
        if options.min <= found and (options.max is None or found <= options.max):
            return Score(1.0, passed=True)
        wanted = f"at least {options.min}" if found < options.min else f"at most {options.max}"
        how = "" if options.arguments is None else f" with {quote_json(options.arguments)}"
        return failed(f"tools: expected {wanted} calls of {quote_json(options.tool)}{how}, found {found}")
