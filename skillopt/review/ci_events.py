"""The base that a change is compared with, from the payload of a CI event such as a push or a merge group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from skillopt.errors import UsageError

_NOTHING: Final = "0"
"""What a commit's hash consists of where there was no commit."""


@dataclass(frozen=True, slots=True)
class EventBase:
    """What an event compares with."""

    revision: str
    reason: str


def find_event_base(event: Mapping[str, Any], default_branch: str = "") -> EventBase:
    """Find the base of an event of GitHub.

    A pull request is checked out merged into its base branch, so the branch is named and not the commit that the event
    knows: that one may be older, and what others merged since would be gated, too. A push compares with what the branch
    had, unless there was nothing or it was overwritten; then, and for events that know no change (a schedule, a manual
    start), it is the default branch.

    >>> find_event_base({"before": "0" * 40, "repository": {"default_branch": "main"}}).revision
    'refs/remotes/origin/main'
    """
    if branch := _text(event, "pull_request", "base", "ref"):
        return EventBase(f"refs/remotes/origin/{branch}", "the pull request's base branch")
    if commit := _text(event, "merge_group", "base_sha"):
        return EventBase(commit, "the merge group's base")
    before = _text(event, "before")
    if before.strip(_NOTHING) and event.get("forced") is not True:
        return EventBase(before, "what the branch had before the push")
    branch = _text(event, "repository", "default_branch") or default_branch
    if not branch:
        raise UsageError("base: expected an event that names one or a default branch, found none; set the input base")
    return EventBase(f"refs/remotes/origin/{branch}", "the default branch")


def _text(event: Mapping[str, Any], *path: str) -> str:
    """Read a text deep in a payload; empty where it is not there."""
    value: object = event
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""
