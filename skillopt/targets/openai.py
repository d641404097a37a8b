"""Model `openai`: the Responses API, by the official SDK."""

import json
import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field, ValidationError

from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.rollouts import Reply, Status, Usage
from skillopt.targets.api_failures import api_failure, empty_reply, malformed_reply
from skillopt.targets.api_model import LOOK_UP_SECONDS, ApiModel
from skillopt.targets.stream import TokenCount, failure_kind_of_words

if TYPE_CHECKING:
    from openai import OpenAI

__all__ = ["OpenAIModel"]


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

    def look_up(self) -> None:
        """Ask for the model's entry."""
        import openai  # noqa: PLC0415 - as above

        try:
            self._client.with_options(timeout=LOOK_UP_SECONDS).models.retrieve(self.model)
        except openai.OpenAIError as error:
            raise api_failure(error) from error

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
