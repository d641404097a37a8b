"""Models `openai` (the Responses API) and `openai-compatible` (Chat Completions of any server), by the official SDK.

Servers are Ollama, vLLM, llama.cpp and gateways. JSON mode is asked for where a reply is to be JSON, and given up for
good when the server refuses it.
"""

import json
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from threading import Event
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field, JsonValue, ValidationError

from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.rollouts import Reply, Status, Usage
from skillopt.skills.document import estimate_tokens
from skillopt.targets.api_model import ApiModel, api_failure, empty_reply, malformed_reply
from skillopt.targets.stream import TokenCount, failure_kind_of_words

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletionMessageParam

__all__ = ["OpenAICompatibleModel", "OpenAIModel"]

_COMPATIBLE_KEY: Final = "OPENAI_COMPATIBLE_API_COMPATIBLE_KEY"
_FORMAT = re.compile(r"response_format|json_object|json mode", re.IGNORECASE)
_VERSION = re.compile(r"/v\d+\w*/?$")
_ENDS: Final = {
    None: Status.OK,
    "stop": Status.OK,
    "eos": Status.OK,
    "length": Status.LIMIT,
    "content_filter": Status.REFUSAL,
}


class _Part(BaseModel):
    type: str
    text: str = ""
    refusal: str = ""


class _Item(BaseModel):
    type: str
    content: list[_Part] | None = None


class _Cached(BaseModel):
    cached_tokens: TokenCount = 0


class _Usage(BaseModel):
    input_tokens: TokenCount
    output_tokens: TokenCount
    input_tokens_details: _Cached = Field(default_factory=_Cached)


class _Reason(BaseModel):
    reason: str | None = None
    code: str | None = None
    message: str = ""


class _Response(BaseModel):
    status: str
    output: list[_Item]
    usage: _Usage | None = None
    error: _Reason | None = None
    incomplete_details: _Reason | None = None


@dataclass(frozen=True)
class OpenAIModel(ApiModel):
    """Answers prompts by the Responses API. Arguments are those of `ApiModel`."""

    driver = "openai"
    example = "gpt-5.5"
    url_variable = "OPENAI_BASE_URL"

    max_tokens: int = 32_000

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt."""
        import openai  # noqa: PLC0415 - takes half a second to import

        request: dict[str, Any] = {
            "model": self.model,
            "input": prompt,
            "max_output_tokens": self.max_tokens,
            "store": False,
        }
        if system:
            request["instructions"] = system
        if schema:
            named = {"type": "json_schema", "name": "reply", "schema": json.loads(schema), "strict": True}
            request["text"] = {"format": named}
        try:
            answer = self._client.responses.with_raw_response.create(**request)
            text = answer.http_response.text
        except openai.OpenAIError as error:
            raise api_failure(error) from error
        return self._read(text)

    @cached_property
    def _client(self) -> "OpenAI":
        from openai import OpenAI  # noqa: PLC0415 - as above

        key = os.environ.get("OPENAI_API_KEY")
        if not key:
            raise SettingsError("expected a key in OPENAI_API_KEY, found none; set it, or choose another model")
        return OpenAI(api_key=key, base_url=self.url, timeout=self.timeout, max_retries=0)

    def _read(self, text: str) -> Reply:
        try:
            response = _Response.model_validate_json(text)
        except ValidationError as error:
            raise malformed_reply("a response of the Responses API", text) from error
        status = _status_of(response)
        parts = [part for item in response.output for part in item.content or () if item.type == "message"]
        answer = "".join(part.text for part in parts if part.type == "output_text")
        refused = "".join(part.refusal for part in parts if part.type == "refusal")
        if refused:
            return Reply(refused, self._usage(response.usage), Status.REFUSAL)
        if status is Status.OK and not answer.strip():
            if any(item.type.endswith("_call") for item in response.output):
                raise malformed_reply("an answer in text", "a call of a tool that was not offered")
            raise empty_reply()
        return Reply(answer, self._usage(response.usage), status)

    def _usage(self, used: _Usage | None) -> Usage:
        if used is None:
            raise malformed_reply("the usage of a response", "none")
        # Of what was read, never more: else the rest would be negative, and so would its price.
        cached = min(used.input_tokens_details.cached_tokens, used.input_tokens)
        usd = self.cost(used.input_tokens - cached, used.output_tokens, cache_read=cached)
        return Usage(1, used.input_tokens, used.output_tokens, usd)


def _status_of(response: _Response) -> Status:
    """Return how an answer ended; one that failed is raised in the provider's own words."""
    if response.status == "completed":
        return Status.OK
    if response.status == "incomplete" and response.incomplete_details:
        return Status.REFUSAL if response.incomplete_details.reason == "content_filter" else Status.LIMIT
    if response.error:
        words = f"{response.error.code or ''}: {response.error.message}"
        found = failure_kind_of_words(words)
        kind = FailureKind.SERVER if found is FailureKind.CRASHED else found
        raise ProviderError(kind, f"{kind}: {words}")
    raise malformed_reply("a finished response", f"status {response.status}")


class _ChatMessage(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[JsonValue] | None = None


class _Choice(BaseModel):
    message: _ChatMessage
    finish_reason: str | None = None


class _ChatUsage(BaseModel):
    prompt_tokens: TokenCount
    completion_tokens: TokenCount


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _ChatUsage | None = None


@dataclass(frozen=True)
class OpenAICompatibleModel(ApiModel):
    """Answers prompts by Chat Completions. Arguments as for `ApiModel`, and one; `base_url` ends with the version."""

    driver = "openai-compatible"
    example = "llama4"

    _without_json_mode: Event = field(default_factory=Event, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse a missing name or address."""
        super().__post_init__()
        if not self.base_url:
            raise SettingsError(
                "expected the server's address in the setting base_url, found none; "
                'set it in skillopt.toml, as in base_url = "http://localhost:11434/v1"'
            )

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt, in JSON mode where a schema is given; the schema itself is more than many servers know."""
        import openai  # noqa: PLC0415 - takes half a second to import

        messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": prompt}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        more: dict[str, Any] = {}
        in_json = bool(schema) and not self._without_json_mode.is_set()
        if in_json:
            more["response_format"] = {"type": "json_object"}
        try:
            answer = self._client.chat.completions.with_raw_response.create(
                model=self.model, messages=messages, max_tokens=self.max_tokens, **more
            )
            text = answer.http_response.text
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not (in_json and _FORMAT.search(str(error))):
                raise api_failure(error) from error
            self._without_json_mode.set()
            return self.reply(prompt, system=system)
        except openai.NotFoundError as error:
            raise api_failure(error).with_words(self._hint) from error
        except openai.OpenAIError as error:
            raise api_failure(error) from error
        return self._read(text, system + prompt)

    @cached_property
    def _client(self) -> "OpenAI":
        from openai import OpenAI  # noqa: PLC0415 - as above

        # Most local servers take any key, and the SDK insists on one.
        key = os.environ.get(_COMPATIBLE_KEY) or "none"
        return OpenAI(api_key=key, base_url=self.base_url, timeout=self.timeout, max_retries=0)

    @property
    def _hint(self) -> str:
        """What most often is wrong with an address that answers otherwise; empty where it is right."""
        if not self.base_url or _VERSION.search(self.base_url):
            return ""
        return f"; base_url is {self.base_url!r}: most servers want the version in its path, as in http://HOST:PORT/v1"

    def _read(self, text: str, asked: str) -> Reply:
        try:
            completion = _Completion.model_validate_json(text)
        except ValidationError as error:
            raise malformed_reply("an answer of Chat Completions", text).with_words(self._hint) from error
        choice = completion.choices[0]
        usage = self._usage(completion.usage, asked, choice.message.content or "")
        if choice.message.refusal:
            return Reply(choice.message.refusal, usage, Status.REFUSAL)
        status = _ENDS.get(choice.finish_reason)
        if status is None:
            raise malformed_reply("an answer in text", f"finish_reason {choice.finish_reason}")
        answer = choice.message.content or ""
        if status is Status.OK and not answer.strip():
            raise empty_reply()
        return Reply(answer, usage, status)

    def _usage(self, used: _ChatUsage | None, asked: str, answer: str) -> Usage:
        """Take the server's count; where nobody pays, one that does not count is estimated from the texts' lengths."""
        if used is None and self.cost(1, 1):
            raise malformed_reply("the usage of an answer that has a price", "none")
        read, written = (
            (used.prompt_tokens, used.completion_tokens) if used else (estimate_tokens(asked), estimate_tokens(answer))
        )
        return Usage(1, read, written, self.cost(read, written))
