"""Every way a provider can fail, each in the words of three wire formats."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Final

from skillopt.errors import FailureKind
from tests.fakes import fake_chat
from tools.fake_providers import fake_anthropic, fake_openai
from tools.fake_providers.loopback import Answer, Body, LoopbackServer, refuse

NO_SUCH_TOOL: Final = "no_such_tool"
"""The tool that is called and does not exist."""

RETRY_AFTER: Final = 1
"""Seconds that a provider asks to wait, where it does."""

REFUSED: Final = "connection refused"
"""The one fault that no server answers."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error that a provider reports by an HTTP status."""

    status: int
    words: str
    messages_type: str
    openai_code: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wire:
    """A wire format."""

    name: str
    serve: Callable[[Callable[[Body], Answer]], AbstractContextManager[LoopbackServer]]
    refuse: Callable[[Refusal], Answer]
    say: Callable[[Body, str | None], Answer]
    call: Callable[[Body], Answer]


def provider(wire: Wire, fault: str) -> AbstractContextManager[LoopbackServer]:
    """Run a provider that fails in one way, whatever it is asked."""
    return refuse() if fault == REFUSED else wire.serve(lambda body: answer_fault(wire, fault, body))


def answer_fault(wire: Wire, fault: str, body: Body) -> Answer:
    """Return what a failing provider answers a request; `body` says whether a stream is wanted."""
    return FAULTS[fault](wire, body)


def _refusing(refusal: Refusal) -> "_Fault":
    return lambda wire, _: wire.refuse(refusal)


def _break_syntax(wire: Wire, body: Body) -> Answer:
    good = wire.say(body, _LONG)
    return replace(good, content=good.content.replace(b'{"', b'{"" '))


def _truncate(wire: Wire, body: Body) -> Answer:
    good = wire.say(body, _LONG)
    return replace(good, content=good.content[: len(good.content) // 2], cut=True)


def _call_nothing(wire: Wire, body: Body) -> Answer:
    """Call a tool that does not exist; once told so, answer."""
    return wire.say(body, "Done.") if NO_SUCH_TOOL in json.dumps(body) else wire.call(body)


_Fault = Callable[[Wire, Body], Answer]
_LONG: Final = "These are the words of a long answer. " * 20
_SLOW_DOWN: Final = Refusal(429, "Too many requests: slow down.", "rate_limit_error", "rate_limit_exceeded")
_REFUSALS: Final = {
    "400": Refusal(400, "max_tokens: 500 is less than the least, 1024.", "invalid_request_error", "invalid_value"),
    "401": Refusal(401, "Incorrect API key provided: key-***only.", "authentication_error", "invalid_api_key"),
    "403": Refusal(403, "Your account may not use this resource.", "permission_error", "forbidden"),
    "404": Refusal(404, "The model `nope` does not exist.", "not_found_error", "model_not_found"),
    "413": Refusal(413, "The request has more bytes than allowed.", "request_too_large", "request_too_large"),
    "429 with retry-after": replace(_SLOW_DOWN, headers={"retry-after": str(RETRY_AFTER)}),
    "429 without retry-after": _SLOW_DOWN,
    "429 for an empty quota": Refusal(
        429, "You exceeded your current quota, check your plan.", "rate_limit_error", "insufficient_quota"
    ),
    "500": Refusal(500, "The server had an error of its own.", "api_error", "server_error"),
    "503": Refusal(503, "The service that counts quotas is not available.", "api_error", "service_unavailable"),
    "529": Refusal(529, "Overloaded, try again.", "overloaded_error", "overloaded"),
}

KINDS: Final = {
    "400": FailureKind.BAD_REQUEST,
    "401": FailureKind.AUTH,
    "403": FailureKind.AUTH,
    "404": FailureKind.UNKNOWN_MODEL,
    "413": FailureKind.TOO_LARGE,
    "429 with retry-after": FailureKind.RATE_LIMIT,
    "429 without retry-after": FailureKind.RATE_LIMIT,
    "429 for an empty quota": FailureKind.QUOTA,
    "500": FailureKind.SERVER,
    "503": FailureKind.OVERLOADED,
    "529": FailureKind.OVERLOADED,
    # Refused, closed without a word and cut off are one kind; only the words of the reason tell them apart.
    "connection refused": FailureKind.NETWORK,
    "hangs up": FailureKind.NETWORK,
    "truncated": FailureKind.NETWORK,
    "never answers": FailureKind.TIMEOUT,
    "malformed": FailureKind.MALFORMED,
    "empty": FailureKind.EMPTY,
    "wrong tool call": FailureKind.MALFORMED,
}
"""What each fault is to be told as."""

WORDS: Final = {name: refusal.words for name, refusal in _REFUSALS.items()}
"""What the provider says, for the faults in which it says anything."""

FAULTS: Final[dict[str, _Fault]] = {
    **{name: _refusing(refusal) for name, refusal in _REFUSALS.items()},
    REFUSED: lambda _, __: Answer(503, b"", hang_up=True),
    "hangs up": lambda _, __: Answer(503, b"", hang_up=True),
    "never answers": lambda _, __: Answer(503, b"", hang=True),
    "truncated": _truncate,
    "malformed": _break_syntax,
    "empty": lambda wire, body: wire.say(body, None),
    "wrong tool call": _call_nothing,
}
"""What each fault answers, by its name."""


def _say_in_messages(body: Body, text: str | None) -> Answer:
    return fake_anthropic.message(body, [] if text is None else [{"type": "text", "text": text}])


def _call_in_messages(body: Body) -> Answer:
    return fake_anthropic.message(body, [{"type": "tool_use", "id": "toolu_none", "name": NO_SUCH_TOOL, "input": {}}])


def _say_in_responses(body: Body, text: str | None) -> Answer:
    return fake_openai.output(body, []) if text is None else fake_openai.response(body, text)


def _call_in_responses(body: Body) -> Answer:
    called = {"type": "function_call", "id": "fc_none", "call_id": "call_none", "name": NO_SUCH_TOOL}
    return fake_openai.output(body, [{**called, "arguments": "{}", "status": "completed"}])


def _refuse_in_openai(refusal: Refusal) -> Answer:
    return fake_openai.failure(refusal.status, refusal.openai_code, refusal.words, refusal.headers)


MESSAGES: Final = Wire(
    "Anthropic Messages",
    fake_anthropic.fake_anthropic,
    lambda refusal: fake_anthropic.failure(refusal.status, refusal.messages_type, refusal.words, refusal.headers),
    _say_in_messages,
    _call_in_messages,
)
"""`POST /v1/messages`."""

RESPONSES: Final = Wire(
    "OpenAI Responses", fake_openai.fake_openai, _refuse_in_openai, _say_in_responses, _call_in_responses
)
"""`POST /v1/responses`."""

CHAT: Final = Wire(
    "OpenAI Chat Completions",
    fake_chat.fake_chat,
    _refuse_in_openai,
    fake_chat.completion,
    lambda body: fake_chat.completion(body, None, fake_chat.call(NO_SUCH_TOOL, {})),
)
"""`POST /v1/chat/completions`, never as a stream."""
