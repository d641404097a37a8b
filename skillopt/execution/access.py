"""What can do tasks on this machine, and with which key or login: names, never values."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from difflib import get_close_matches
from http import HTTPStatus
from typing import Final, cast
from urllib.request import ProxyHandler, Request, build_opener

from skillopt.agent_table import AgentTable, find_agent_table
from skillopt.errors import SettingsError
from skillopt.settings import Settings
from skillopt.targets.command_line.client import find_table_login
from skillopt.targets.drivers import AGENTS, load_part
from skillopt.targets.process import first_set
from skillopt.tasks import Suite

LOCAL_SERVERS: Final[Mapping[str, str]] = {
    "Ollama": "http://127.0.0.1:11434/v1",
    "LM Studio": "http://127.0.0.1:1234/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
}
"""Where servers of models listen on this machine unless they are told otherwise."""

_ADDRESS: Final = re.compile(r"https?://[\w.:\[\]-]+(?:/[\w./-]*)?")
"""An address without a name and password in it, which would be printed."""

_NAME: Final = re.compile(r"[\w.:/@+-]{1,200}")
_CLIENTS: Final = {
    "claude-code": ("Claude Code", "claude"),
    "codex": ("Codex", "codex"),
    "opencode": ("OpenCode", "opencode"),
    "gemini": ("Gemini CLI", "gemini"),
    "copilot": ("Copilot CLI", "copilot"),
}
"""Harness → the agent's name for people, and its program."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to run tasks and to ask an optimizer model."""

    label: str
    harness: str
    model: str
    base_url: str = ""
    missing: str = ""


_PROVIDERS: Final = {
    "anthropic": (
        ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
        Choice("Anthropic's API", "chat/anthropic/claude-haiku-4-5", "anthropic/claude-sonnet-5"),
    ),
    "openai": (("OPENAI_API_KEY",), Choice("OpenAI's API", "chat/openai/gpt-5-mini", "openai/gpt-5.4")),
}
"""Provider → variables with its key, and a model that is cheap to run as the target and a stronger one for edits."""


def find_choices() -> tuple[Choice, ...]:
    """List what is here, what is ready first: agents, keys, servers; known addresses are asked for their models."""
    set_keys = ((first_set(*variables), choice) for variables, choice in _PROVIDERS.values())
    keys = [replace(choice, label=f"{choice.label} ({key[0]} is set)") for key, choice in set_keys if key]
    found = [*_agents(own=True), *keys, *_served(LOCAL_SERVERS)]
    proposer = next((choice for choice in found if not choice.missing), None)
    alone = "it proposes no edits, so an optimizer model is needed too, and none was found"
    for choice in _agents(own=False):
        if proposer is None:
            found.append(replace(choice, model="claude-code", missing=alone))
        else:
            found.append(replace(choice, model=proposer.model, base_url=proposer.base_url))
    return tuple(sorted(found, key=lambda choice: bool(choice.missing)))


def toml_lines(choice: Choice) -> tuple[str, ...]:
    """Return the lines of skillopt.toml that choose it."""
    base = (f'base_url = "{choice.base_url}"',) if choice.base_url else ()
    return (f'harness = "{choice.harness}"', f'model = "{choice.model}"', *base)


def expect_chosen(settings: Settings, *, harness: bool, model: bool) -> None:
    """Refuse to go on without a target or an optimizer model: the demo is never used in silence."""
    wanted = {"harness": harness and not settings.harness, "model": model and not settings.model}
    unset = [name for name, is_unset in wanted.items() if is_unset]
    if not unset:
        return
    choices = find_choices()
    lines = [
        f"expected {' and '.join(unset)} in skillopt.toml, found none; choose with `skillopt init`, or write there"
    ]
    for choice in choices:
        lines.append(f"  # {choice.label}{f': {choice.missing}' if choice.missing else ''}")
        lines += [f"  {line}" for line in toml_lines(choice) if line.split(" ")[0] in (*unset, "base_url")]
    if not choices:
        lines.append(
            '  harness = "claude-code"   # or codex, chat/PROVIDER/MODEL, … (skillopt docs agents-and-sandbox)'
        )
        lines.append('  model = "claude-code"')
        lines.append("no agent, API key or local model server was found on this machine")
    lines.append(
        '(harness = "demo", model = "demo": a program that understands table rules only, not a language model)'
    )
    raise SettingsError("\n".join(lines))


def find_login(driver: str, agents: Mapping[str, AgentTable] | None = None) -> tuple[bool, str]:
    """Return whether a driver has its credential and where it comes from, or how to get one."""
    if driver in AGENTS:
        find = cast("Callable[[], tuple[bool, str]]", load_part(AGENTS[driver].login))  # so the table says
        return find()
    if (table := find_agent_table(driver, agents or {})) is not None:
        return find_table_login(table)
    if driver not in _PROVIDERS:
        return True, "needs no credential"
    variables, _ = _PROVIDERS[driver]
    named = first_set(*variables)
    if named is None:
        return False, f"expected a key in {variables[0]}, found none; set it"
    return True, f"credential from {named[0]}"


def given_keys(harness: str, agents: Mapping[str, AgentTable]) -> str:
    """Say which key the agent that does the tasks is given, and which hosts it may give it to; empty for no agent."""
    kind = harness.partition("/")[0]
    if kind not in AGENTS and find_agent_table(kind, agents) is None:
        return ""
    ready, found = find_login(kind, agents)
    return found if not ready else f"gives {kind} the {found}" if kind in AGENTS else found.rpartition("; ")[2]


def missing_access(settings: Settings, suite: Suite, *, trains: bool = False) -> str:
    """Return which judge or key is missing to measure a suite, empty for nothing; agents are asked by running them."""
    chats = [name.removeprefix("chat/") for name in settings.targets if name.startswith("chat/")]
    roles = {f"target {at}" if at else "target": name for at, name in enumerate(chats)}
    if trains:
        roles["optimizer model"] = settings.model
        roles |= {"reviewer": settings.reviewer} if settings.reviewer else {}
    if any(task.verifier.judged for _, task in suite.splits):
        roles["judge"] = settings.judge or settings.model
    if roles.get("judge", "a model") in {"", "demo"}:
        return "its tasks have rubrics, and there is no model to judge them; set judge"
    for role, name in roles.items():
        ready, told = find_login(name.partition("/")[0]) if name.partition("/")[0] in _PROVIDERS else (True, "")
        ready, told = find_served(name, settings) if ready else (ready, told)
        if not ready:
            return f"for the {role} {name}, {told}"
    return ""


def find_served(name: str, settings: Settings) -> tuple[bool, str]:
    """Ask a model's server whether it is there and has the model, which costs nothing; True where it does not say."""
    driver, _, model = name.removeprefix("chat/").partition("/")
    address = settings.base_url.rstrip("/")
    if driver != "openai-compatible" or not address:
        return True, ""
    models = _models_at(address)
    if models is None:
        return False, f"expected a model server at {address}, found none that answers; start it, or correct base_url"
    if models and model not in models and _lacks(address, model):
        near = get_close_matches(model, models, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(models[:5])}"
        return False, f"expected a model that {address} serves, found {model!r}; {hint}"
    return True, f"{address} serves it" if models else ""


def _agents(*, own: bool) -> Iterator[Choice]:
    for name, (label, program) in _CLIENTS.items():
        if (name in AGENTS) is own and shutil.which(program):
            ready, told = find_login(name)
            yield Choice(f"{label} ({program} on the PATH)", name, name, missing="" if ready else told)


def _lacks(address: str, model: str) -> bool:
    """Ask a server without a key for one token, because some serve a model under more names than they list."""
    asked = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "ready"}]}
    content = {"Content-Type": "application/json"}
    request = Request(f"{address}/chat/completions", json.dumps(asked).encode(), content)  # noqa: S310 - http alone, see _ADDRESS
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=30.0):
            return False
    except OSError as error:
        return getattr(error, "code", 0) == HTTPStatus.NOT_FOUND


def _served(servers: Mapping[str, str]) -> Iterator[Choice]:
    addresses = {address.rstrip("/"): name for name, address in servers.items()}
    for variable in ("OPENAI_BASE_URL", "SKILLOPT_BASE_URL"):
        if os.environ.get(variable):
            addresses = {os.environ[variable].rstrip("/"): variable} | addresses
    with ThreadPoolExecutor(len(addresses) or 1) as pool:
        listed = list(pool.map(_models_at, addresses))
    for (address, name), models in zip(addresses.items(), listed, strict=True):
        if models:
            more = f", {len(models)} models" if len(models) > 1 else ""
            model = f"openai-compatible/{models[0]}"
            yield Choice(f"{name} at {address} ({models[0]}{more})", f"chat/{model}", model, address)


def _models_at(address: str) -> tuple[str, ...] | None:
    """List the models of a server; none where it does not say, None where nobody listens."""
    if not _ADDRESS.fullmatch(address):
        return ()
    try:
        with build_opener(ProxyHandler({})).open(f"{address}/models", timeout=0.5) as answer:
            listed = json.loads(answer.read(1_000_000))
        names = [entry["id"] for entry in listed["data"]]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        return None if isinstance(getattr(error, "reason", None), ConnectionRefusedError) else ()
    return tuple(name for name in names if isinstance(name, str) and _NAME.fullmatch(name))
