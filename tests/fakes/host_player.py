"""A model that plays the agent of a session: it trains a skill with the tools of the MCP server.

Not a language model. It knows one way through the tools, but nothing of what they will say: skill, suite, job ids,
base, tasks, the reason of a refusal, verdict and numbers are read from their answers, and where an answer is not
what it needs, it stops and says so.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

GOOD_RULE = "- Write e-mail addresses in lower case."
BAD_RULE = "- Write every text value in capitals."

_MINUTES = 15
_WAIT = 50
"""Seconds that it lets the server wait for a job, the most that the tools take."""

_JOB = re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{4}\b")
_HEAD = re.compile(r"^# Job (?P<id>\S+): (?P<state>\w+)\n\n(?P<work>\w+) ", re.MULTILINE)
_SKILL = re.compile(
    r"^\| (?P<name>[\w-]+) \| (?P<versions>\d+|not trained) \| .* \| (?P<suite>\S*) \| \S* \|$", re.MULTILINE
)
_VERSION = re.compile(
    r"^\| (?P<sha>[0-9a-f]{7,}) \| \S+ \| [^|]*\| (?P<score>[^|]*→[^|]*) \| (?P<wins>[^|]+) \| (?P<sure>[^|]+) \|",
    re.MULTILINE,
)
_BASE = re.compile(r"base `(?P<base>[0-9a-f]{12})`")
_SECTIONS = re.compile(r"Sections: (?:`[^`]*`, )*`(?P<last>[^`]*)`\.")
_CELL = re.compile(r'column "(?P<column>\w+)": expected "(?P<wanted>[^"]*)", found "(?P<found>[^"]*)"')
_ROW = re.compile(r"^\d+ \| (?P<tasks>[^|]+) \| (?P<feedback>.*)$", re.MULTILINE)
_TASK = re.compile(r"(\S+) \d+/\d+")
_REFUSED = re.compile(
    r"^## Edit (?P<number>\d+): (?:(?!\n## ).)*?the nearest text is '(?P<nearest>[^']*)'", re.MULTILINE | re.DOTALL
)
_DROPPED = re.compile(r"^edit (?P<number>\d+) dropped: (?P<reason>[^:]*: [^:;]*)", re.MULTILINE)
_GATE = re.compile(r"^gate: (?P<verdict>\w+), (?P<numbers>.*)$", re.MULTILINE)
_COMMITTED = re.compile(r"^committed (?P<sha>\w+) on branch (?P<branch>\S+)$", re.MULTILINE)
_COST = re.compile(r"^spent by the target: (?P<cost>.*)$", re.MULTILINE)
_ADDED = re.compile(r"^\+(?!\+\+)(?P<line>.*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Step:
    """What the model says, the tool it calls, by the server's name, and what that answered."""

    words: str
    tool: str = ""
    arguments: Mapping[str, Any] | None = None
    answer: str = ""


def next_step(asked: str, steps: tuple[Step, ...]) -> Step:
    """Decide what to do next."""
    if not steps:
        if "Read the skill `optimize-skill`" in asked:
            return Step("I read the skill that says how to do this.", "Skill", {"skill": "skillopt:optimize-skill"})
        return Step("I look which skills there are.", "list_skills", {})
    return _AFTER[steps[-1].tool](steps)


def _after_skill(_: tuple[Step, ...]) -> Step:
    return Step("I look which skills there are.", "list_skills", {})


def _after_list(steps: tuple[Step, ...]) -> Step:
    if (steps[-1].arguments or {}).get("name"):
        return _last_words(steps)
    found = [skill for skill in _SKILL.finditer(steps[-1].answer) if skill["suite"]]
    if len(found) != 1:
        return _stop("exactly one skill with a suite", steps[-1])
    name, suite = found[0]["name"], found[0]["suite"]
    words = f"`{name}` (versions: {found[0]['versions']}) has the suite {suite}. I measure it on the train tasks first."
    return Step(words, "start_job", _job(name, work="evaluate", split="train"))


def _after_start(steps: tuple[Step, ...]) -> Step:
    if _HEAD.search(steps[-1].answer):
        return _after_status(steps)
    begun = _JOB.search(steps[-1].answer)
    return _look(begun[0]) if begun else _stop("a job", steps[-1])


def _look(job: str) -> Step:
    return Step("I wait for it.", "job_status", {"job_id": job, "wait_seconds": _WAIT})


def _after_status(steps: tuple[Step, ...]) -> Step:
    told = _HEAD.search(steps[-1].answer)
    if told and told["state"] == "running":
        return _look(told["id"])
    if told is None or told["state"] != "done":
        return _stop("a job that is done", steps[-1])
    name = _skill(steps)
    if told["work"] == "evaluate":
        return Step("It is measured; I read what failed.", "get_evidence", {"name": name})
    committed = _COMMITTED.search(steps[-1].answer)
    if committed is None:
        return _stop("an accepted version", steps[-1])
    words = f"The gate accepted it, as {committed['sha']}. I look at what changed."
    return Step(words, "read_skill", {"name": name, "since": "start"})


def _after_evidence(steps: tuple[Step, ...]) -> Step:
    """Find the cause that many failures share; the other edit shows what becomes of a careless one."""
    answer = steps[-1].answer
    base, section = _BASE.search(answer), _SECTIONS.search(answer)
    rows = [(_TASK.findall(row["tasks"]), _CELL.search(row["feedback"])) for row in _ROW.finditer(answer)]
    shown = [task for tasks, _ in rows for task in tasks]
    cells = {task: cell for tasks, cell in rows if cell for task in tasks}
    capitals = [task for task, cell in cells.items() if cell["found"].lower() == cell["wanted"] != cell["found"]]
    others = [task for task in cells if task not in capitals]
    if base is None or section is None or {cells[task]["column"] for task in capitals} != {"email"}:
        return _stop("e-mail addresses in capitals", steps[-1])
    good = {
        "op": "add",
        "section": section["last"],
        "content": GOOD_RULE,
        "rationale": "The addresses were left in capitals, and the feedback expects them in lower case.",
        "tasks": capitals,
    }
    careless = {
        "op": "replace",
        "anchor": "- Trim every cell.",
        "content": BAD_RULE,
        "rationale": "One look for all values.",
        "tasks": others,
    }
    words = (
        f"{len(capitals)} of {len(shown)} tasks fail because addresses stay in capitals ({', '.join(capitals)}): a "
        "rule is missing. I add it, and try one for the looks of the other values, too."
    )
    return Step(words, "propose_edits", _job(_skill(steps), base=base["base"], edits=[good, careless]))


def _after_proposal(steps: tuple[Step, ...]) -> Step:
    refused = {int(one["number"]): one["nearest"] for one in _REFUSED.finditer(steps[-1].answer)}
    if not refused:
        return _after_start(steps)
    given: dict[str, Any] = json.loads(json.dumps(steps[-1].arguments))
    for number, nearest in refused.items():
        given["edits"][number - 1]["anchor"] = nearest
    numbers = " and ".join(map(str, refused))
    return Step(
        f"Edit {numbers} was refused, for its anchor is not in the skill. I copy the text that the refusal names.",
        "propose_edits",
        given,
    )


def _after_read(steps: tuple[Step, ...]) -> Step:
    return Step("Now the numbers.", "list_skills", {"name": _skill(steps)})


def _last_words(steps: tuple[Step, ...]) -> Step:
    """Report, with nothing but what the tools said."""
    version = _VERSION.search(steps[-1].answer)
    changed = next(step.answer for step in reversed(steps) if step.tool == "read_skill")
    job = next(step.answer for step in reversed(steps) if _GATE.search(step.answer))
    gate, cost = _GATE.search(job), _COST.search(job)
    if version is None or gate is None or cost is None:
        return _stop("a version with its numbers", replace(steps[-1], answer=job + steps[-1].answer))
    lines = [
        f"`{_skill(steps)}` has a new version, {version['sha']}, on a branch of its own; your files are as they were.",
        *(f"Added: {added['line']}" for added in _ADDED.finditer(changed)),
        f"On val: {version['score']}, wins/ties/losses {version['wins']}, confidence {version['sure']}.",
        f"The gate said {gate['verdict']}: {gate['numbers']}.",
        *(f"Dropped: edit {one['number']}, {one['reason']}." for one in _DROPPED.finditer(job)),
        f"Spent on the proposal: {cost['cost']}. The held-out test was not run.",
    ]
    return Step("\n".join(lines))


def _skill(steps: tuple[Step, ...]) -> str:
    return next(str((step.arguments or {})["name"]) for step in steps if step.tool == "start_job")


def _job(name: str, **arguments: object) -> Mapping[str, Any]:
    return {"name": name, **arguments, "max_minutes": _MINUTES, "wait_seconds": _WAIT}


def _stop(expected: str, step: Step) -> Step:
    return Step(f"I stop: expected {expected}, but {step.tool} said: {step.answer}")


_AFTER: Mapping[str, Callable[[tuple[Step, ...]], Step]] = {
    "Skill": _after_skill,
    "list_skills": _after_list,
    "start_job": _after_start,
    "job_status": _after_status,
    "get_evidence": _after_evidence,
    "propose_edits": _after_proposal,
    "read_skill": _after_read,
}
