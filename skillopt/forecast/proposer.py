"""Simulated optimizer model: answers each prompt of the loop with edits that are right as often as its kind is."""

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from skillopt.demo.prompts import EditProposal, Prompt, read_prompt
from skillopt.forecast.world import World
from skillopt.skills.document import Skill, SkillDocument

__all__ = ["PROPOSERS", "START", "Proposer", "answer_prompt", "said_in"]

_SECTION: Final = "Rules"
_IDLE: Final = 10_000
"""Different lines that change nothing."""

_RULE: Final = re.compile(r"\bRULE-(\d+)\b")
_HARM: Final = re.compile(r"\bHARM-(\d+)\b")
_GUESSES: Final = 0.5
"""Chance of a proposal about a failure that no rule explains."""

START: Final = Skill(
    "forecast",
    SkillDocument(
        f"---\nname: forecast\ndescription: Stands for a skill.\n---\n# Work\n\n## {_SECTION}\n\n- Do what is asked.\n"
    ),
)
"""The skill that simulated training starts from."""


@dataclass(frozen=True, slots=True)
class Proposer:
    """An optimizer model, by how well it proposes."""

    name: str
    right: float
    harmful: float = 0.15


PROPOSERS: Final = (Proposer("strong", 0.85), Proposer("typical", 0.5), Proposer("weak", 0.25))
"""What is assumed side by side where no run of the optimizer model is recorded."""


def said_in(text: str) -> tuple[frozenset[int], int]:
    """Return the rules that a text says, and how many of its lines do harm."""
    return frozenset(map(int, _RULE.findall(text))), len(set(_HARM.findall(text)))


def answer_prompt(world: World, proposer: Proposer, seed: int, text: str) -> str:
    """Answer a prompt; the same one has the same answer."""
    prompt = read_prompt(text)
    draw = Random(f"{seed}/{text}")
    match prompt.task:
        case "reflect on failures":
            found: Mapping[str, object] = {"diagnosis": "", "edits": _propose(world, proposer, draw, prompt)}
        case "reflect on successes":
            found = {"diagnosis": "", "edits": []}
        case "merge proposals":
            found = {"reasoning": "", "edits": _merged(prompt.edits)}
        case "rank edits":
            found = {"reasoning": "", "order": [name for name, _ in prompt.listed]}
        case "write durable guidance":
            found = {"reasoning": "", "guidance": "\n".join(prompt.guidance)}
        case "write optimizer memory":
            found = {"reasoning": "", "memory": ""}
        case other:
            raise ValueError(f"expected a prompt of a known stage, found {other!r}; teach it to forecast.proposer")
    return json.dumps(found)


def _propose(world: World, proposer: Proposer, draw: Random, prompt: Prompt) -> list[dict[str, object]]:
    """Propose at most one line about each cause of failure."""
    said, _ = said_in(prompt.skill)
    causes: defaultdict[int, list[str]] = defaultdict(list)
    for task, _ in prompt.shown:
        missing = [need for need in world.needs.get(task, ()) if need not in said]
        for cause in missing or [-1]:
            causes[cause].append(task)
    order = list(causes)
    draw.shuffle(order)
    lines: dict[str, dict[str, object]] = {}
    for cause in order[: prompt.budget]:
        line = _line(world, proposer, draw, cause)
        if line and line not in prompt.skill:
            lines[line] = {
                "op": "add",
                "section": _SECTION,
                "content": f"- {line}",
                "rationale": f"{len(causes[cause])} tasks need it.",
                "tasks": causes[cause],
            }
    return list(lines.values())


def _line(world: World, proposer: Proposer, draw: Random, cause: int) -> str:
    """Word a line about a cause; empty for none."""
    if cause in world.ability and draw.random() < world.ability[cause]:
        return f"Mind RULE-{cause} in all you do."
    if cause not in world.ability and draw.random() >= _GUESSES:
        return ""
    kind = "HARM" if draw.random() < proposer.harmful else "NOTE"
    return f"Mind {kind}-{draw.randrange(_IDLE)} in all you do."


def _merged(edits: Sequence[EditProposal]) -> list[dict[str, object]]:
    """Join edits that say the same; the joined one cites the tasks of all."""
    joined: dict[str, EditProposal] = {}
    for edit in edits:
        joined[edit.content] = joined[edit.content].citing(edit.tasks) if edit.content in joined else edit
    return [
        {"op": "add", "section": _SECTION, "content": edit.content, "rationale": edit.rationale, "tasks": edit.tasks}
        for edit in joined.values()
    ]
