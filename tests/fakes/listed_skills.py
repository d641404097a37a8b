"""What a model does in an agent that lists skills as XML and loads them by a tool, whatever its wire format."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tools.fake_providers.fake_anthropic import Block, blocks_of, message, text_of, use
from tools.fake_providers.loopback import Answer, Body
from tools.fake_providers.skill_follower import READ_INPUT, next_turn

_READ = re.compile(
    r'<(?P<mark>skill|skill-context|skill_content|activated_skill) name="[^"]+">(?P<body>.*?)</(?P=mark)>', re.DOTALL
)
_LISTED = re.compile(
    r"<name>(?P<name>[a-z0-9-]+)</name>\s*<description>[^<]*</description>\s*<location>(?:project|[^<]*/skills/[^<]*)<"
)
_SHELLS = ("bash", "run_shell_command")
_LOADERS = ("skill", "activate_skill")


@dataclass(frozen=True, slots=True)
class HeardCall:
    """A tool that the model used, with what it gave."""

    name: str
    arguments: Mapping[str, Any]
    result: str


@dataclass(frozen=True, slots=True)
class Heard:
    """What a request says."""

    tools: Mapping[str, tuple[str, ...]]
    texts: tuple[str, ...]
    calls: tuple[HeardCall, ...]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the model answers: words, and a tool that it wants used, empty for none."""

    text: str
    tool: str = ""
    arguments: Mapping[str, str] | None = None


def decide(heard: Heard) -> Wanted:
    """Decide what the model answers."""
    shell = next((name for name in _SHELLS if name in heard.tools), "")
    if not shell:
        return Wanted("ok")
    loader = next((name for name in _LOADERS if name in heard.tools), "")
    everything = "\n".join((*heard.texts, *(call.result for call in heard.calls)))
    skill, listed = _READ.search(everything), _LISTED.search(everything)
    if skill is None and listed and loader and all(call.name != loader for call in heard.calls):
        return Wanted("I load the skill.", loader, {heard.tools[loader][0]: listed["name"]})
    commands = {str(call.arguments.get("command", "")): call.result for call in heard.calls}
    turn = next_turn(skill["body"] if skill else "", tuple(commands), _table(commands.get(READ_INPUT, "")))
    if not turn.command:
        return Wanted(turn.text)
    described = {"description": "Work on the table."} if "description" in heard.tools[shell] else {}
    return Wanted(turn.text, shell, {"command": turn.command, **described})


def follow_listed_skill(body: Body) -> Answer:
    """Do the table task in an agent that lists skills as XML; not Claude Code."""
    tools = {
        tool["name"]: tuple(tool.get("input_schema", {}).get("properties", {})) for tool in body.get("tools") or ()
    }
    blocks = [block for _, block in blocks_of(body)]
    results = {block["tool_use_id"]: text_of(block) for block in blocks if block.get("type") == "tool_result"}
    calls = [block for block in blocks if block.get("type") == "tool_use"]
    heard = tuple(HeardCall(call["name"], call["input"], results.get(call["id"], "")) for call in calls)
    wanted = decide(Heard(tools, tuple(map(text_of, blocks)), heard))
    said: list[Block] = [{"type": "text", "text": wanted.text}]
    return message(body, [*said, use(wanted.tool, dict(wanted.arguments or {}))] if wanted.tool else said)


def _table(printed: str) -> str:
    """Return the table out of what an agent reports of a command."""
    lines = [line.removeprefix("Output: ") for line in printed.splitlines() if "," in line]
    return "".join(f"{line}\n" for line in lines)
