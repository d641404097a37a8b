"""Translate failed GitHub requests to forge errors with advice: status, missing permission, rate limit."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from skillopt.errors import (
    ForgeAccessError,
    ForgeDownError,
    ForgeError,
    ForgeLimitError,
    ForgeMissingError,
    ForgeRefusedError,
)
from skillopt.safety.credentials import mask
from skillopt.versions.commit_message import single_line

__all__ = ["error_status", "error_words", "github_error", "github_retry_after"]

_FORBIDDEN: Final = 403
_TOO_MANY: Final = 429
_SERVER_FAULT: Final = 500
_LIMITED: Final = re.compile(
    r"rate limit|abuse detection|retry your request again later|wait a few minutes", re.IGNORECASE
)
_WORKFLOW: Final = "not permitted to create or approve pull requests"
_LONGEST: Final = 500
_LATER: Final = "run this again later, nothing was lost"
_TYPES: Final = {"FORBIDDEN": 403, "NOT_FOUND": 404, "RATE_LIMITED": 429, "UNPROCESSABLE": 422}
"""Types of the errors of the GraphQL API, whose answers all have the status 200."""
_KINDS: Final[Mapping[int, tuple[type[ForgeError], str]]] = {
    401: (ForgeAccessError, "the token in GH_TOKEN or GITHUB_TOKEN is wrong or has expired, set a new one"),
    404: (ForgeMissingError, "check the remote's address, and that the token may see the repository"),
    422: (ForgeRefusedError, "change what it names and run this again"),
}


def github_error(status: int, words: str, headers: Mapping[str, str], doing: str) -> ForgeError:
    """Make the error of a failed request."""
    said = f"GitHub would not {doing}: HTTP {status}: {mask(single_line(words))[:_LONGEST] or 'no reason given'}"
    wait = github_retry_after(headers)
    limited = status == _FORBIDDEN and (wait is not None or _LIMITED.search(words))
    if limited or status == _TOO_MANY:
        return ForgeLimitError(f"{said}; {_LATER}", wait)
    if status >= _SERVER_FAULT:
        return ForgeDownError(f"{said}; {_LATER}", wait)
    if status == _FORBIDDEN:
        return ForgeAccessError(f"{said}; {_permission(words, headers)}")
    kind, advice = _KINDS.get(status, (ForgeError, "look at docs.github.com/rest and githubstatus.com"))
    return kind(f"{said}; {advice}")


def error_status(status: int, data: object) -> int:
    """Return the HTTP status that a failure would have, whichever of the two APIs it is from."""
    errors = data.get("errors") if isinstance(data, dict) else None
    types = (str(one.get("type")) for one in errors if isinstance(one, dict)) if isinstance(errors, list) else ()
    return next((_TYPES[one] for one in types if one in _TYPES), status)


def error_words(data: object) -> str:
    """Read the message in the body of a failed response, and the errors of its fields."""
    if not isinstance(data, dict):
        return str(data or "")
    body: dict[str, Any] = data
    errors = body.get("errors")
    details = [_field_error(error) for error in errors] if isinstance(errors, list) else []
    return "; ".join(filter(None, (str(body.get("message") or ""), *details)))


def github_retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Read after how many seconds GitHub asks to retry; None when it does not say.

    >>> github_retry_after({"retry-after": "7"})
    7.0
    >>> github_retry_after({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "90"}, datetime.fromtimestamp(60, UTC))
    30.0
    """
    now, text = now or datetime.now(UTC), headers.get("retry-after", "").strip()
    if text.isdecimal():
        return float(text)
    reset = headers.get("x-ratelimit-reset", "")
    if headers.get("x-ratelimit-remaining") == "0" and reset.isdecimal():
        return max(0.0, float(reset) - now.timestamp())
    try:
        at = parsedate_to_datetime(text)
    except ValueError:
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return max(0.0, (at - now).total_seconds())


def _permission(words: str, headers: Mapping[str, str]) -> str:
    """Name the missing permission, as far as GitHub does."""
    if _WORKFLOW in words:
        return (
            "switch on `Allow GitHub Actions to create and approve pull requests` in the repository's settings under "
            "Actions, General, or set GITHUB_TOKEN to a token of an app"
        )
    if "x-github-sso" in headers:
        return "let the organization's single sign-on authorize the token"
    wanted = headers.get("x-accepted-github-permissions") or headers.get("x-accepted-oauth-scopes")
    named = f"`{mask(single_line(wanted))}`" if wanted else "`pull_requests=write` and `contents=write`"
    return f"the token lacks a permission: it needs {named}; in a workflow, grant it under `permissions:`"


def _field_error(error: object) -> str:
    if not isinstance(error, dict):
        return str(error)
    return str(error.get("message") or " ".join(str(error[key]) for key in ("field", "code") if key in error))
