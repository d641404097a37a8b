"""Model `openai`: the Responses API, by the official SDK.

Owns the request and reading the answer. Does not own repeating (patience) or what an exception means
(api_failures).
"""

import json
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field, ValidationError

from skillopt.agents.stream import kind_of_words
from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.models.api_failures import failure_of, malformed
from skillopt.prices import Price, cost_of, find_price
from skillopt.rollouts import Reply, Status, Usage

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["OpenAIModel"]

_OVERHEAD: Final = 1_000
"""Tokens that a request can hold beside its text."""


class _Part(BaseModel):
    type: str
    text: str = ""
    refusal: str = ""


class _Item(BaseModel):
    type: str
    content: list[_Part] | None = None


class _Cached(BaseModel):
    cached_tokens: int = 0


class _Usage(BaseModel):
    input_tokens: int
    output_tokens: int
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
class OpenAIModel:
    """Answers prompts by the Responses API.

    Args:
        model: Name of the model.
        base_url: Where the API is; None is OPENAI_BASE_URL, else the provider's own.
        prices: The user's own prices.
        timeout: Seconds without a word from the provider that end a call.
        max_tokens: Most tokens of an answer, thinking included; one that needs more ends with status `limit`.
    """

    model: str
    _: KW_ONLY
    base_url: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    timeout: float = 300.0
    max_tokens: int = 32_000

    def __post_init__(self) -> None:
        """Refuse a missing name.

        Raises:
            SettingsError: There is no model's name.
        """
        if not self.model:
            raise SettingsError("expected the name of a model, as in openai/gpt-5.5, found 'openai'")

    @property
    def _url(self) -> str | None:
        return self.base_url or os.environ.get("OPENAI_BASE_URL") or None

    @property
    def identity(self) -> str:
        """Name API, model, limit, and the server when it is not the provider's own."""
        at = f" base_url={self._url}" if self._url else ""
        return f"openai model={self.model} max_tokens={self.max_tokens}{at}"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call: no token is shorter than a byte, and all of the prompt could go into the cache."""
        read = len(f"{system}{prompt}".encode("utf-8", "replace")) + _OVERHEAD
        usd = cost_of(find_price(self.model, self.prices), 0, self.max_tokens, cache_write=read)
        return Usage(1, read, self.max_tokens, usd)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt.

        Raises:
            ProviderError: The provider failed.
            SettingsError: There is no key.
        """
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
            raise failure_of(error) from error
        return self._read(text)

    @cached_property
    def _client(self) -> "OpenAI":
        from openai import OpenAI  # noqa: PLC0415 - as above

        key = os.environ.get("OPENAI_API_KEY")
        if not key:
            raise SettingsError("expected a key in OPENAI_API_KEY, found none; set it, or choose another model")
        return OpenAI(api_key=key, base_url=self._url, timeout=self.timeout, max_retries=0)

    def _read(self, text: str) -> Reply:
        try:
            response = _Response.model_validate_json(text)
        except ValidationError as error:
            raise malformed("a response of the Responses API", text) from error
        status = _status_of(response)
        parts = [part for item in response.output for part in item.content or () if item.type == "message"]
        answer = "".join(part.text for part in parts if part.type == "output_text")
        refused = "".join(part.refusal for part in parts if part.type == "refusal")
        if refused:
            return Reply(refused, self._usage(response.usage), Status.REFUSAL)
        if status is Status.OK and not answer.strip():
            if any(item.type.endswith("_call") for item in response.output):
                raise malformed("an answer in text", "a call of a tool that was not offered")
            raise ProviderError(FailureKind.EMPTY, f"{FailureKind.EMPTY}: the model answered nothing")
        return Reply(answer, self._usage(response.usage), status)

    def _usage(self, used: _Usage | None) -> Usage:
        if used is None:
            raise malformed("the usage of a response", "none")
        cached = used.input_tokens_details.cached_tokens
        price = find_price(self.model, self.prices)
        usd = cost_of(price, used.input_tokens - cached, used.output_tokens, cache_read=cached)
        return Usage(1, used.input_tokens, used.output_tokens, usd)


def _status_of(response: _Response) -> Status:
    """Tell how an answer ended; one that failed is raised in the provider's own words."""
    if response.status == "completed":
        return Status.OK
    if response.status == "incomplete" and response.incomplete_details:
        return Status.REFUSAL if response.incomplete_details.reason == "content_filter" else Status.LIMIT
    if response.error:
        words = f"{response.error.code or ''}: {response.error.message}"
        found = kind_of_words(words)
        kind = FailureKind.SERVER if found is FailureKind.CRASHED else found
        raise ProviderError(kind, f"{kind}: {words}")
    raise malformed("a finished response", f"status {response.status}")
