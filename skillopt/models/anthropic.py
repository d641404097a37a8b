"""Model `anthropic`: the Messages API, by the official SDK.

Owns the request (prompt caching, structured replies) and reading the answer. Does not own repeating
(patience) or what an exception means (api_failures).
"""

import json
import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ValidationError

from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.models.api_failures import failure_of, malformed
from skillopt.prices import Price, cost_of, find_price
from skillopt.rollouts import Reply, Status, Usage

if TYPE_CHECKING:
    from anthropic import Anthropic

__all__ = ["AnthropicModel"]

_ENDS: Final = {
    "end_turn": Status.OK,
    "stop_sequence": Status.OK,
    "max_tokens": Status.LIMIT,
    "model_context_window_exceeded": Status.LIMIT,
    "refusal": Status.REFUSAL,
}
_OVERHEAD: Final = 1_000
"""Tokens that a request can hold beside its text."""

_EVIDENCE: Final = "\n## Evidence\n"


class _Block(BaseModel):
    type: str
    text: str = ""
    name: str = ""


class _Usage(BaseModel):
    input_tokens: int
    output_tokens: int
    cache_read_input_tokens: int | None = 0
    cache_creation_input_tokens: int | None = 0


class _Message(BaseModel):
    content: list[_Block]
    stop_reason: str | None
    usage: _Usage


@dataclass(frozen=True)
class AnthropicModel:
    """Answers prompts by the Messages API.

    Args:
        model: Name of the model.
        base_url: Where the API is; None is ANTHROPIC_BASE_URL, else the provider's own.
        prices: The user's own prices.
        timeout: Seconds without a word from the provider that end a call.
        max_tokens: Most tokens of an answer; one that needs more ends with status `limit`.
    """

    model: str
    _: KW_ONLY
    base_url: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    timeout: float = 300.0
    max_tokens: int = 16_000

    def __post_init__(self) -> None:
        """Refuse a missing name.

        Raises:
            SettingsError: There is no model's name.
        """
        if not self.model:
            raise SettingsError("expected the name of a model, as in anthropic/claude-sonnet-5, found 'anthropic'")

    @property
    def _url(self) -> str | None:
        return self.base_url or os.environ.get("ANTHROPIC_BASE_URL") or None

    @property
    def identity(self) -> str:
        """Name API, model, limit, and the server when it is not the provider's own."""
        at = f" base_url={self._url}" if self._url else ""
        return f"anthropic model={self.model} max_tokens={self.max_tokens}{at}"

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
        import anthropic  # noqa: PLC0415 - takes over a second to import

        try:
            answer = self._client.messages.with_raw_response.create(**self._request(prompt, system, schema))
            text = answer.http_response.text
        except anthropic.AnthropicError as error:
            raise failure_of(error) from error
        return self._read(text)

    @cached_property
    def _client(self) -> "Anthropic":
        from anthropic import Anthropic  # noqa: PLC0415 - as above

        key, token = os.environ.get("ANTHROPIC_API_KEY"), os.environ.get("ANTHROPIC_AUTH_TOKEN")
        if not key and not token:
            raise SettingsError("expected a key in ANTHROPIC_API_KEY, found none; set it, or choose another model")
        credential = {"api_key": key} if key else {"auth_token": token}
        return Anthropic(**credential, base_url=self._url, timeout=self.timeout, max_retries=0)

    def _request(self, prompt: str, system: str, schema: str) -> dict[str, Any]:
        """Put the request together; what many prompts begin with is marked for the cache."""
        head, mark, tail = prompt.rpartition(_EVIDENCE)
        parts = [_cached(head + mark), _text(tail)] if head and tail else [_text(prompt)]
        request: dict[str, Any] = {
            "model": self.model,
            "max_tokens": self.max_tokens,
            "messages": [{"role": "user", "content": parts}],
        }
        if system:
            request["system"] = [_cached(system)]
        if schema:
            request["output_config"] = {"format": {"type": "json_schema", "schema": json.loads(schema)}}
        return request

    def _read(self, text: str) -> Reply:
        try:
            message = _Message.model_validate_json(text)
        except ValidationError as error:
            raise malformed("a message of the Messages API", text) from error
        status = _ENDS.get(message.stop_reason or "")
        if status is None:
            raise malformed("an answer in text", f"stop_reason {message.stop_reason}")
        answer = "".join(block.text for block in message.content if block.type == "text")
        if status is Status.OK and not answer.strip():
            raise ProviderError(FailureKind.EMPTY, f"{FailureKind.EMPTY}: the model answered nothing")
        used = message.usage
        cached, stored = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
        price = find_price(self.model, self.prices)
        usd = cost_of(price, used.input_tokens, used.output_tokens, cache_read=cached, cache_write=stored)
        return Reply(answer, Usage(1, used.input_tokens + cached + stored, used.output_tokens, usd), status)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _cached(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
