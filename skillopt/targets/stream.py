"""What the event streams of coding agents have in common: lines, endings, kinds of failure."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Final, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from skillopt.errors import FailureKind
from skillopt.rollouts import Acts, Message, Status, ToolCall, Usage
from skillopt.safety.credentials import mask
from skillopt.skills.document import Skill

# What a provider or client counts beyond any call, or below 0, makes no sense and would make a cap worthless.
MOST_TOKENS_COUNTED: Final = 1_000_000_000
MOST_USD_COUNTED: Final = 100_000.0  # as above

TokenCount = Annotated[int, Field(ge=0, le=MOST_TOKENS_COUNTED)]
Dollars = Annotated[float, Field(ge=0, le=MOST_USD_COUNTED, allow_inf_nan=False)]

_LONGEST_RESULT: Final = 20_000
"""Characters of a tool's result, or of what an outsider says, that are kept: more is output that nobody reads."""

_LONGEST_REASON: Final = 500  # about six lines of a terminal
_STATUSES: Final = {
    400: FailureKind.BAD_REQUEST,
    401: FailureKind.AUTH,
    402: FailureKind.QUOTA,
    403: FailureKind.AUTH,
    404: FailureKind.UNKNOWN_MODEL,
    408: FailureKind.TIMEOUT,
    413: FailureKind.TOO_LARGE,
    429: FailureKind.RATE_LIMIT,
    503: FailureKind.OVERLOADED,
    529: FailureKind.OVERLOADED,
}
# The first that matches decides, so what is more telling stands first.
_WORDS: Final = (
    (FailureKind.QUOTA, r"credit balance|quota|usage limit|hit your .*limit|billing|payment required|\b402\b"),
    (FailureKind.TOO_LARGE, r"prompt is too long|context window|context_length|too large|\b413\b"),
    (
        FailureKind.MALFORMED,
        r"malformed|stream closed|no_events|failed to parse|json parse error|invalid json|does not parse",
    ),
    (
        FailureKind.AUTH,
        r"not logged in|log ?in again|/login|api key|authenticat|unauthorized|forbidden|oauth|\b40[13]\b",
    ),
    (FailureKind.AUTH, r"token (?:has )?expired|refresh token|missing environment variable|missing bearer"),
    (FailureKind.RATE_LIMIT, r"rate.?limit|too many requests|\b429\b"),
    (FailureKind.OVERLOADED, r"overloaded|at capacity|\b529\b|\b503\b"),
    (FailureKind.UNKNOWN_MODEL, r"model\b.*(?:not exist|not found|not supported|no access)|\bmodel_not_found|\b404\b"),
    (FailureKind.TIMEOUT, r"timed? ?out|timeout"),
    (FailureKind.SERVER, r"high demand|server.?error|internal error|bad gateway|\b5\d\d\b"),
    (FailureKind.NETWORK, r"connection|econn|enotfound|network|sending request|disconnected|dns|unreachable"),
    (FailureKind.BAD_REQUEST, r"invalid_request|bad request|\b400\b|api_error|unknown option|unexpected argument"),
)
_KINDS: Final = tuple((kind, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for kind, pattern in _WORDS)


class StreamEvent(BaseModel):
    """A line of a stream; what a driver does not read is left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")


EventType = TypeVar("EventType", bound=StreamEvent)


@dataclass(frozen=True, slots=True)
class Ending:
    """How a run ended: its status, and why in one line that starts with the kind of failure."""

    status: Status
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ClientRun:
    """How a run of a client ended, and what it printed."""

    client: str
    exit_status: int
    stderr: str = ""
    interrupted: bool = False
    seconds: float = 0.0
    exceeded: str = ""
    stdout: str = ""
    acts: Acts | None = None

    def without_result(self, *, answered: bool, failing: tuple[FailureKind, str] | None) -> Ending:
        """Judge a run that did not say how it ended."""
        if self.interrupted and failing is not None:
            kind, words = failing
            return failed_run(kind, f"still repeating a failed request after {self.seconds:g} s: {words}")
        if self.interrupted and answered:
            return Ending(Status.TIMEOUT, f"{FailureKind.TIMEOUT}: not done within {self.seconds:g} s")
        if self.interrupted:
            return failed_run(FailureKind.TIMEOUT, f"no answer from the provider within {self.seconds:g} s")
        words = shorten_reason(self.stderr) or "it printed nothing that is a result"
        if self.exit_status < 0 or self.exit_status > 128:  # noqa: PLR2004 - how a shell and a system tell of signals
            return failed_run(FailureKind.CRASHED, f"{self.client} ended with status {self.exit_status}: {words}")
        kind = failure_kind_of_words(self.stderr)
        return failed_run(kind, f"{self.client} ended with status {self.exit_status} and no result: {words}")


class ClientStream(ABC):
    """What a client printed, as its driver reads it."""

    @property
    @abstractmethod
    def answer(self) -> str:
        """The final answer."""

    @abstractmethod
    def messages(self) -> Iterator[Message]:
        """Yield the model's turns, each with its tool calls."""

    @property
    @abstractmethod
    def usage(self) -> Usage:
        """What the client counted."""

    @property
    def cached_tokens(self) -> int:
        """How many of the tokens read came from the provider's cache."""
        return 0

    @abstractmethod
    def loads(self, skill: str) -> bool | None:
        """Return whether the model loaded a skill; None where the output does not tell."""

    def complaint(self, skill: Skill, *, forced: bool) -> str:  # noqa: ARG002 - by default nothing is refused
        """Return which skill the client did not take, and why; empty where it took it."""
        return ""

    @abstractmethod
    def judge(self, run: "ClientRun", *, changed: bool) -> "Ending":
        """Judge how a run within its limits ended; `changed` is whether it changed files."""

    def ending(self, run: "ClientRun", *, changed: bool = False) -> "Ending":
        """Judge how a run ended."""
        if run.exceeded:
            return Ending(Status.LIMIT, f"limit: the rollout was ended because it used {run.exceeded}")
        return self.judge(run, changed=changed)


def read_events(kind: type[EventType], stdout: str) -> Iterator[EventType]:
    """Return the events of a stream; a line that was cut off, or that another version writes otherwise, is left out."""
    for line in stdout.splitlines():
        with suppress(ValidationError):
            yield kind.model_validate_json(line)


def failure_kind_of_status(status: int, words: str) -> FailureKind:
    """Classify a failure by its HTTP status; the words distinguish a used-up quota from a bad request."""
    kind = failure_kind_of_words(words)
    if status in (400, 429) and kind in (FailureKind.QUOTA, FailureKind.TOO_LARGE):
        return kind
    return _STATUSES.get(
        status, FailureKind.SERVER if status >= HTTPStatus.INTERNAL_SERVER_ERROR else FailureKind.BAD_REQUEST
    )


def failure_kind_of_words(words: str) -> FailureKind:
    """Classify a failure by the client's words; what matches nothing is a crash."""
    return next((kind for kind, pattern in _KINDS if pattern.search(words)), FailureKind.CRASHED)


def failed_run(kind: FailureKind, words: str) -> Ending:
    """Return the ending of a run that failed before anything was measured."""
    return Ending(Status.INFRA_ERROR, f"{kind}: {shorten_reason(words)}")


def shorten_reason(words: str) -> str:
    """Join lines, mask credentials and cut what is too long for a reason; all that outsiders say of a failure is."""
    text = mask(" ".join(words[:_LONGEST_RESULT].split()))
    return text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]} ..."


def shorten_call(call: ToolCall) -> ToolCall:
    """Keep the first and last part of long arguments and results, 20,000 characters of each."""
    return ToolCall(call.name, _cut(call.arguments), _cut(call.result))


def as_text(value: JsonValue) -> str:
    """Return a value as it stands where it is a text, else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def text_of_parts(content: JsonValue) -> str:
    """Return a tool's result, which is a text or a list of parts of which some have one."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(part.get("text", f"[{part.get('type')}]")) for part in parts if isinstance(part, dict))


def _cut(text: str) -> str:
    half = _LONGEST_RESULT // 2
    left_out = len(text) - 2 * half
    return text if left_out <= 0 else f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"
