"""Base of the models of all provider APIs: settings, identity, the bound on a call, and the failures of their SDKs."""

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import ClassVar, Final

from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.rollouts import Usage
from skillopt.settings import Price
from skillopt.targets.prices import cost_of, find_price
from skillopt.targets.stream import failure_kind_of_status, failure_kind_of_words, shorten_reason

_KINDS: Final = {
    "APITimeoutError": FailureKind.TIMEOUT,
    "APIConnectionError": FailureKind.NETWORK,
    "APIResponseValidationError": FailureKind.MALFORMED,
}


@dataclass(frozen=True)
class ApiModel:
    """Settings of a model behind an API; a driver adds how to ask."""

    driver: ClassVar[str]
    """Name of the driver."""

    example: ClassVar[str]
    """Name of a model that it has."""

    url_variable: ClassVar[str] = ""
    """Variable of the environment that says where the API is, empty for none."""

    model: str
    _: KW_ONLY
    base_url: str | None = None
    prices: Mapping[str, Price] = field(default_factory=dict)
    timeout: float = 300.0
    max_tokens: int = 16_000

    def __post_init__(self) -> None:
        """Refuse a missing name."""
        if not self.model:
            expected = f"expected the name of a model, as in {self.driver}/{self.example}"
            raise SettingsError(f"{expected}, found {self.driver!r}")

    @property
    def url(self) -> str | None:
        """The address of the API, None for the provider's own."""
        return self.base_url or os.environ.get(self.url_variable) or None

    @property
    def identity(self) -> str:
        """Name API, model, limit, and the server when it is not the provider's own."""
        at = f" base_url={self.url}" if self.url else ""
        return f"{self.driver} model={self.model} max_tokens={self.max_tokens}{at}"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call: no token is shorter than a byte, and all of the prompt or nothing could go into the cache."""
        read = len(f"{system}{prompt}".encode("utf-8", "replace")) + 1_000  # for what a request holds beside its text
        costs = (self.cost(read, self.max_tokens), self.cost(0, self.max_tokens, cache_write=read))
        return Usage(1, read, self.max_tokens, max((usd for usd in costs if usd is not None), default=None))

    def cost(self, plain: int, output: int, *, cache_read: int = 0, cache_write: int = 0) -> float | None:
        """Return the price of a call in US dollars; None when the model's price is not known."""
        price = find_price(self.model, self.prices)
        return cost_of(price, plain, output, cache_read=cache_read, cache_write=cache_write)


def api_failure(error: Exception) -> ProviderError:
    """Turn an SDK's exception into a ProviderError: kind, the provider's words, the wait it asked for."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        code, words = _words(error)
        kind = failure_kind_of_status(status, shorten_reason(f"{code}: {words}"))
        headers = getattr(getattr(error, "response", None), "headers", {})
        if place := headers.get("location"):
            words = f"it redirects to {place}, and nothing is sent there; if you trust that server, name it in base_url"
        return ProviderError.of(kind, f"HTTP {status}: {shorten_reason(words)}", retry_after_seconds(headers))
    names = (parent.__name__ for parent in type(error).__mro__)
    named = next((_KINDS[name] for name in names if name in _KINDS), None)
    # The host and port that were asked, without what may stand before them or behind.
    netloc = getattr(getattr(getattr(error, "request", None), "url", None), "netloc", b"")
    address = netloc.decode("ascii", "replace") if isinstance(netloc, bytes) else ""
    details = ": ".join(filter(None, (address, shorten_reason(str(error.__cause__ or "")))))
    cause = f" ({details})" if details else ""
    kind = named or failure_kind_of_words(str(error))
    return ProviderError.of(kind, f"{shorten_reason(str(error))}{cause}")


def malformed_reply(what: str, found: str) -> ProviderError:
    """Make the failure of an answer that is not what the API promises."""
    return ProviderError.of(FailureKind.MALFORMED, f"expected {what}, found {shorten_reason(found)[:200]!r}")


def empty_reply() -> ProviderError:
    """Make the failure of an answer without text."""
    return ProviderError.of(FailureKind.EMPTY, "the model answered nothing")


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Read how long a provider asks to wait, in seconds; None when it does not say.

    >>> retry_after_seconds({"retry-after": "7"})
    7.0
    >>> retry_after_seconds({"retry-after-ms": "250"})
    0.25
    """
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        text = headers.get(name, "")
        if text.replace(".", "", 1).isdecimal():
            return float(text) / unit
    return None


def _words(error: Exception) -> tuple[str, str]:
    """Find the provider's code and its own sentence in the body of its answer."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict) and inner.get("message"):
        return str(inner.get("code") or inner.get("type") or ""), str(inner["message"])
    return "", str(inner) if inner else str(error)
