"""Parse what `claude -p --output-format stream-json` prints; neither `success` nor exit status 0 decides alone."""

import json
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
    Dollars,
    Ending,
    StreamEvent,
    TokenCount,
    failed_run,
    failure_kind_of_status,
    failure_kind_of_words,
    read_events,
    shorten_call,
    shorten_reason,
    text_of_parts,
)

_LIMITS: Final = {"error_max_turns": "turns", "error_max_budget_usd": "budget"}


class _Block(StreamEvent):
    type: str
    text: str = ""
    id: str = ""
    name: str = ""
    input: dict[str, JsonValue] = Field(default_factory=dict)
    tool_use_id: str = ""
    content: JsonValue = None
    is_error: bool | None = None


class _Tokens(StreamEvent):
    input_tokens: TokenCount = 0
    cache_creation_input_tokens: TokenCount | None = None
    cache_read_input_tokens: TokenCount | None = None
    output_tokens: TokenCount = 0

    @property
    def read(self) -> int:
        return self.input_tokens + (self.cache_creation_input_tokens or 0) + (self.cache_read_input_tokens or 0)


class _Said(StreamEvent):
    id: str = ""
    model: str = ""
    content: list[_Block] | str = Field(default_factory=list)
    usage: _Tokens = Field(default_factory=_Tokens)

    @property
    def blocks(self) -> list[_Block]:
        return [_Block(type="text", text=self.content)] if isinstance(self.content, str) else self.content


class _ModelUsage(StreamEvent):
    costBasis: str = ""  # noqa: N815 - the client's own name


class _Line(StreamEvent):
    type: str
    subtype: str = ""
    message: _Said | None = None
    parent_tool_use_id: str | None = None
    skills: list[str] = Field(default_factory=list)
    error_status: int | None = None
    error: JsonValue = None
    is_error: bool = False
    terminal_reason: str | None = None
    api_error_status: int | None = None
    num_turns: int = 0
    stop_reason: str | None = None
    result: str | None = None
    errors: list[str] | None = None
    total_cost_usd: Dollars | None = None
    usage: _Tokens = Field(default_factory=_Tokens)
    modelUsage: dict[str, _ModelUsage] = Field(default_factory=dict)  # noqa: N815 - the client's own name


@dataclass(frozen=True)
class ClaudeStream(ClientStream):
    """The events of one run."""

    stdout: str

    @cached_property
    def _lines(self) -> tuple[_Line, ...]:
        # What a subagent says is the business of the tool call that started it.
        return tuple(line for line in read_events(_Line, self.stdout) if line.parent_tool_use_id is None)

    @cached_property
    def _result(self) -> _Line | None:
        return next((line for line in reversed(self._lines) if line.type == "result"), None)

    @cached_property
    def _answers(self) -> tuple[_Said, ...]:
        said = (line.message for line in self._lines if line.type == "assistant")
        return tuple(message for message in said if message is not None and message.model != "<synthetic>")

    @property
    def answer(self) -> str:
        """The final answer; what the client says about an error is none."""
        result = self._result
        return "" if result is None or result.is_error else (result.result or "").strip()

    def messages(self) -> Iterator[Message]:
        """Yield the model's turns with their tool calls, each with what came back."""
        results = {
            block.tool_use_id: text_of_parts(block.content)
            for line in self._lines
            if line.type == "user" and line.message is not None
            for block in line.message.blocks
            if block.type == "tool_result"
        }
        turns: dict[str, list[_Block]] = {}
        for said in self._answers:
            turns.setdefault(said.id, []).extend(said.blocks)
        for blocks in turns.values():
            calls = tuple(
                shorten_call(
                    ToolCall(block.name, json.dumps(block.input, ensure_ascii=False), results.get(block.id, ""))
                )
                for block in blocks
                if block.type == "tool_use"
            )
            text = "\n".join(block.text for block in blocks if block.type == "text").strip()
            if text or calls:
                yield Message("assistant", text, calls)

    @property
    def usage(self) -> Usage:
        """What the client counted; a price that it guessed is not one."""
        calls = len({said.id for said in self._answers})
        result = self._result
        if result is None:
            last = {said.id: said.usage for said in self._answers}.values()
            tokens = sum(usage.read for usage in last), sum(usage.output_tokens for usage in last)
            return Usage(calls, *tokens, usd=None if calls else 0.0)
        guessed = any(used.costBasis == "unknown" for used in result.modelUsage.values())
        usd = None if guessed else result.total_cost_usd
        return Usage(calls, result.usage.read, result.usage.output_tokens, usd)

    def loads(self, skill: str) -> bool:
        """Return whether the model loaded a skill by the client's tool."""
        failed = {
            block.tool_use_id
            for line in self._lines
            if line.message is not None
            for block in line.message.blocks
            if block.is_error
        }
        blocks = (block for said in self._answers for block in said.blocks if block.id not in failed)
        named = (block.input.get("skill") for block in blocks if block.type == "tool_use" and block.name == "Skill")
        # A name may have the plugin or a slash before it.
        return any(str(one).strip().removeprefix("/").rpartition(":")[2] == skill for one in named)

    def complaint(self, skill: Skill, *, forced: bool) -> str:  # noqa: ARG002 - it lists forced ones as well
        """Return which skill the client did not find."""
        offered = any(skill.name in line.skills for line in self._lines if line.subtype == "init")
        return "" if offered else f"{skill.name!r}; check its SKILL.md"

    def judge(self, run: ClientRun, *, changed: bool) -> Ending:  # noqa: ARG002 - it tells how it ended
        """Judge how the run ended."""
        result = self._result
        if result is None or (run.interrupted and result.subtype == "error_during_execution"):
            return run.without_result(answered=bool(self._answers), failing=self._failing)
        if result.is_error:
            return _judge_error(result, result.result or "; ".join(result.errors or ()) or result.subtype)
        if result.num_turns == 0 or not (self._answers or result.usage.output_tokens):
            return failed_run(FailureKind.BAD_REQUEST, f"the client asked no model and said {result.result!r}")
        if not self.answer and not any(message.tool_calls for message in self.messages()):
            return failed_run(FailureKind.EMPTY, "the model answered nothing")
        return Ending(Status.OK)

    @property
    def _failing(self) -> tuple[FailureKind, str] | None:
        last = self._lines[-1] if self._lines else None
        if last is not None and last.type == "result":
            last = self._lines[-2] if len(self._lines) > 1 else None
        if last is None or last.subtype != "api_retry":
            return None
        if last.error_status is None:
            return FailureKind.NETWORK, f"{last.error}"
        return failure_kind_of_status(last.error_status, f"{last.error}"), f"{last.error_status} {last.error}"


def _judge_error(result: _Line, words: str) -> Ending:
    if result.subtype in _LIMITS:
        return Ending(Status.LIMIT, f"limit: {_LIMITS[result.subtype]}: {shorten_reason(words)}")
    if "output token maximum" in words:
        return Ending(Status.LIMIT, f"limit: output tokens: {shorten_reason(words)}")
    if result.stop_reason == "refusal":
        return Ending(Status.REFUSAL, f"refusal: {shorten_reason(words)}")
    if result.terminal_reason == "prompt_too_long":
        return failed_run(FailureKind.TOO_LARGE, words)
    status = result.api_error_status
    return failed_run(failure_kind_of_words(words) if status is None else failure_kind_of_status(status, words), words)
