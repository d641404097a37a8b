"""A simulated optimizer model, no language model: proposes lines of a fixed list by what the feedback misses."""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.demo.model import DemoModel
from benchmarks.demo.prompts import Prompt, read_prompt
from skillopt.rollouts import Reply, Usage
from skillopt.skills.document import estimate_tokens

_MISSED = re.compile(r'expected a match of ("(?:[^"\\]|\\.)*")')


@dataclass(frozen=True, slots=True)
class _Topic:
    """What the list has for one pattern that answers must match."""

    pattern: str
    lines: tuple[str, ...]
    stale: str = ""


_TOPICS: Final = (
    _Topic(
        r"\b(8|eight)\b",
        ("- Customers can come to the shop from 8 in the morning on.", "- Norvel is open from 8 to 6."),
    ),
    _Topic(r"\bIda Brandt\b", ("- Norvel was founded by Ida Brandt.", "- The first owner of Norvel was Ida Brandt.")),
    _Topic(
        r"\bMill Road\b",
        (
            "- The address of Norvel is Mill Road.",
            "- Customers have to go to Mill Road.",
            "- The street of the shop is Mill Road.",
        ),
    ),
    _Topic(
        r"\bgreen\b",
        ("- The colour of the bag is green.", "- Each Norvel bag is green.", "- All bags have the colour green."),
    ),
    _Topic(
        r"\b(6|six) days\b",
        (
            "- Delivery takes 6 days.",
            "- A parcel will arrive after 6 days.",
            "- We deliver tables, chairs and parcels in 6 days.",
        ),
        "- Delivery takes",
    ),
    _Topic(
        r"\b(4|four)\b",
        (
            "- Delivery costs 4 euros.",
            "- The price of delivery is 4 euros.",
            "- Customers pay 4 euros for delivery, so it is not free.",
        ),
    ),
    _Topic(r"\bash\b", ("- Norvel chairs are made of ash wood.", "- The material of a chair is ash.")),
    _Topic(
        r"\b(40|forty)\b",
        (
            "- A return is possible for 40 days.",
            "- Customers have 40 days for a return of a table, a chair or a bag.",
            "- Tables can be given back until 40 days are over.",
        ),
    ),
    _Topic(
        r"\b555 0199\b",
        (
            "- The phone number of Norvel is 555 0199.",
            "- Call the shop at 555 0199.",
            "- Our telephone number is 555 0199.",
        ),
        "- The phone number of Norvel is",
    ),
    _Topic(r"\b(5|five) years\b", ("- The warranty is 5 years.", "- Tables and chairs have a warranty of 5 years.")),
)

_REMARKS: Final = (
    "- Be friendly to every customer.",
    "- Norvel has been a good shop for a long time.",
    "- Answer with as much detail as possible.",
)
"""Lines that no answer needs, or that do harm: a real model proposes such lines, too."""


@dataclass(frozen=True, slots=True)
class ListedProposer:
    """Proposes, for each fact that answers miss, its next line that is neither in the skill nor was tried.

    Every reflection also gets one remark that no answer needs. It costs nothing and needs no network.
    """

    identity: str = "simulated shop-desk proposer 1"

    def worst_case(self, prompt: str, *, system: str = "") -> Usage:
        """Bound a call, which costs nothing."""
        return Usage(1, estimate_tokens(prompt + system), 0, 0.0)

    def reply(self, prompt: str, *, system: str = "", schema: str = "") -> Reply:  # noqa: ARG002 - it reads prompts only
        """Answer a reflection with edits of the list; the same prompt always gets the same answer."""
        read = read_prompt(prompt)
        if not read.task.startswith("reflect"):
            return DemoModel().reply(prompt)  # which joins and ranks edits whatever they are about
        missed = _missed(read)
        edits = [*_facts(read, missed), *_remark(read, sorted({task for tasks in missed.values() for task in tasks}))]
        found = {"diagnosis": f"{len(missed)} facts are missed.", "edits": edits[: read.budget]}
        text = json.dumps(found)
        return Reply(text, Usage(1, estimate_tokens(prompt), estimate_tokens(text), 0.0))


def _missed(prompt: Prompt) -> dict[str, list[str]]:
    """List, by the pattern that was not found, the tasks that are shown."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for task, text in prompt.shown:
        for quoted in _MISSED.findall(text)[:1]:
            found[json.loads(quoted)].append(task)
    return found


def _facts(prompt: Prompt, missed: dict[str, list[str]]) -> Iterator[dict[str, object]]:
    """Yield an edit for each missed fact of which a line is left."""
    for topic in _TOPICS:
        line = _next(prompt, topic.lines) if topic.pattern in missed else ""
        if line:
            stale = next((old for old in prompt.open_lines if topic.stale and old.startswith(topic.stale)), "")
            where = {"op": "replace", "anchor": stale} if stale else {"op": "add", "section": "Facts"}
            yield where | {"content": line, "rationale": "Answers miss this fact.", "tasks": missed[topic.pattern]}


def _remark(prompt: Prompt, tasks: Sequence[str]) -> Iterator[dict[str, object]]:
    line = _next(prompt, _REMARKS) if tasks else ""
    if line:
        yield {"op": "add", "section": "Facts", "content": line, "rationale": "For all answers.", "tasks": tasks}


def _next(prompt: Prompt, lines: Sequence[str]) -> str:
    """Return the first line that is neither in the skill nor among what was tried; empty when none is left."""
    known = "\n".join((prompt.skill, *prompt.rejected))
    return next((line for line in lines if line not in prompt.skill and line.removeprefix("- ") not in known), "")
