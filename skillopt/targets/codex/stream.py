"""Parse what `codex exec --json` prints: messages, commands, consumption, whether a skill was loaded, the end."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pydantic import Field, JsonValue

from skillopt.errors import FailureKind
from skillopt.rollouts import Message, Status, ToolCall, Usage
from skillopt.skills.document import Skill
from skillopt.targets.stream import (
    ClientRun,
    ClientStream,
    Ending,
    StreamEvent,
    TokenCount,
    as_text,
    failed_run,
    failure_kind_of_status,
    failure_kind_of_words,
    read_events,
    shorten_call,
    shorten_reason,
)

_REFUSED: Final = re.compile(r"flagged|usage policy|content policy|cyber_policy|safety", re.IGNORECASE)
_UNLOADED: Final = re.compile(r"failed to load skill (?P<path>\S+): (?P<why>.*)")
_ERROR_BODY: Final = re.compile(r"^\{.*\}$", re.DOTALL)
_HTTP_STATUS: Final = re.compile(r"unexpected status (\d{3})\b|last status: (\d{3})\b")
_TOLD_BY_400: Final = (FailureKind.QUOTA, FailureKind.TOO_LARGE, FailureKind.AUTH, FailureKind.UNKNOWN_MODEL)


class _Change(StreamEvent):
    path: str = ""
    kind: str = ""


class _Item(StreamEvent):
    type: str
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: str = ""
    exit_code: int | None = None
    server: str = ""
    tool: str = ""
    arguments: JsonValue = None
    result: JsonValue = None
    error: JsonValue = None
    changes: list[_Change] = Field(default_factory=list)


class _Tokens(StreamEvent):
    input_tokens: TokenCount = 0
    cached_input_tokens: TokenCount = 0
    output_tokens: TokenCount = 0


class _Failure(StreamEvent):
    message: str = ""


class _Line(StreamEvent):
    type: str
    item: _Item | None = None
    message: str = ""
    error: _Failure | None = None
    usage: _Tokens | None = None


@dataclass(frozen=True)
class CodexStream(ClientStream):
    """The events of one run."""

    stdout: str
    stderr: str = ""
    injected: bool = False

    @cached_property
    def _lines(self) -> tuple[_Line, ...]:
        return tuple(read_events(_Line, self.stdout))

    @cached_property
    def _items(self) -> tuple[_Item, ...]:
        done = (line.item for line in self._lines if line.type == "item.completed")
        return tuple(item for item in done if item is not None and item.type != "error")

    @property
    def answer(self) -> str:
        """The last thing that the model said."""
        return next((item.text.strip() for item in reversed(self._items) if item.type == "agent_message"), "")

    def messages(self) -> Iterator[Message]:
        """Yield the model's turns, each with the tool calls that followed it."""
        text: str | None = None
        calls: list[ToolCall] = []
        for item in self._items:
            call = _call_of(item)
            if call is not None:
                calls.append(shorten_call(call))
            elif item.type == "agent_message":
                if text is not None or calls:
                    yield Message("assistant", text or "", tuple(calls))
                text, calls = item.text.strip(), []
        if text or calls:
            yield Message("assistant", text or "", tuple(calls))

    @property
    def usage(self) -> Usage:
        """What the client counted; it knows no price."""
        counted = next((line.usage for line in reversed(self._lines) if line.usage is not None), None)
        calls = sum(1 for _ in self.messages())
        if counted is None:
            return Usage(calls, usd=None if calls else 0.0)
        return Usage(max(calls, 1), counted.input_tokens, counted.output_tokens, None)

    @property
    def cached_tokens(self) -> int:
        """How many of the tokens read came from the provider's cache."""
        counted = next((line.usage for line in reversed(self._lines) if line.usage is not None), None)
        return counted.cached_input_tokens if counted else 0

    def loads(self, skill: str) -> bool:
        """Return whether the model read a skill's document by a command."""
        return any(
            item.exit_code == 0 and _reads(item.command, skill)
            for item in self._items
            if item.type == "command_execution"
        )

    def complaint(self, skill: Skill, *, forced: bool) -> str:
        """Return which skill the client did not take, and why, as it complained or as its record shows."""
        found = _UNLOADED.finditer(self.stderr)
        why = next((one["why"] for one in found if f"/{skill.name}/" in one["path"]), "")
        why = why or ("it was not in the first request" if forced and not self.injected else "")
        return f"{skill.name!r}: {why}; check its frontmatter" if why else ""

    def judge(self, run: ClientRun, *, changed: bool) -> Ending:  # noqa: ARG002 - it tells how it ended
        """Judge how the run ended."""
        last = next((line for line in reversed(self._lines) if line.type in ("turn.completed", "turn.failed")), None)
        if last is None:
            end = self._lines[-1] if self._lines else None
            failing = (_kind_of(end.message), end.message) if end is not None and end.type == "error" else None
            return run.without_result(answered=bool(self._items), failing=failing)
        if last.type == "turn.completed":
            called = any(message.tool_calls for message in self.messages())
            empty = failed_run(FailureKind.EMPTY, "the model answered nothing")
            return Ending(Status.OK) if called or self.answer else empty
        words = last.error.message if last.error is not None else ""
        if "budget reached" in words:
            return Ending(Status.LIMIT, f"limit: tokens: {shorten_reason(words)}")
        if _REFUSED.search(words):
            return Ending(Status.REFUSAL, f"refusal: {shorten_reason(words)}")
        return failed_run(_kind_of(words), words)


def _reads(command: str, skill: str) -> bool:
    """Return whether a command reads the document of a skill, and not that of one whose name its own begins or ends."""
    name = re.escape(skill)
    inside = "SKILL.md" in command and re.search(rf"skills/{name}(?![\w.-])", command)
    return bool(inside or re.search(rf"(?<![\w.-]){name}/SKILL\.md", command))


def _kind_of(words: str) -> FailureKind:
    """Judge by the status when there is one; a bad request is the provider's own JSON, handed through."""
    kind = failure_kind_of_words(words)
    if _ERROR_BODY.match(words):
        return kind if kind in _TOLD_BY_400 else FailureKind.BAD_REQUEST
    status = _HTTP_STATUS.search(words)
    return kind if status is None else failure_kind_of_status(int(status[1] or status[2]), words)


def _call_of(item: _Item) -> ToolCall | None:
    if item.type == "command_execution":
        ended = "" if item.exit_code in (0, None) else f"\n[exit status {item.exit_code}]"
        return ToolCall("shell", item.command, item.aggregated_output + ended)
    if item.type == "mcp_tool_call":
        result = item.error if item.error is not None else item.result
        return ToolCall(f"{item.server}.{item.tool}", as_text(item.arguments), as_text(result))
    if item.type == "file_change":
        return ToolCall("apply_patch", "\n".join(f"{change.kind} {change.path}" for change in item.changes), "")
    return None
