"""A loopback stand-in for the Anthropic Messages API, with a model that follows skills."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count
from typing import Any

from tools.fake_providers.loopback import Answer, Body, LoopbackServer, Requested, as_events, as_json, serve
from tools.fake_providers.skill_follower import READ_INPUT, Turn, next_turn, optimize

Block = dict[str, Any]
"""A content block of a message."""

_LOADED = re.compile(r"Base directory for this skill: [^\n]*\n+(?P<body>.*?)(?:\n+ARGUMENTS: .*)?\Z", re.DOTALL)
_LISTED = re.compile(r"^- (?P<name>[a-z0-9-]+): ", re.MULTILINE)
_LISTING = "skills are available for use with the Skill tool"
_numbers = count(1)


def fake_anthropic(model: Callable[[Body], Answer] | None = None) -> AbstractContextManager[LoopbackServer]:
    """Serve a model; the default follows skills."""

    def answer(asked: Requested) -> Answer:
        if asked.path != "/v1/messages":
            return as_json(404, {"type": "error", "error": {"type": "not_found_error", "message": asked.path}})
        return (model or follow_skill)(asked.body)

    return serve(answer)


def failure(status: int, kind: str, words: str, headers: dict[str, str] | None = None) -> Answer:
    """Answer with an error as the API words it."""
    return as_json(status, {"type": "error", "error": {"type": kind, "message": words}}, headers)


def follow_skill(body: Body) -> Answer:
    """Load the listed skill, if there is one, then do the table task by its rules."""
    tools = {tool.get("name") for tool in body.get("tools") or ()}
    texts = tuple(text_of(block) for _, block in blocks_of(body))
    answer = optimize(texts)
    if answer is not None or "Bash" not in tools:
        return message(body, [{"type": "text", "text": answer or "ok"}])
    skill = next((found["body"] for text in texts if (found := _LOADED.search(text))), "")
    calls = [block for _, block in blocks_of(body) if block.get("type") == "tool_use"]
    listed = next((_LISTED.search(text.partition(_LISTING)[2]) for text in texts if _LISTING in text), None)
    if not skill and listed and "Skill" in tools and all(call["name"] != "Skill" for call in calls):
        return message(body, [use("Skill", {"skill": listed["name"]})])
    commands = tuple(str(call["input"].get("command", "")) for call in calls)
    read = {call["id"] for call in calls if call["input"].get("command") == READ_INPUT}
    table = next((text_of(block) for _, block in blocks_of(body) if block.get("tool_use_id") in read), "")
    table = table.partition("<system-reminder>")[0].strip()
    return message(body, _as_blocks(next_turn(skill, commands, table + "\n" if table else "")))


def message(body: Body, content: list[Block], stop_reason: str = "") -> Answer:
    """Answer with a message, as a stream when one was asked for."""
    called = any(block["type"] == "tool_use" for block in content)
    whole = {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake"),
        "content": content,
        "stop_reason": stop_reason or ("tool_use" if called else "end_turn"),
        "stop_sequence": None,
        "usage": {"input_tokens": len(json.dumps(body)) // 4, "output_tokens": 20},
    }
    if not body.get("stream"):
        return as_json(200, whole)
    return as_events(_events(whole))


def _as_blocks(turn: Turn) -> list[Block]:
    said: list[Block] = [{"type": "text", "text": turn.text}]
    return [*said, use("Bash", {"command": turn.command, "description": "Work on the table"})] if turn.command else said


def use(name: str, arguments: dict[str, str]) -> Block:
    """Call a tool."""
    return {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": name, "input": arguments}


def blocks_of(body: Body) -> Iterator[tuple[str, Block]]:
    """Yield the blocks of a request with who said them, the system prompt first."""
    turns = [{"role": "system", "content": body.get("system") or ""}, *body.get("messages", ())]
    for turn in turns:
        content = turn["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            yield turn["role"], block


def text_of(block: Block) -> str:
    """Return the text of a block, empty when it has none."""
    content = block.get("content", "") if block.get("type") == "tool_result" else block.get("text", "")
    return content if isinstance(content, str) else "\n".join(map(text_of, content or ()))


def _events(whole: Body) -> Iterator[tuple[str, Body]]:
    yield "message_start", {"message": {**whole, "content": [], "stop_reason": None}}
    for index, block in enumerate(whole["content"]):
        if block["type"] == "tool_use":
            empty, delta = (
                {**block, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        else:
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
        yield "content_block_start", {"index": index, "content_block": empty}
        yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    yield "message_delta", {"delta": {"stop_reason": whole["stop_reason"]}, "usage": whole["usage"]}
    yield "message_stop", {}
