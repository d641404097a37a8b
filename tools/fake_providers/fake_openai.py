"""A loopback stand-in for the OpenAI Responses API, with a model that follows skills."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import count

from tools.fake_providers.loopback import Answer, Body, LoopbackServer, Requested, as_events, as_json, serve
from tools.fake_providers.skill_follower import READ_INPUT, next_turn, optimize

_INJECTED = re.compile(r"<skill>\s*<name>.*?</path>\s*(?P<body>.*?)</skill>", re.DOTALL)
_LISTED = re.compile(r"^- [^\n]*\(file: (?P<path>[^)\n]+SKILL\.md)\)", re.MULTILINE)
_ROOT = re.compile(r"- `(\w+)` = `([^`]+)`")
_PRINTED = re.compile(r"\bOutput:\n(?P<output>.*)\Z", re.DOTALL)
_numbers = count(1)


def fake_openai(model: Callable[[Body], Answer] | None = None) -> AbstractContextManager[LoopbackServer]:
    """Serve a model; the default follows skills."""

    def answer(asked: Requested) -> Answer:
        if asked.path.endswith("/models"):
            return as_json(200, {"object": "list", "data": [], "models": []})
        if not asked.path.endswith("/responses"):
            return failure(404, "not_found", f"no {asked.path}")
        return (model or follow_skill)(asked.body)

    return serve(answer)


def failure(status: int, code: str, words: str, headers: dict[str, str] | None = None) -> Answer:
    """Answer with an error as the API words it."""
    return as_json(status, {"error": {"message": words, "type": "api_error", "code": code}}, headers)


def follow_skill(body: Body) -> Answer:
    """Read the listed skill, if there is one, then do the table task by its rules."""
    items, texts = _items(body), texts_of(body)
    answer = optimize(texts)
    if answer is not None:
        return response(body, answer)
    calls = {item["call_id"]: _command(item) for item in items if item.get("type", "").endswith("_call")}
    printed = {
        calls.get(item["call_id"], ""): _output(item) for item in items if item.get("type", "").endswith("_call_output")
    }
    injected = next((found["body"] for text in texts if (found := _INJECTED.search(text))), "")
    loading = next((command for command in calls.values() if "SKILL.md" in command), "")
    listed = _listed("\n".join(texts))
    if not injected and not loading and listed:
        return response(body, "I read the skill first.", shell(body, f"cat '{listed}'"))
    turn = next_turn(injected or printed.get(loading, ""), tuple(calls.values()), printed.get(READ_INPUT, ""))
    return response(body, turn.text, shell(body, turn.command) if turn.command else None)


def response(body: Body, text: str, call: Body | None = None) -> Answer:
    """Answer with a message and at most one call, as a stream when one was asked for."""
    said = {
        "type": "message",
        "id": f"msg_{next(_numbers)}",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }
    return output(body, [said, call] if call else [said])


def failed_response(body: Body, code: str, words: str) -> Answer:
    """Answer with a response that ends in a failure, as a stream when one was asked for."""
    base = _base(body)
    failed = {**base, "status": "failed", "error": {"code": code, "message": words}}
    return _written(body, [("response.created", {"response": base}), ("response.failed", {"response": failed})])


def output(body: Body, items: list[Body]) -> Answer:
    """Answer with these items, as a stream when one was asked for."""
    base, tokens = _base(body), len(json.dumps(body)) // 4
    events: list[tuple[str, Body]] = [("response.created", {"response": base})]
    for index, item in enumerate(items):
        events.append(("response.output_item.added", {"output_index": index, "item": item}))
        events.append(("response.output_item.done", {"output_index": index, "item": item}))
    usage = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 20,
    }
    done = {**base, "status": "completed", "output": items, "usage": usage}
    return _written(body, [*events, ("response.completed", {"response": done})])


def _base(body: Body) -> Body:
    return {
        "id": f"resp_{next(_numbers)}",
        "object": "response",
        "created_at": 0,
        "model": body.get("model", "fake"),
        "status": "in_progress",
        "output": [],
    }


def _written(body: Body, events: list[tuple[str, Body]]) -> Answer:
    """Write the events, or only the response that the last one holds."""
    if not body.get("stream"):
        return as_json(200, events[-1][1]["response"])
    return as_events((kind, {"sequence_number": number, **data}) for number, (kind, data) in enumerate(events))


def _items(body: Body) -> list[Body]:
    given = body.get("input") or []
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def texts_of(body: Body) -> tuple[str, ...]:
    """Return the texts of a request, the instructions first."""
    return (body.get("instructions") or "", *map(text_of, _items(body)))


def text_of(item: Body) -> str:
    """Return the text of an item, empty when it has none."""
    content = item.get("content") if item.get("type", "message") == "message" else item.get("output", "")
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or () if isinstance(part, dict))


def _output(item: Body) -> str:
    """Return what a command printed, out of the report that the client makes of it."""
    text = text_of(item)
    found = _PRINTED.search(text)
    printed = found["output"] if found else text
    brace = printed.find('{"chunk_id"')  # newer models get the report as JSON
    return str(json.JSONDecoder().raw_decode(printed[brace:])[0]["output"]) if brace >= 0 else printed


def _listed(text: str) -> str:
    """Return the path of the first listed skill, its root written out."""
    found = _LISTED.search(text)
    if found is None:
        return ""
    root, _, rest = found["path"].partition("/")
    roots = dict(_ROOT.findall(text))
    return f"{roots[root]}/{rest}" if root in roots else found["path"]


def _command(item: Body) -> str:
    if item["type"] == "custom_tool_call":
        found = re.search(r"exec_command\((.*)\)\)", item["input"])
        return str(json.loads(found[1])["cmd"]) if found else ""
    arguments = json.loads(item["arguments"] or "{}")
    command = arguments.get("cmd") or arguments.get("command") or ""
    return command if isinstance(command, str) else str(command[-1])


def _tool_names(body: Body) -> Iterator[str]:
    for tool in body.get("tools") or ():
        yield tool.get("name") or tool.get("type")
    for item in body.get("input") or ():
        for tool in item.get("tools", ()) if item.get("type") == "additional_tools" else ():
            yield from (inner.get("name") for inner in tool.get("tools") or (tool,))


def shell(body: Body, command: str) -> Body:
    """Call whichever shell tool this version of the client offers."""
    names, number = set(_tool_names(body)), next(_numbers)
    if "exec_command" not in names and "exec" in names:
        code = f"text(await tools.exec_command({json.dumps({'cmd': command})}))"
        return {
            "type": "custom_tool_call",
            "id": f"ctc_{number}",
            "call_id": f"call_{number}",
            "name": "exec",
            "input": code,
            "status": "completed",
        }
    name, arguments = (
        ("exec_command", {"cmd": command}) if "exec_command" in names else ("shell_command", {"command": command})
    )
    return {
        "type": "function_call",
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }
