"""Typical cost of a rollout and of an optimizer call by client, for where nothing was measured yet.

Sizes of our own prompts, of the skill and of the tasks are counted. What else goes into these figures is rough: a
request of an agent begins with its own instructions and tools, about 16,000 tokens in Claude Code and 18,000 in `codex
exec`, as users of both report for an empty folder (anthropics/claude-code issues 17567 and 95129, openai/codex issue
16212); a task is taken to have seven requests, of which all but the first read most of their input from the provider's
cache, and a request to take 10 seconds. So every figure here is right to a factor of about two, for which ranges allow.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from statistics import fmean
from typing import Final
from urllib.parse import urlsplit

from skillopt.forecast.foresight import CallCost
from skillopt.settings import Settings
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.targets.prices import cost_of, find_price
from skillopt.tasks import Suite, Task

__all__ = ["is_paid", "typical_call", "typical_rollout"]

_SPREAD: Final = 0.5
"""Standard deviation of the logarithm: eight of ten figures lie between half and twice the typical one."""

_CACHED: Final = 0.9
"""Share of the input of a later request that the provider has in its cache."""

_REQUESTS: Final = 7
_REQUEST_GROWTH: Final = 1_500
_AGENT_WRITES: Final = 2_500
_REQUEST_SECONDS: Final = 10.0
_BYTES_A_TOKEN: Final = 4


@dataclass(frozen=True, slots=True)
class _Client:
    """What a client adds."""

    instructions: int
    model: str = ""
    agent: bool = False


_COMPATIBLE: Final = "openai-compatible"

_CLIENTS: Final[Mapping[str, _Client]] = {
    "claude-code": _Client(16_000, "claude-sonnet-5", agent=True),
    "codex": _Client(18_000, "gpt-5.3-codex", agent=True),
    "anthropic": _Client(150),
    "openai": _Client(150),
    _COMPATIBLE: _Client(150),
}

_OF_TABLE: Final = _Client(16_000, agent=True)
"""An agent that a table of skillopt.toml describes; nobody knows what it adds."""

_NEAR_ENDS: Final = (".local", ".lan", ".localhost")

_FREE: Final = frozenset({"", "demo", "handoff"})

_READINGS: Final = 2
"""Times that a judge reads a result, in both orders of its criteria."""

_JUDGE_READS: Final = 2_000
_JUDGE_WRITES: Final = 400
_JUDGE_SECONDS: Final = 10.0

_CHAT_WRITES: Final = 800
_CHAT_SECONDS: Final = 10.0
_CALL_READS: Final = 6_000
_CALL_WRITES: Final = 2_500
_CALL_SECONDS: Final = 45.0


def is_paid(name: str, settings: Settings) -> bool:
    """Return whether calls cost money, or are taken off a subscription."""
    driver = _parts(name)[0]
    if driver == _COMPATIBLE:
        return not _is_near(settings.base_url)
    return _client(driver) is not None


def typical_rollout(settings: Settings, suite: Suite, skill: Skill) -> CallCost:
    """Return what a rollout of the target typically costs, and its judge where there is one."""
    judged = fmean(task.verifier.judged for _, task in suite.splits)
    done = _done(settings, suite, skill)
    return _sum(done, _judging(settings, judged)) if judged else done


def _done(settings: Settings, suite: Suite, skill: Skill) -> CallCost:
    """Return what the target's part of a rollout typically costs."""
    name, model = _parts(settings.harness)
    client = _client(name)
    if client is None:
        return _of_own(name)
    first = client.instructions + estimate_tokens(skill.document.text) + fmean(_size(task) for _, task in suite.splits)
    if not client.agent:
        return _priced(client, model, settings, (first, 0.0, _CHAT_WRITES), _CHAT_SECONDS)
    later = sum(first + request * _REQUEST_GROWTH for request in range(1, _REQUESTS))
    read = (first + (1 - _CACHED) * later, _CACHED * later, _AGENT_WRITES)
    return _priced(client, model, settings, read, _REQUESTS * _REQUEST_SECONDS)


def _judging(settings: Settings, share: float) -> CallCost:
    """Return what judging the results of a share of all tasks typically costs for each rollout."""
    name, model = _parts(settings.judge or settings.model)
    client = _client(name)
    if client is None:
        return _of_own(name)
    times = share * _READINGS
    read = (times * _JUDGE_READS, 0.0, times * _JUDGE_WRITES)
    return _priced(client, model, settings, read, times * _JUDGE_SECONDS)


def _sum(one: CallCost, other: CallCost) -> CallCost:
    """Add up what is done one after the other; what is not known of one is not known of both."""
    usd = None if one.usd is None or other.usd is None else one.usd + other.usd
    seconds = None if one.seconds is None or other.seconds is None else one.seconds + other.seconds
    return CallCost(one.tokens + other.tokens, usd, seconds, max(one.spread, other.spread))


def typical_call(settings: Settings, skill: Skill) -> CallCost:
    """Return what a call of the optimizer model typically costs."""
    name, model = _parts(settings.model)
    client = _client(name)
    if client is None:
        return _of_own(name)
    # The optimizer model has no tools, and its system prompt is ours.
    read = _CALL_READS + estimate_tokens(skill.document.text)
    return _priced(client, model, settings, (read, 0.0, _CALL_WRITES), _CALL_SECONDS)


def _of_own(name: str) -> CallCost:
    """Return the cost of what runs here: a program that takes no time, or a person who takes any; of nothing, none."""
    if not name:
        return CallCost(0, None, None)
    return CallCost(0, 0.0, None if name == "handoff" else 0.05)


def _priced(
    client: _Client, model: str, settings: Settings, tokens: tuple[float, float, float], seconds: float
) -> CallCost:
    """Put a price on tokens that are read anew, read from a cache, and written."""
    price = find_price(model or client.model, settings.prices)
    plain, cached, written = tokens
    usd = cost_of(price, round(plain), round(written), cache_read=round(cached))
    return CallCost(sum(tokens), usd, seconds, _SPREAD)


def _is_near(address: str) -> bool:
    """Return whether a server is on this machine or in its own network; one that is not named yet is nowhere."""
    try:
        host = urlsplit(address).hostname or ""
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith(_NEAR_ENDS)


def _client(name: str) -> _Client | None:
    """Return what is known of a client; None for what runs here and costs nothing."""
    return _CLIENTS.get(name) or (None if name in _FREE else _OF_TABLE)


def _parts(name: str) -> tuple[str, str]:
    """Return the client and the model that a name chooses, empty for none."""
    client, _, model = name.removeprefix("chat/").partition("/")
    return client, model


def _size(task: Task) -> float:
    return estimate_tokens(task.prompt) + sum(len(file.content) for file in task.files) / _BYTES_A_TOKEN
