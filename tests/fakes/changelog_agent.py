"""A scripted stand-in for an agent's model: it writes changelog entries by the rules that it read, and proposes rules.

Not a language model: it knows the four rules below, looks for their words in the skill, and proposes those whose check
failed. It answers in the wire format of the Messages API, so that the real Claude Code can be run against it.
"""

import json
import re
from typing import Final

from tools.fake_providers.fake_anthropic import message
from tools.fake_providers.loopback import Answer, Body

RULES: Final = {
    "kind": "- Start with the kind of change and a colon: `Added: `, `Fixed: ` or `Changed: `.",
    "capital": "- Write the first letter after the kind as a capital.",
    "stop": "- Put no full stop at the end.",
    "number": "- End with the number of the pull request in parentheses, as in `(#12)`.",
}
"""What the checks of the page's tasks ask for, by the name of the check."""

_WORDS: Final = {
    "kind": "kind of change",
    "capital": "as a capital",
    "stop": "no full stop",
    "number": "in parentheses",
}
_CHANGE: Final = re.compile(
    r"Write the changelog entry for this change: (?P<what>.+?) \((?P<kind>\w+), pull request (?P<number>\d+)\)"
)
_TASK: Final = re.compile(r"^### Task (\S+)", re.MULTILINE)


def write_entry(skill: str, asked: str) -> str:
    """Write the entry that a prompt asks for, by the rules whose words stand in the skill."""
    found = _CHANGE.search(asked)
    if found is None:
        return "ok"
    what, known = found["what"], {rule for rule, words in _WORDS.items() if words in skill}
    entry = what[:1].upper() + what[1:] if "capital" in known else what
    entry = f"{found['kind'].capitalize()}: {entry}" if "kind" in known else entry
    entry = entry if "stop" in known else f"{entry}."
    return f"{entry} (#{found['number']})" if "number" in known else entry


def changelog_model(body: Body) -> Answer:
    """Answer a request of the Messages API: propose edits where failures are shown, else write an entry."""
    text = "\n".join(_texts(body))
    if "Task: reflect on failures" in text:
        return message(body, [{"type": "text", "text": _propose(text)}])
    return message(body, [{"type": "text", "text": write_entry(text, text)}])


def _propose(prompt: str) -> str:
    skill = prompt.partition("<<<skill ")[2].partition("\nskill ")[0]
    evidence = prompt.partition("<<<evidence ")[2]
    tasks = _TASK.findall(evidence)
    edits = [
        {
            "op": "add",
            "section": "Rules",
            "content": rule,
            "tasks": tasks,
            "kind": "format",
            "rationale": f"{name} is asked for.",
        }
        for name, rule in RULES.items()
        if _WORDS[name] not in skill
    ]
    return json.dumps({"diagnosis": "The house format is not in the skill.", "edits": edits, "failures": []})


def _texts(body: Body) -> list[str]:
    parts = [body.get("system") or "", *(turn.get("content") or "" for turn in body.get("messages", ()))]
    blocks = [block for part in parts for block in ([{"text": part}] if isinstance(part, str) else part)]
    return [str(block.get("text") or block.get("content") or "") for block in blocks]
