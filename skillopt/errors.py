"""The error tree: every exception that crosses a module boundary, and the exit code that it means.

Whoever raises says what was expected, what was found and what to do next.

    SkilloptError
    ├── UsageError                    exit 2: the user's input or configuration
    │   ├── SettingsError             an unknown key, a value out of range
    │   ├── SuiteError                a task file, with file and line
    │   ├── SkillError                a skill folder or its SKILL.md
    │   ├── EditError                 an edit that cannot be applied
    │   │   ├── EditConflictError     its anchor is missing or ambiguous, or two edits overlap
    │   │   └── ProtectedTextError    it touches frontmatter or a protected region
    │   ├── RepositoryError           git is missing, or the folder is not a repository
    │   │   └── VersionConflictError  a branch moved since it was read
    │   ├── BusyError                 another writer holds the lock
    │   └── LedgerFormatError         the ledger was written by another version of skillopt
    ├── ReplyError                    a model reply is not what was asked for
    └── InfrastructureError           exit 3: a dead provider, a full disk, a crashed verifier
        ├── ProviderError             a model's provider or client failed, with the kind of failure
        ├── AnswersPendingError       work was handed off and is not done yet
        ├── RemoteError               another repository is out of reach, or refuses a push
        ├── ForgeError                the forge (GitHub) failed, in a way that none of these names
        │   ├── ForgeAccessError      401, 403: the token is missing, wrong, or lacks a permission
        │   ├── ForgeMissingError     404: no such repository or pull request, or none that the token may see
        │   ├── ForgeRefusedError     422: it does not take what it was given
        │   ├── ForgeLimitError       429, 403: too many requests; passes
        │   └── ForgeDownError        5xx, a time-out, no connection; passes
        ├── LedgerError               the ledger is unreadable, or a replay diverged from it
        ├── UnreadRepliesError        no reply of the optimizer model could be read
        └── InvalidMeasurementError   too little was measured for a verdict
            ├── OneTextLostError      tasks could be run with one of two texts and not with the other
            └── NothingMeasuredError  a run ended before anything was measured
"""

from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, Final


class FailureKind(StrEnum):
    """Why a provider or client failed; what is `transient` may work a little later."""

    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    OVERLOADED = "overloaded"
    SERVER = "server"
    NETWORK = "network"
    TIMEOUT = "timeout"
    BAD_REQUEST = "bad_request"
    UNKNOWN_MODEL = "unknown_model"
    TOO_LARGE = "too_large"
    MALFORMED = "malformed"
    EMPTY = "empty"
    MISSING_PROGRAM = "missing_program"
    CRASHED = "crashed"

    @property
    def transient(self) -> bool:
        """Return whether the same call is worth repeating."""
        return self in _TRANSIENT

    @property
    def refusal(self) -> bool:
        """Return whether the provider takes no more calls for now."""
        return self in {FailureKind.RATE_LIMIT, FailureKind.OVERLOADED}


_TRANSIENT = frozenset(
    (
        *(FailureKind.RATE_LIMIT, FailureKind.OVERLOADED, FailureKind.SERVER, FailureKind.NETWORK),
        *(FailureKind.TIMEOUT, FailureKind.MALFORMED, FailureKind.EMPTY),
    )
)


class SkilloptError(Exception):
    """Any failure this project explains to its user; `exit_code` is what a command ends with."""

    exit_code = 3


class UsageError(SkilloptError):
    """The user's input or configuration is wrong; nothing was spent."""

    exit_code = 2


class SettingsError(UsageError):
    """A setting has an unknown name or a value out of range."""


class SuiteError(UsageError):
    """A task file is wrong; the message starts with `file:line:` where a line is known."""


class SkillError(UsageError):
    """A skill folder or its SKILL.md cannot be used."""


class EditError(UsageError):
    """An edit cannot be applied; no part of its patch was."""


class EditConflictError(EditError):
    """The anchor is missing or occurs more than once, or two edits of a patch overlap.

    A hint that takes time to find is found when the message is read: most conflicts are caught and never shown.
    """

    def __init__(self, message: str, hint: Callable[[], str] = str) -> None:
        super().__init__(message)
        self._hint = hint

    def __str__(self) -> str:
        return f"{super().__str__()}{self._hint()}"


class ProtectedTextError(EditError):
    """The edit touches the frontmatter or a protected region."""


class RepositoryError(UsageError):
    """Git is missing, or the folder is not inside a usable repository."""


class VersionConflictError(RepositoryError):
    """A branch is not where it was when it was read; it was left as it is."""


class BusyError(UsageError):
    """Another process is writing what this one wants to write."""


class LedgerFormatError(UsageError):
    """The ledger was written by another version of this program."""


class ReplyError(SkilloptError):
    """A model reply is not what the prompt asked for."""


class InfrastructureError(SkilloptError):
    """Something outside the project failed; what was measured so far is kept."""


class ProviderError(InfrastructureError):
    """A model's provider or client failed.

    Args:
        kind: What kind of failure.
        message: What happened, in the provider's own words, and what to do.
        retry_after: Seconds that the provider asked to wait, None when it did not say.
    """

    def __init__(self, kind: FailureKind, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after

    @staticmethod
    def of(kind: FailureKind, words: str, retry_after: float | None = None) -> "ProviderError":
        """Make a failure whose message begins with its kind."""
        return ProviderError(kind, f"{kind}: {words}", retry_after)

    def __reduce__(self) -> "tuple[type[ProviderError], tuple[FailureKind, str, float | None]]":
        return ProviderError, (self.kind, str(self), self.retry_after)

    @property
    def transient(self) -> bool:
        """Whether the same call may work later."""
        return self.kind.transient

    def with_words(self, more: str) -> "ProviderError":
        """Make the same failure with more said at the end of its message."""
        return ProviderError(self.kind, f"{self}{more}", self.retry_after)


class AnswersPendingError(InfrastructureError):
    """Work was handed off and is not done yet; the message says where it lies and how to go on."""


class RemoteError(InfrastructureError):
    """Another repository cannot be reached, or refuses what is pushed to it."""


class ForgeError(InfrastructureError):
    """The forge failed."""

    transient = False

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after

    def with_words(self, more: str) -> "ForgeError":
        """Make the same failure with more said at the end of its message."""
        return type(self)(f"{self}{more}", self.retry_after)


class ForgeAccessError(ForgeError):
    """The token is missing, wrong, or lacks a permission; the message names it."""


class ForgeMissingError(ForgeError):
    """There is no such repository or pull request, or none that the token may see."""


class ForgeRefusedError(ForgeError):
    """The forge does not take what it was given."""


class ForgeLimitError(ForgeError):
    """The forge was asked too often; the same request may work later."""

    transient = True


class ForgeDownError(ForgeError):
    """The forge failed by itself, did not answer in time, or could not be reached; it may work later."""

    transient = True


class LedgerError(InfrastructureError):
    """The ledger cannot be read or written, or a rerun does not match what it holds."""


class InvalidMeasurementError(InfrastructureError):
    """Too few rollouts were measured for a verdict; rerun to measure what is missing."""


class OneTextLostError(InvalidMeasurementError):
    """Tasks could be run with one of two texts and not with the other; rerun to measure what is missing."""


class NothingMeasuredError(InvalidMeasurementError):
    """A run ended before anything was measured; rerun with a higher cap, or where more is left."""

    def __init__(self, run: str, reason: str) -> None:
        super().__init__(f"the run ended before anything was measured: {reason}")
        self.run = run


class UnreadRepliesError(InfrastructureError):
    """No reply of the optimizer model could be read; the replies, by digests of their prompts, are no results."""

    def __init__(self, unread: Mapping[str, str]) -> None:
        words = " ".join(next(iter(unread.values())).split())
        super().__init__(
            f"expected edits as they were asked for, found none: no reply of the optimizer model could be read "
            f"({len(unread)} of {len(unread)}); the first one begins {words[:_QUOTED]!r}; mend the model and give the "
            "same command again, or name another one with --model"
        )
        self.prompts = tuple(unread)


_QUOTED: Final = 80  # characters: half a line of a terminal
_EXPECTED: Final = {
    **dict.fromkeys(("int_parsing", "int_type", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_parsing", "float_type", "finite_number"), "a number"),
    **dict.fromkeys(("bool_parsing", "bool_type"), "true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), 'a list, as in ["one", "two"]'),
    **dict.fromkeys(("dict_type", "mapping_type", "model_type", "model_attributes_type"), "an object"),
    **dict.fromkeys(("enum", "literal_error"), "{expected}"),
    "string_type": "a text",
    "greater_than": "a number above {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "less_than": "a number below {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "string_too_long": "a text of at most {max_length} characters",
    "string_too_short": "a text of at least {min_length} characters",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of {min_length} or more",
    "string_pattern_mismatch": "a text that matches {pattern}",
    "json_invalid": "JSON ({error})",
    "missing": "a value",
}
"""What pydantic expects, by its kind of mistake."""

_LONGEST_INPUT: Final = 100  # characters: what was found, and no page of it


def describe_mistake(mistake: Mapping[str, Any]) -> str:
    """Write one of pydantic's mistakes as what was expected and what was found; its own words for a check of ours."""
    told, limits = str(mistake["msg"]).removeprefix("Value error, "), mistake.get("ctx", {})
    if limits.get("pattern") == r"\S":
        told = "expected a text that is not blank"
    elif mistake["type"] in _EXPECTED:
        told = f"expected {_EXPECTED[mistake['type']].format(**limits)}"
    if "found" in told or not told.startswith("expected"):
        return told
    found = "none" if mistake["type"] == "missing" else str(limits.get("actual_length") or repr(mistake["input"]))
    return f"{told}, found {found if len(found) <= _LONGEST_INPUT else f'{found[:_LONGEST_INPUT]}…'}"


def describe_field(mistake: Mapping[str, Any], noun: str, known: Iterable[str]) -> str:
    """Say of one of pydantic's mistakes in what key, option or argument it is, and of an unknown one what is near."""
    place = mistake["loc"]
    name, known = ".".join(str(part) for part in place if part != "[key]"), tuple(dict.fromkeys(known))
    match mistake["type"]:
        case "extra_forbidden":
            near = get_close_matches(str(place[-1]), known, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}?" if near else f"known {noun}s: {', '.join(known)}"
            return f"unknown {noun} {name[:_LONGEST_INPUT]!r}; {hint}"
        case "missing":
            return f"expected the {noun} {name!r}, found none; add it"
        case _:
            return f"{name or 'the file'}: {describe_mistake(mistake)}"


def network_words(error: BaseException) -> str:
    """Return what a network error says itself, without the exceptions that it is wrapped in.

    >>> network_words(OSError("aborted", ConnectionResetError("Remote end closed connection")))
    'Remote end closed connection'
    """
    inner: BaseException | None = error
    while inner is not None:
        error = inner
        inside = (each for each in (*error.args, getattr(error, "reason", None)) if isinstance(each, BaseException))
        inner = next(inside, error.__cause__)
    return getattr(error, "strerror", None) or str(error)
