"""Loopback models that load the listed skill whose description has most words of the request, and then stop.

Not language models: they count words (the choice of `benchmarks.demo`). What they are given is what the real clients
send, so what a client cuts from its listing is not seen.
"""

import re
from collections.abc import Iterator

from benchmarks.demo.skill_choice import choose_skill
from tools.fake_providers import fake_anthropic, fake_openai
from tools.fake_providers.loopback import Answer, Body

_CLAUDE_LISTING = "skills are available for use with the Skill tool"
_CLAUDE_ITEM = re.compile(r"^- (?P<name>[a-z0-9-]+)(?:: (?P<description>.*))?$", re.MULTILINE)
_CODEX_ITEM = re.compile(
    r"^- (?P<name>[a-z0-9-]+): (?P<description>[^\n]*?) ?\(file: (?P<path>[^)\n]+)\)$", re.MULTILINE
)
_CODEX_ROOT = re.compile(r"- `(\w+)` = `([^`]+)`")


def listed_by_claude(body: Body) -> dict[str, str]:
    """Return the description of each skill as the client lists it in a request."""
    texts = (fake_anthropic.text_of(block) for _, block in fake_anthropic.blocks_of(body))
    listing = next((text.partition(_CLAUDE_LISTING)[2] for text in texts if _CLAUDE_LISTING in text), "")
    return {found["name"]: found["description"] or "" for found in _CLAUDE_ITEM.finditer(listing)}


def choose_by_claude_listing(body: Body) -> Answer:
    """Call the Skill tool for the chosen skill."""
    blocks = [block for role, block in fake_anthropic.blocks_of(body) if role == "user"]
    used = any(block.get("type") == "tool_result" for block in blocks)
    chosen = "" if used else choose_skill(_asked(map(fake_anthropic.text_of, blocks)), listed_by_claude(body).items())
    said = {"type": "text", "text": "Done."}
    return fake_anthropic.message(body, [fake_anthropic.use("Skill", {"skill": chosen})] if chosen else [said])


def listed_by_codex(body: Body) -> dict[str, tuple[str, str]]:
    """Return description and path of each skill as the client lists it in a request."""
    text = "\n".join(fake_openai.texts_of(body))
    roots = dict(_CODEX_ROOT.findall(text))
    found = {}
    for item in _CODEX_ITEM.finditer(text):
        root, _, rest = item["path"].partition("/")
        found[item["name"]] = (item["description"], f"{roots[root]}/{rest}" if root in roots else item["path"])
    return found


def choose_by_codex_listing(body: Body) -> Answer:
    """Read the document of the chosen skill."""
    items = body.get("input") or []
    used = any(str(item.get("type", "")).endswith("_call_output") for item in items if isinstance(item, dict))
    listed = listed_by_codex(body)
    users = (fake_openai.text_of(item) for item in items if item.get("role") == "user")
    chosen = "" if used else choose_skill(_asked(users), [(name, text) for name, (text, _) in listed.items()])
    call = fake_openai.shell(body, f"cat '{listed[chosen][1]}'") if chosen else None
    return fake_openai.response(body, "I read the skill." if chosen else "Done.", call)


def _asked(texts: Iterator[str]) -> str:
    """Return the person's words: the last text that the client did not write itself."""
    return [text for text in texts if text.strip() and not text.lstrip().startswith("<")][-1]
