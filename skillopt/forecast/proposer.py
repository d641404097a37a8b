"""Simulated optimizer model: answers each prompt of the loop with edits that are right as often as its kind is."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping
from random import Random
from typing import Final

from skillopt.forecast.world import World
from skillopt.prompts.failure_groups import SAME_FEEDBACK
from skillopt.skills.document import Skill, SkillDocument

__all__ = ["ASSUMED", "START", "answer_prompt", "said_in"]

_SECTION: Final = "Rules"
_IDLE: Final = 10_000
"""Different lines that change nothing."""

_RULE: Final = re.compile(r"\bRULE-(\d+)\b")
_HARM: Final = re.compile(r"\bHARM-(\d+)\b")
_HARMFUL: Final = 0.15
"""Chance that a line that is not right does harm."""

_GUESSES: Final = 0.5
"""Chance of a proposal about a failure that no rule explains."""

_FENCED: Final = re.compile(r"<<<(\w+) ([0-9a-f]{12})\n(.*?)\n\1 \2>>>", re.DOTALL)
_BUDGET: Final = re.compile(r"\bat most (\d+)(?: edits|\.)|Only (\d+) of them", re.IGNORECASE)
_FAILED: Final = re.compile(r"^### Task (\S+)$|^(?:regressed|keeps failing): task (\S+), score ", re.MULTILINE)
_SAME: Final = re.compile(rf"^{re.escape(SAME_FEEDBACK)}(.+)$", re.MULTILINE)

START: Final = Skill(
    "forecast",
    SkillDocument(
        f"---\nname: forecast\ndescription: Stands for a skill.\n---\n# Work\n\n## {_SECTION}\n\n- Do what is asked.\n"
    ),
)
"""The skill that simulated training starts from."""


ASSUMED: Final = (0.85, 0.5, 0.25)
"""Shares of right proposals, of a strong, a typical and a weak optimizer model, where no run of it is recorded."""


def said_in(text: str) -> tuple[frozenset[int], int]:
    """Return the rules that a text says, and how many of its lines do harm."""
    return frozenset(map(int, _RULE.findall(text))), len(set(_HARM.findall(text)))


def answer_prompt(world: World, seed: int, text: str) -> str:
    """Answer a prompt; the same one has the same answer."""
    if text.startswith("Task: repair a reply"):
        text = text.partition("\n## Prompt\n")[2].strip()
    parts = {found[1]: found[3] for found in _FENCED.finditer(text)}
    match text.partition("\n")[0].removeprefix("Task: ").strip():
        case "reflect on failures":
            edits = _propose(world, Random(f"{seed}/{text}"), text, parts)
            found: Mapping[str, object] = {"diagnosis": "", "edits": edits}
        case "reflect on successes":
            found = {"diagnosis": "", "edits": []}
        case "merge proposals":
            found = {"reasoning": "", "edits": _merged(parts.get("proposals", ""))}
        case "rank edits":
            order = re.findall(r"^\[([^\]]+)\] ", parts.get("edits", ""), re.MULTILINE)
            found = {"reasoning": "", "order": order}
        case "write durable guidance":
            found = {"reasoning": "", "guidance": parts.get("guidance", "")}
        case "write optimizer memory":
            found = {"reasoning": "", "memory": ""}
        case other:
            raise ValueError(f"expected a prompt of a known stage, found {other!r}; teach it to forecast.proposer")
    return json.dumps(found)


def _propose(world: World, draw: Random, text: str, parts: Mapping[str, str]) -> list[dict[str, object]]:
    """Propose at most one line about each cause of failure."""
    skill, evidence = parts.get("skill", ""), parts.get("evidence", parts.get("comparison", ""))
    said, _ = said_in(skill)
    failed = [found[1] or found[2] for found in _FAILED.finditer(evidence)]
    alike = [task for found in _SAME.finditer(evidence) for task in found[1].split(", ")]
    causes: defaultdict[int, list[str]] = defaultdict(list)
    for task in (*failed, *alike):
        missing = [need for need in world.needs.get(task, ()) if need not in said]
        for cause in missing or [-1]:
            causes[cause].append(task)
    order = list(causes)
    draw.shuffle(order)
    budget = _BUDGET.search(text)
    lines: dict[str, dict[str, object]] = {}
    for cause in order[: int(budget[1] or budget[2]) if budget else 1]:
        line = _line(world, draw, cause)
        if line and line not in skill:
            lines[line] = {
                "op": "add",
                "section": _SECTION,
                "content": f"- {line}",
                "rationale": f"{len(causes[cause])} tasks need it.",
                "tasks": causes[cause],
            }
    return list(lines.values())


def _line(world: World, draw: Random, cause: int) -> str:
    """Word a line about a cause; empty for none."""
    if cause in world.ability and draw.random() < world.ability[cause]:
        return f"Mind RULE-{cause} in all you do."
    if cause not in world.ability and draw.random() >= _GUESSES:
        return ""
    kind = "HARM" if draw.random() < _HARMFUL else "NOTE"
    return f"Mind {kind}-{draw.randrange(_IDLE)} in all you do."


def _merged(proposals: str) -> list[dict[str, object]]:
    """Join edits that say the same; the joined one cites the tasks of all."""
    reasons: dict[str, str] = {}
    tasks: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for edit in (json.loads(line) for line in proposals.splitlines() if line.startswith("{")):
        reasons.setdefault(edit["content"], edit["rationale"])
        tasks[edit["content"]] |= dict.fromkeys(edit["tasks"])
    return [
        {"op": "add", "section": _SECTION, "content": content, "rationale": why, "tasks": list(tasks[content])}
        for content, why in reasons.items()
    ]
