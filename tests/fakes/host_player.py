"""A model that plays the agent of a session: it trains a skill with the tools of the MCP server.

Not a language model. It knows one way through the tools, but nothing of what they will say: skill, suite, job ids,
base, tasks, the reason of a refusal, verdict and numbers are read from their answers, and where an answer is not
what it needs, it stops and says so.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

GOOD_RULE = "- Write e-mail addresses in lower case."
BAD_RULE = "- Write every text value in capitals."

_WAIT = 50
"""Seconds that it lets the server wait for a job, the most that the tools take."""

_JOB = re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b")
_HEAD = re.compile(r"^# Job (?P<id>\S+): (?P<state>\w+)\n\n(?P<work>\w+) ", re.MULTILINE)
_SKILL = re.compile(
    r"^\| (?P<name>[\w-]+) \| (?P<versions>\d+|not trained) \| .* \| (?P<suite>\S+) \| \S* \|$", re.MULTILINE
)
_VERSION = re.compile(
    r"^\| (?P<sha>[0-9a-f]{7,}) \| \S+ \| [^|]*\| (?P<score>[^|]*→[^|]*) \| (?P<wins>[^|]+) \| (?P<sure>[^|]+) \|",
    re.MULTILINE,
)
_BASE = re.compile(r"base `(?P<base>[0-9a-f]{12})`[\s\S]*Sections: (?:`[^`]*`, )*`(?P<section>[^`]*)`\.")
_ROW = re.compile(
    r'^\d+ \| (?P<tasks>[^|]+) \| (?:.*expected "(?P<wanted>[^"]*)", found "(?P<found>[^"]*)")?', re.MULTILINE
)
_REFUSED = re.compile(
    r"^## Edit (?P<number>\d+): (?:(?!\n## ).)*?the nearest text is '(?P<nearest>[^']*)'", re.MULTILINE | re.DOTALL
)
_DROPPED = re.compile(r"^edit (?P<number>\d+) dropped: (?P<reason>[^:]*: [^:;]*)", re.MULTILINE)
_GATE = re.compile(r"^gate: (?P<verdict>\w+), (?P<numbers>.*)$[\s\S]*^spent by the target: (?P<cost>.*)$", re.MULTILINE)
_COMMITTED = re.compile(r"^committed (?P<sha>\w+) on branch (?P<branch>\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Step:
    """What the model says, the tool it calls, by the server's name, and what that answered."""

    words: str
    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    answer: str = ""


class _UnexpectedError(Exception):
    """An answer is not what is needed."""


def next_step(asked: str, steps: tuple[Step, ...]) -> Step:
    """Decide what to do next."""
    try:
        return _next(asked, steps)
    except _UnexpectedError as error:
        return Step(f"I stop: expected {error}, but {steps[-1].tool} said: {steps[-1].answer}")


def _next(asked: str, steps: tuple[Step, ...]) -> Step:
    if not steps and "Read the skill `optimize-skill`" in asked:
        return Step("I read the skill that says how to do this.", "Skill", {"skill": "skillopt:optimize-skill"})
    match steps[-1] if steps else Step("", "Skill"):
        case Step(tool="Skill"):
            then = Step("I look which skills there are.", "list_skills", {})
        case Step(tool="list_skills", arguments={"name": str()}):
            then = _last_words(steps)
        case Step(tool="list_skills", answer=answer):
            found = _find(_SKILL, answer, "a skill with a suite")
            words = (
                f"`{found['name']}` (versions: {found['versions']}) has the suite {found['suite']}. I measure it on "
            )
            given = _job(found["name"], work="evaluate", split="train")
            then = Step(f"{words}the train tasks first.", "start_job", given)
        case Step(tool="get_evidence", answer=answer):
            then = _propose(_skill(steps), answer)
        case Step(tool="read_skill"):
            then = Step("Now the numbers.", "list_skills", {"name": _skill(steps)})
        case Step(tool="propose_edits", answer=answer) as step if _REFUSED.search(answer):
            then = _mend(step)
        case step:
            then = _after_job(_skill(steps), step.answer)
    return then


def _find(pattern: re.Pattern[str], text: str, expected: str) -> re.Match[str]:
    found = pattern.search(text)
    if found is None:
        raise _UnexpectedError(expected)
    return found


def _after_job(name: str, answer: str) -> Step:
    told = _HEAD.search(answer)
    if told is None or told["state"] == "running":
        job = _find(_JOB, answer, "a job")[0]
        return Step("I wait for it.", "job_status", {"job_id": job, "wait_seconds": _WAIT})
    if told["state"] != "done":
        raise _UnexpectedError("a job that is done")
    if told["work"] == "evaluate":
        return Step("It is measured; I read what failed.", "get_evidence", {"name": name})
    committed = _find(_COMMITTED, answer, "an accepted version")
    words = f"The gate accepted it, as {committed['sha']}. I look at what changed."
    return Step(words, "read_skill", {"name": name, "since": "start"})


def _propose(name: str, answer: str) -> Step:
    """Find the cause that many failures share; the other edit shows what becomes of a careless one."""
    base = _find(_BASE, answer, "a base")
    rows = [(re.findall(r"(\S+) \d+/\d+", row["tasks"]), row) for row in _ROW.finditer(answer)]
    shown = [task for tasks, _ in rows for task in tasks]
    cells = {task: row for tasks, row in rows if row["wanted"] for task in tasks}
    capitals = [task for task, row in cells.items() if row["found"].lower() == row["wanted"] != row["found"]]
    if not capitals:
        raise _UnexpectedError("e-mail addresses in capitals")
    good = {
        "op": "add",
        "section": base["section"],
        "content": GOOD_RULE,
        "rationale": "The addresses were left in capitals, and the feedback expects them in lower case.",
        "tasks": capitals,
    }
    careless = {
        "op": "replace",
        "anchor": "- Trim every cell.",
        "content": BAD_RULE,
        "rationale": "One look for all values.",
        "tasks": [task for task in cells if task not in capitals],
    }
    words = (
        f"{len(capitals)} of {len(shown)} tasks fail because addresses stay in capitals ({', '.join(capitals)}): a "
        "rule is missing. I add it, and try one for the looks of the other values, too."
    )
    return Step(words, "propose_edits", _job(name, base=base["base"], edits=[good, careless]))


def _mend(step: Step) -> Step:
    """Copy the texts that a refusal names as the nearest ones."""
    given: dict[str, Any] = json.loads(json.dumps(step.arguments))
    refused = {int(one["number"]): one["nearest"] for one in _REFUSED.finditer(step.answer)}
    for number, nearest in refused.items():
        given["edits"][number - 1]["anchor"] = nearest
    numbers = " and ".join(map(str, refused))
    words = f"Edit {numbers} was refused, for its anchor is not in the skill. I copy the text that the refusal names."
    return Step(words, "propose_edits", given)


def _last_words(steps: tuple[Step, ...]) -> Step:
    """Report, with nothing but what the tools said."""
    version = _find(_VERSION, steps[-1].answer, "a version with its numbers")
    changed = next(step.answer for step in reversed(steps) if step.tool == "read_skill")
    job = next(step.answer for step in reversed(steps) if _GATE.search(step.answer))
    gate = _find(_GATE, job, "a verdict")
    lines = [
        f"`{_skill(steps)}` has a new version, {version['sha']}, on a branch of its own; your files are as they were.",
        *(f"Added: {line}" for line in re.findall(r"^\+(?!\+\+)(.*)$", changed, re.MULTILINE)),
        f"On val: {version['score']}, wins/ties/losses {version['wins']}, confidence {version['sure']}.",
        f"The gate said {gate['verdict']}: {gate['numbers']}.",
        *(f"Dropped: edit {one['number']}, {one['reason']}." for one in _DROPPED.finditer(job)),
        f"Spent on the proposal: {gate['cost']}. The held-out test was not run.",
    ]
    return Step("\n".join(lines))


def _skill(steps: tuple[Step, ...]) -> str:
    return next(str((step.arguments or {})["name"]) for step in steps if step.tool == "start_job")


def _job(name: str, **arguments: object) -> Mapping[str, Any]:
    return {"name": name, **arguments, "max_minutes": 15, "wait_seconds": _WAIT}
