"""A loopback stand-in for the Gemini API, with a model that follows skills."""

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager

from tests.fakes.listed_skills import Heard, HeardCall, Wanted, decide
from tools.fake_providers.loopback import Answer, Body, LoopbackServer, Requested, as_json, serve


def fake_gemini() -> AbstractContextManager[LoopbackServer]:
    """Serve a model that follows skills."""

    def answer(asked: Requested) -> Answer:
        if not asked.path.endswith(("generateContent", "streamGenerateContent")):
            return as_json(404, {"error": {"code": 404, "message": asked.path, "status": "NOT_FOUND"}})
        return content(decide(read_request(asked.body)), streamed="stream" in asked.path)

    return serve(answer)


def read_request(body: Body) -> Heard:
    """Read what a request says."""
    declared = [one for tool in body.get("tools") or () for one in tool.get("functionDeclarations", ())]
    tools = {one["name"]: _arguments(one) for one in declared}
    parts = list(_parts(body))
    texts = tuple(part["text"] for part in parts if "text" in part)
    results = {part["functionResponse"]["id"]: _result(part["functionResponse"]) for part in parts if _responds(part)}
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    heard = tuple(HeardCall(call["name"], call.get("args", {}), results.get(call.get("id"), "")) for call in calls)
    return Heard(tools, texts, heard)


def content(wanted: Wanted, *, streamed: bool = True) -> Answer:
    """Answer with words and at most one call."""
    parts: list[Body] = [{"text": wanted.text}]
    if wanted.tool:
        parts.append({"functionCall": {"name": wanted.tool, "args": dict(wanted.arguments or {})}})
    chunk = {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120},
    }
    if not streamed:
        return as_json(200, chunk)
    return Answer(200, f"data: {json.dumps(chunk)}\n\n".encode(), "text/event-stream")


def _parts(body: Body) -> Iterator[Body]:
    for turn in (body.get("systemInstruction") or {}, *body.get("contents", ())):
        yield from turn.get("parts", ())


def _arguments(declared: Body) -> tuple[str, ...]:
    schema = declared.get("parametersJsonSchema") or declared.get("parameters") or {}
    return tuple(schema.get("properties", {}))


def _responds(part: Body) -> bool:
    return "id" in part.get("functionResponse", {})


def _result(response: Body) -> str:
    return str(response.get("response", {}).get("output", ""))
