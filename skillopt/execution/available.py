"""Find what can do tasks on this machine: agents, API keys (names, never values) and local model servers."""

import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

from skillopt.agent_table import SHIPPED
from skillopt.errors import SettingsError
from skillopt.execution.logins import find_login
from skillopt.settings import Settings

__all__ = ["LOCAL_SERVERS", "Choice", "expect_chosen", "find_choices", "toml_lines"]

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
_SECONDS: Final = 0.5
_MOST_ANSWERED: Final = 1_000_000
_PROGRAMS: Final = {"claude-code": ("Claude Code", "claude"), "codex": ("Codex", "codex")}
_OF_TABLES: Final = {"opencode": "OpenCode", "gemini": "Gemini CLI", "copilot": "Copilot CLI"}
"""Shipped agents, which do tasks and propose no edits."""

_KEYED: Final = {
    "anthropic": ("Anthropic's API", "claude-haiku-4-5", "claude-sonnet-5"),
    "openai": ("OpenAI's API", "gpt-5-mini", "gpt-5.4"),
}
"""Provider → its name for people, a model that is cheap to run as the target, and a stronger one to propose edits."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to run tasks and to ask an optimizer model."""

    label: str
    harness: str
    model: str
    base_url: str = ""
    missing: str = ""


def find_choices() -> tuple[Choice, ...]:
    """List what was found here: what is ready before what is not, agents before keys before servers.

    Only LOCAL_SERVERS and the addresses in SKILLOPT_BASE_URL and OPENAI_BASE_URL are asked, for their list of models.
    """
    found = [*_agents(), *_keys(), *_served(LOCAL_SERVERS)]
    found += _of_tables(next((choice for choice in found if not choice.missing), None))
    return tuple(sorted(found, key=lambda choice: bool(choice.missing)))


def toml_lines(choice: Choice) -> tuple[str, ...]:
    """Return the lines of skillopt.toml that choose it."""
    lines = [f'harness = "{choice.harness}"', f'model = "{choice.model}"']
    return (*lines, *([f'base_url = "{choice.base_url}"'] if choice.base_url else []))


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
        lines.append('  harness = "claude-code"   # or codex, chat/anthropic/MODEL, … (skillopt docs architecture)')
        lines.append('  model = "claude-code"')
        lines.append("no agent, API key or local model server was found on this machine")
    lines.append(
        '(harness = "demo", model = "demo": a program that understands table rules only, not a language model)'
    )
    raise SettingsError("\n".join(lines))


def _agents() -> Iterator[Choice]:
    for name, (label, program) in _PROGRAMS.items():
        if shutil.which(program):
            ready, told = find_login(name)
            yield Choice(f"{label} ({program} on the PATH)", name, name, missing="" if ready else told)


def _of_tables(proposer: Choice | None) -> Iterator[Choice]:
    """Find shipped agents, each with who would propose the edits."""
    for name, label in _OF_TABLES.items():
        program = SHIPPED[name].command[0]
        if not shutil.which(program):
            continue
        ready, told = find_login(name)
        shown = f"{label} ({program} on the PATH)"
        if proposer is None:
            missing = "it proposes no edits, so an optimizer model is needed too, and none was found"
            yield Choice(shown, name, "claude-code", missing=missing)
        else:
            yield Choice(shown, name, proposer.model, proposer.base_url, "" if ready else told)


def _keys() -> Iterator[Choice]:
    for provider, (label, target, optimizer) in _KEYED.items():
        ready, told = find_login(provider)
        if ready:
            source = told.removeprefix("credential from ")
            yield Choice(f"{label} ({source} is set)", f"chat/{provider}/{target}", f"{provider}/{optimizer}")


def _served(servers: Mapping[str, str]) -> Iterator[Choice]:
    """Find servers that list at least one model; the first listed is proposed."""
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


def _models_at(address: str) -> tuple[str, ...]:
    """Ask a server for its models; none when there is no such server. No key is sent, no proxy is used."""
    if not _ADDRESS.fullmatch(address):
        return ()
    try:
        with build_opener(ProxyHandler({})).open(f"{address}/models", timeout=_SECONDS) as answer:
            listed = json.loads(answer.read(_MOST_ANSWERED))
        names = [entry["id"] for entry in listed["data"]]
    except (URLError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return ()
    return tuple(name for name in names if isinstance(name, str) and _NAME.fullmatch(name))
