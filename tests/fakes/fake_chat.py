"""A loopback stand-in for the OpenAI Chat Completions API, without streaming, with a model that optimizes."""

import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from itertools import count

from tools.fake_providers.fake_openai import failure
from tools.fake_providers.loopback import Answer, Body, LoopbackServer, Requested, as_json, serve
from tools.fake_providers.skill_follower import optimize

_numbers = count(1)


def fake_chat(
    model: Callable[[Body], Answer] | None = None, models: Sequence[str] = ()
) -> AbstractContextManager[LoopbackServer]:
    """Serve a model; the default answers the prompts of the optimizer. It lists models where some are named."""

    def answer(asked: Requested) -> Answer:
        if asked.path == "/v1/models" and models:
            listed = [{"id": name, "object": "model", "created": 0, "owned_by": "test"} for name in models]
            return as_json(200, {"object": "list", "data": listed})
        if asked.path != "/v1/chat/completions":
            return failure(404, "not_found", f"no {asked.path}")
        return (model or answer_prompt)(asked.body)

    return serve(answer)


def answer_prompt(body: Body) -> Answer:
    """Answer as an optimizer when that is asked for, else with a word."""
    return completion(body, optimize(tuple(_text(turn) for turn in body.get("messages", ()))) or "ok")


def completion(body: Body, text: str | None, *calls: Body, finish_reason: str = "") -> Answer:
    """Answer with one choice: a text, calls of tools, or neither."""
    said = {"role": "assistant", "content": text, "refusal": None, **({"tool_calls": list(calls)} if calls else {})}
    reason = finish_reason or ("tool_calls" if calls else "stop")
    tokens = len(json.dumps(body)) // 4
    whole = {
        "id": f"chatcmpl-{next(_numbers)}",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", "fake"),
        "choices": [{"index": 0, "message": said, "logprobs": None, "finish_reason": reason}],
        "usage": {"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20},
    }
    return as_json(200, whole)


def call(name: str, arguments: dict[str, str]) -> Body:
    """Call a tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"type": "function", "id": f"call_{next(_numbers)}", "function": function}


def _text(turn: Body) -> str:
    content = turn.get("content") or ""
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
