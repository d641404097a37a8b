"""Typical cost of a rollout and of an optimizer call by client, for where nothing was measured yet.

Sizes of our own prompts, of the skill and of the tasks are counted. What else goes into these figures is rough: a
request of an agent begins with its own instructions and tools, about 16,000 tokens in Claude Code and 18,000 in `codex
exec`, as users of both report for an empty folder (anthropics/claude-code issues 17567 and 95129, openai/codex issue
16212); a task is taken to have seven requests, of which all but the first read most of their input from the provider's
cache, and a request to take 10 seconds. So every figure here is right to a factor of about two, for which ranges allow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from statistics import fmean
from typing import Final
from urllib.parse import urlsplit

from skillopt.forecast.consumption import CallCost
from skillopt.settings import Settings
from skillopt.skills.document import Skill, estimate_tokens
from skillopt.targets.prices import cost_of, find_price
from skillopt.tasks import Suite, Task

_SPREAD: Final = 0.5
"""Standard deviation of the logarithm: eight of ten figures lie between half and twice the typical one."""

_CACHED: Final = 0.9
"""Share of the input of a later request that the provider has in its cache."""

_REQUESTS: Final = 7
_REQUEST_GROWTH: Final = 1_500
_AGENT_WRITES: Final = 2_500
_REQUEST_SECONDS: Final = 10.0
_BYTES_A_TOKEN: Final = 4


_COMPATIBLE: Final = "openai-compatible"

_INSTRUCTIONS: Final[Mapping[str, tuple[int, str]]] = {
    "claude-code": (16_000, "claude-sonnet-5"),
    "codex": (18_000, "gpt-5.3-codex"),
}
"""Tokens of an agent's own instructions, and the model that it may run; of another agent nobody knows them."""

_CHATS: Final = frozenset({"anthropic", "openai", _COMPATIBLE})
_CHAT_INSTRUCTIONS: Final = 150

_NEAR_ENDS: Final = (".local", ".lan", ".localhost")

_UNKNOWN_AGENT: Final = (16_000, "")

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
    drivers = [_parts(one)[0] for one in name.split(",")]
    return any(one not in _FREE and (one != _COMPATIBLE or not _is_near(settings.base_url)) for one in drivers)


def is_near_chat(settings: Settings) -> bool:
    """Return whether the target is one model behind a server on this machine or in its own network."""
    chats = settings.harness.startswith(f"chat/{_COMPATIBLE}/") and len(settings.targets) == 1
    return chats and bool(settings.base_url) and _is_near(settings.base_url)


def at_pace(rollout: CallCost, call: CallCost, pace: float, settings: Settings) -> tuple[CallCost, CallCost]:
    """Return typical costs of a rollout and of a call where a token that a nearby server writes takes so long."""
    seconds = None if rollout.seconds is None else rollout.seconds - _CHAT_SECONDS + pace * _CHAT_WRITES
    if settings.model.startswith(f"{_COMPATIBLE}/"):
        call = replace(call, seconds=pace * _CALL_WRITES)
    return replace(rollout, seconds=seconds), call


def judge_calls(suite: Suite) -> float:
    """Return how many calls a judge makes for a rollout, on average."""
    return _READINGS * fmean(task.verifier.judged for _, task in suite.splits)


def typical_rollout(settings: Settings, suite: Suite, skill: Skill) -> CallCost:
    """Return what a rollout of the target typically costs, and its judge where there is one; of several, on average."""
    if len(settings.targets) > 1:
        each = [typical_rollout(one, suite, skill) for one in settings.by_target]
        usd, seconds = _mean([one.usd for one in each]), _mean([one.seconds for one in each])
        return CallCost(fmean(one.tokens for one in each), usd, seconds, max(one.spread for one in each))
    driver, _ = _parts(settings.harness)
    first = estimate_tokens(skill.document.text) + fmean(_size(task) for _, task in suite.splits)
    if driver in _CHATS:
        read = (first + _CHAT_INSTRUCTIONS, 0.0, _CHAT_WRITES)
        done = _priced(settings.harness, settings, read, _CHAT_SECONDS)
    else:
        first += _INSTRUCTIONS.get(driver, _UNKNOWN_AGENT)[0]
        later = sum(first + request * _REQUEST_GROWTH for request in range(1, _REQUESTS))
        read = (first + (1 - _CACHED) * later, _CACHED * later, _AGENT_WRITES)
        done = _priced(settings.harness, settings, read, _REQUESTS * _REQUEST_SECONDS)
    times = judge_calls(suite)
    if not times:
        return done
    judge, tokens = settings.judge or settings.model, (times * _JUDGE_READS, 0.0, times * _JUDGE_WRITES)
    judged = _priced(judge, settings, tokens, times * _JUDGE_SECONDS)
    usd = None if done.usd is None or judged.usd is None else done.usd + judged.usd
    seconds = None if done.seconds is None or judged.seconds is None else done.seconds + judged.seconds
    return CallCost(done.tokens + judged.tokens, usd, seconds, max(done.spread, judged.spread))


def _mean(each: Sequence[float | None]) -> float | None:
    return None if None in each else fmean(one or 0.0 for one in each)


def typical_call(settings: Settings, skill: Skill) -> CallCost:
    """Return what a call of the optimizer model typically costs; it has no tools, and its system prompt is ours."""
    read = (_CALL_READS + estimate_tokens(skill.document.text), 0.0, _CALL_WRITES)
    return _priced(settings.model, settings, read, _CALL_SECONDS)


def _priced(name: str, settings: Settings, tokens: tuple[float, float, float], seconds: float) -> CallCost:
    """Put a price on tokens that are read anew, read from a cache, and written; what runs here costs nothing."""
    if not name:
        return CallCost(0, None, None)
    driver, model = _parts(name)
    if driver in _FREE:  # a program takes no time, a person takes any
        return CallCost(0, 0.0, None if name == "handoff" else 0.05)
    plain, cached, written = tokens
    price = find_price(model or _INSTRUCTIONS.get(driver, _UNKNOWN_AGENT)[1], settings.prices)
    usd = cost_of(price, round(plain), round(written), cache_read=round(cached))
    return CallCost(sum(tokens), usd, seconds, _SPREAD)


def _is_near(address: str) -> bool:
    """Return whether a server is on this machine or in its own network; one that is not named yet is nowhere."""
    try:
        host = urlsplit(address).hostname or ""
        return ip_address(host).is_private
    except ValueError:
        return "." not in host or host.endswith(_NEAR_ENDS)


def _parts(name: str) -> tuple[str, str]:
    """Return the client and the model that a name chooses, empty for none."""
    client, _, model = name.removeprefix("chat/").partition("/")
    return client, model


def _size(task: Task) -> float:
    return estimate_tokens(task.prompt) + sum(len(file.content) for file in task.files) / _BYTES_A_TOKEN
