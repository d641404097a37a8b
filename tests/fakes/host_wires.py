"""The model that plays the agent, behind the wire formats of both clients."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count

from tests.fakes.host_player import Step, next_step
from tools.fake_providers.fake_anthropic import Block, fake_anthropic, message
from tools.fake_providers.fake_openai import fake_openai, response
from tools.fake_providers.loopback import Answer, Body, LoopbackServer

_SERVER = re.compile(r"mcp__\w*?skillopt")
_NOTHING = Step("The tools of skillopt are not offered.")
_WAITED = re.compile(r"\AWall time: [\d.]+ seconds\nOutput:\n")
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Seen:
    """A session as a request shows it."""

    asked: str
    offered: Mapping[str, str]
    steps: tuple[Step, ...]


def play_host(client: str) -> AbstractContextManager[LoopbackServer]:
    """Serve the model to a client, `claude` or `codex`."""
    return fake_anthropic(_anthropic) if client == "claude" else fake_openai(_openai)


def read_anthropic(body: Body) -> Seen:
    """Read a request of the Messages API."""
    blocks = list(_blocks(body))
    answers = {block["tool_use_id"]: _text(block["content"]) for _, block in blocks if block["type"] == "tool_result"}
    steps: list[Step] = []
    words = ""
    for role, block in blocks:
        if role == "assistant" and block["type"] == "text":
            words = block["text"]
        elif block["type"] == "tool_use":
            answer = answers.get(block["id"], "").partition("\n\n<system-reminder>")[0]
            steps.append(Step(words, block["name"].rpartition("__")[2], block["input"], answer))
    asked = "\n".join(block["text"] for role, block in blocks if role != "assistant" and block["type"] == "text")
    names = [tool["name"] for tool in body.get("tools") or ()]
    offered = {name.rpartition("__")[2]: name for name in names if _SERVER.match(name) or name == "Skill"}
    return Seen(asked, offered, tuple(steps))


def read_openai(body: Body) -> Seen:
    """Read a request of the Responses API."""
    items = body["input"]
    answers = {item["call_id"]: item["output"] for item in items if item["type"] == "function_call_output"}
    steps: list[Step] = []
    words = ""
    for item in items:
        if item["type"] == "message" and item["role"] == "assistant":
            words = _text(item["content"])
        elif item["type"] == "function_call":
            answer = _WAITED.sub("", _text(answers[item["call_id"]]))
            steps.append(Step(words, item["name"], json.loads(item["arguments"]), answer))
    texts = (_text(item["content"]) for item in items if item["type"] == "message" and item["role"] != "assistant")
    spaces = [tool for tool in body.get("tools") or () if tool["type"] == "namespace" and _SERVER.match(tool["name"])]
    offered = {tool["name"]: space["name"] for space in spaces for tool in space["tools"]}
    return Seen("\n".join(texts), offered, tuple(steps))


def _anthropic(body: Body) -> Answer:
    seen = read_anthropic(body)
    step = _step(seen)
    said: list[Block] = [{"type": "text", "text": step.words}]
    if step.tool:
        name, number = seen.offered[step.tool], next(_numbers)
        said.append({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": step.arguments})
    return message(body, said)


def _openai(body: Body) -> Answer:
    seen = read_openai(body)
    step = _step(seen)
    if not step.tool:
        return response(body, step.words)
    number = next(_numbers)
    call = {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": step.tool,
        "namespace": seen.offered[step.tool],
        "arguments": json.dumps(step.arguments),
        "status": "completed",
    }
    return response(body, step.words, call)


def _step(seen: Seen) -> Step:
    return next_step(seen.asked, seen.steps) if "list_skills" in seen.offered else _NOTHING


def _blocks(body: Body) -> Iterator[tuple[str, Block]]:
    for turn in body["messages"]:
        content = turn["content"]
        for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            yield turn["role"], block


def _text(content: str | list[Block]) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
