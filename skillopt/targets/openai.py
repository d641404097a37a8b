"""Models `openai` and `openai-compatible` (Ollama, vLLM, llama.cpp, gateways): Chat Completions by the official SDK."""

import json
import os
import re
from abc import abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, Field, ValidationError

from skillopt.errors import SettingsError
from skillopt.rollouts import Reply, Status, Usage
from skillopt.skills.document import estimate_tokens
from skillopt.targets.api_model import ApiModel, api_failure, empty_reply, malformed_reply
from skillopt.targets.stream import TokenCount

if TYPE_CHECKING:
    from openai import OpenAI

_FORMAT = re.compile(r"response_format|json_object|json_schema|json mode", re.IGNORECASE)
_VERSION = re.compile(r"/v\d+\w*/?$")
_ENDS: Final = {
    None: Status.OK,
    "stop": Status.OK,
    "eos": Status.OK,
    "length": Status.LIMIT,
    "content_filter": Status.REFUSAL,
}


class _Said(BaseModel):
    content: str | None = None
    refusal: str | None = None


class _Choice(BaseModel):
    message: _Said
    finish_reason: str | None = None


class _Cached(BaseModel):
    cached_tokens: TokenCount | None = 0


class _Usage(BaseModel):
    prompt_tokens: TokenCount
    completion_tokens: TokenCount
    prompt_tokens_details: _Cached | None = None


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


@dataclass(frozen=True)
class _ChatCompletions(ApiModel):
    _refused: set[str] = field(default_factory=set, init=False, repr=False, compare=False)

    @property
    @abstractmethod
    def _key(self) -> str: ...

    @abstractmethod
    def _options(self, schema: str) -> dict[str, Any]: ...

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:
        """Answer one prompt."""
        import openai  # noqa: PLC0415 - takes half a second to import

        messages = [{"role": role, "content": text} for role, text in (("system", system), ("user", prompt)) if text]
        in_json = bool(schema) and "response_format" not in self._refused
        options = self._options(schema if in_json else "")
        create: Any = self._client.chat.completions.with_raw_response.create  # its options are not known to types
        try:
            text = create(model=self.model, messages=messages, **options).http_response.text
        except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
            if not (in_json and _FORMAT.search(str(error))):
                raise api_failure(error) from error
            self._refused.add("response_format")
            return self.reply(prompt, system=system)
        except openai.NotFoundError as error:
            raise api_failure(error).with_words(self._hint) from error
        except openai.OpenAIError as error:
            raise api_failure(error) from error
        return self._read(text, system + prompt)

    @cached_property
    def _client(self) -> "OpenAI":
        from openai import DefaultHttpxClient, OpenAI  # noqa: PLC0415 - as above

        own = DefaultHttpxClient(follow_redirects=False)  # another server gets neither key nor prompt
        return OpenAI(api_key=self._key, base_url=self.url, timeout=self.timeout, max_retries=0, http_client=own)

    @property
    def _hint(self) -> str:
        if not self.url or _VERSION.search(self.url):
            return ""
        return f"; base_url is {self.url!r}: most servers want the version in its path, as in http://HOST:PORT/v1"

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

    def _usage(self, used: _Usage | None, asked: str, answer: str) -> Usage:
        """Take the server's count; where nobody pays, one that does not count is estimated from the texts' lengths."""
        if used is None and self.cost(1, 1):
            raise malformed_reply("the usage of an answer that has a price", "none")
        if used is None:
            read, written = estimate_tokens(asked), estimate_tokens(answer)
            return Usage(1, read, written, self.cost(read, written))
        told = used.prompt_tokens_details
        # Of what was read, never more: else the rest would be negative, and so would its price.
        cached = min(told.cached_tokens or 0 if told else 0, used.prompt_tokens)
        usd = self.cost(used.prompt_tokens - cached, used.completion_tokens, cache_read=cached)
        return Usage(1, used.prompt_tokens, used.completion_tokens, usd)


@dataclass(frozen=True)
class OpenAIModel(_ChatCompletions):
    """Answers prompts by OpenAI. Arguments are those of `ApiModel`."""

    driver = "openai"
    example = "gpt-5.5"
    url_variable = "OPENAI_BASE_URL"

    max_tokens: int = 32_000

    @property
    def _key(self) -> str:
        key = os.environ.get("OPENAI_API_KEY")
        if not key:
            raise SettingsError("expected a key in OPENAI_API_KEY, found none; set it, or choose another model")
        return key

    def _options(self, schema: str) -> dict[str, Any]:
        named = {"name": "reply", "strict": True, "schema": json.loads(schema)} if schema else {}
        shape = {"response_format": {"type": "json_schema", "json_schema": named}} if schema else {}
        return {"max_completion_tokens": self.max_tokens, "store": False, **shape}


@dataclass(frozen=True)
class OpenAICompatibleModel(_ChatCompletions):
    """Answers prompts by another server. Arguments as for `ApiModel`; `base_url` ends with the version."""

    driver = "openai-compatible"
    example = "llama4"

    def __post_init__(self) -> None:
        """Refuse a missing name or address."""
        super().__post_init__()
        if not self.base_url:
            raise SettingsError(
                "expected the server's address in the setting base_url, found none; "
                'set it, for example to "http://localhost:11434/v1"'
            )

    @property
    def _key(self) -> str:
        # Most local servers take any key, and the SDK insists on one.
        return os.environ.get("OPENAI_COMPATIBLE_API_KEY") or "none"

    def _options(self, schema: str) -> dict[str, Any]:
        # A schema is more than many servers know.
        shape = {"response_format": {"type": "json_object"}} if schema else {}
        return {"max_tokens": self.max_tokens, **shape}
