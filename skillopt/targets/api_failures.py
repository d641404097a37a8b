"""Classify the exceptions of provider SDKs: kind of failure, the provider's words, the wait it asked for.

The classes have the same names and attributes in both SDKs.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from skillopt.errors import FailureKind, ProviderError
from skillopt.targets.stream import failure_kind_of_status, failure_kind_of_words, shorten_reason

__all__ = ["api_failure", "empty_reply", "malformed_reply", "retry_after_seconds"]

_KINDS: Final = {
    "APITimeoutError": FailureKind.TIMEOUT,
    "APIConnectionError": FailureKind.NETWORK,
    "APIResponseValidationError": FailureKind.MALFORMED,
}


def api_failure(error: Exception) -> ProviderError:
    """Turn an SDK's exception into a ProviderError: kind, the provider's words, the wait it asked for."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        words = shorten_reason(_words(error))
        kind = failure_kind_of_status(status, words)
        headers = getattr(getattr(error, "response", None), "headers", {})
        return ProviderError(kind, f"{kind}: HTTP {status}: {words}", retry_after_seconds(headers))
    names = (parent.__name__ for parent in type(error).__mro__)
    named = next((_KINDS[name] for name in names if name in _KINDS), None)
    details = ": ".join(filter(None, (_address(error), shorten_reason(str(error.__cause__ or "")))))
    cause = f" ({details})" if details else ""
    kind = named or failure_kind_of_words(str(error))
    return ProviderError(kind, f"{kind}: {shorten_reason(str(error))}{cause}")


def malformed_reply(what: str, found: str) -> ProviderError:
    """Make the failure of an answer that is not what the API promises."""
    kind = FailureKind.MALFORMED
    return ProviderError(kind, f"{kind}: expected {what}, found {shorten_reason(found)[:200]!r}")


def empty_reply() -> ProviderError:
    """Make the failure of an answer without text."""
    return ProviderError(FailureKind.EMPTY, f"{FailureKind.EMPTY}: the model answered nothing")


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
    try:
        at = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - datetime.now(UTC)).total_seconds())


def _address(error: Exception) -> str:
    """Find the host and port that were asked, without what may stand before them or behind."""
    netloc = getattr(getattr(getattr(error, "request", None), "url", None), "netloc", b"")
    return netloc.decode("ascii", "replace") if isinstance(netloc, bytes) else ""


def _words(error: Exception) -> str:
    """Find the provider's own sentence in the body of its answer."""
    body = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict) and inner.get("message"):
        kind = inner.get("code") or inner.get("type") or ""
        return f"{kind}: {inner['message']}" if kind else str(inner["message"])
    return str(inner) if inner else str(error)
