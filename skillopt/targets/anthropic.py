"""Model `anthropic`: the Messages API by the official SDK, with prompt caching and structured replies."""

import json
import os
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ValidationError

from skillopt.errors import SettingsError
from skillopt.rollouts import Reply, Status, Usage
from skillopt.targets.api_model import ApiModel, api_failure, empty_reply, malformed_reply
from skillopt.targets.stream import TokenCount

if TYPE_CHECKING:
    from anthropic import Anthropic

_ENDS: Final = {
    "end_turn": Status.OK,
    "stop_sequence": Status.OK,
    "max_tokens": Status.LIMIT,
    "model_context_window_exceeded": Status.LIMIT,
    "refusal": Status.REFUSAL,
}


class _Block(BaseModel):
    type: str
    text: str = ""
    name: str = ""


class _Usage(BaseModel):
    input_tokens: TokenCount
    output_tokens: TokenCount
    cache_read_input_tokens: TokenCount | None = 0
    cache_creation_input_tokens: TokenCount | None = 0


class _Message(BaseModel):
    content: list[_Block]
    stop_reason: str | None
    usage: _Usage


class AnthropicModel(ApiModel):
    """Answers prompts by the Messages API. Arguments are those of `ApiModel`."""

    driver = "anthropic"
    example = "claude-sonnet-5"
    url_variable = "ANTHROPIC_BASE_URL"

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt."""
        import anthropic  # noqa: PLC0415 - takes over a second to import

        try:
            answer = self._client.messages.with_raw_response.create(**self._request(prompt, system, schema))
            text = answer.http_response.text
        except anthropic.AnthropicError as error:
            raise api_failure(error) from error
        return self._read(text)

    @cached_property
    def _client(self) -> "Anthropic":
        from anthropic import Anthropic, DefaultHttpxClient  # noqa: PLC0415 - as above

        key, token = os.environ.get("ANTHROPIC_API_KEY"), os.environ.get("ANTHROPIC_AUTH_TOKEN")
        if not key and not token:
            raise SettingsError("expected a key in ANTHROPIC_API_KEY, found none; set it, or choose another model")
        credential = {"api_key": key} if key else {"auth_token": token}
        own = DefaultHttpxClient(follow_redirects=False)  # another server gets neither key nor prompt
        return Anthropic(**credential, base_url=self.url, timeout=self.timeout, max_retries=0, http_client=own)

    def _request(self, prompt: str, system: str, schema: str) -> dict[str, Any]:
        head, mark, tail = prompt.rpartition("\n## Evidence\n")
        plain = {"type": "text", "text": tail if head and tail else prompt}
        parts = [_cached(head + mark), plain] if head and tail else [plain]
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
            raise malformed_reply("a message of the Messages API", text) from error
        status = _ENDS.get(message.stop_reason or "")
        if status is None:
            raise malformed_reply("an answer in text", f"stop_reason {message.stop_reason}")
        answer = "".join(block.text for block in message.content if block.type == "text")
        if status is Status.OK and not answer.strip():
            raise empty_reply()
        used = message.usage
        cached, stored = used.cache_read_input_tokens or 0, used.cache_creation_input_tokens or 0
        usd = self.cost(used.input_tokens, used.output_tokens, cache_read=cached, cache_write=stored)
        return Reply(answer, Usage(1, used.input_tokens + cached + stored, used.output_tokens, usd), status)


def _cached(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}
