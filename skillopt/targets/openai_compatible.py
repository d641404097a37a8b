"""Model `openai-compatible`: Chat Completions at any base URL (Ollama, vLLM, llama.cpp, gateways).

JSON mode is asked for where a reply is to be JSON, and given up for good when the server refuses it.
"""

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
from skillopt.targets.api_failures import api_failure, empty_reply, malformed_reply
from skillopt.targets.api_model import LOOK_UP_SECONDS, ApiModel
from skillopt.targets.stream import TokenCount

if TYPE_CHECKING:
    from openai import OpenAI
    from openai.types.chat import ChatCompletionMessageParam

__all__ = ["OpenAICompatibleModel"]

_KEY: Final = "OPENAI_COMPATIBLE_API_KEY"
_FORMAT = re.compile(r"response_format|json_object|json mode", re.IGNORECASE)
_MOST_LISTED: Final = 5
_VERSION = re.compile(r"/v\d+\w*/?$")
_ENDS: Final = {
    None: Status.OK,
    "stop": Status.OK,
    "eos": Status.OK,
    "length": Status.LIMIT,
    "content_filter": Status.REFUSAL,
}


class _Message(BaseModel):
    content: str | None = None
    refusal: str | None = None
    tool_calls: list[JsonValue] | None = None


class _Choice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _Usage(BaseModel):
    prompt_tokens: TokenCount
    completion_tokens: TokenCount


class _Completion(BaseModel):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


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

    def look_up(self) -> None:
        """Ask for the list of models; few servers have an entry for each, and some list none."""
        import openai  # noqa: PLC0415 - as above

        try:
            listed = [one.id for one in self._client.with_options(timeout=LOOK_UP_SECONDS).models.list().data or ()]
        except openai.NotFoundError:
            return
        except openai.OpenAIError as error:
            raise api_failure(error) from error
        if listed and self.model not in {*listed, *(name.partition(":")[0] for name in listed)}:
            kind, names = FailureKind.UNKNOWN_MODEL, ", ".join(listed[:_MOST_LISTED])
            raise ProviderError(kind, f"{kind}: {self.base_url} lists {names} and no {self.model!r}")

    @cached_property
    def _client(self) -> "OpenAI":
        from openai import OpenAI  # noqa: PLC0415 - as above

        # Most local servers take any key, and the SDK insists on one.
        key = os.environ.get(_KEY) or "none"
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

    def _usage(self, used: _Usage | None, asked: str, answer: str) -> Usage:
        """Take the server's count; where nobody pays, one that does not count is estimated from the texts' lengths."""
        if used is None and self.cost(1, 1):
            raise malformed_reply("the usage of an answer that has a price", "none")
        read, written = (
            (used.prompt_tokens, used.completion_tokens) if used else (estimate_tokens(asked), estimate_tokens(answer))
        )
        return Usage(1, read, written, self.cost(read, written))
