"""A model that follows the skill it has read; what it does changes when the skill does.

Not a language model: it understands table rules (the reading of `skillopt.targets.drivers`) and the
optimizer's prompts (the demo model). The fake providers put it behind their wire formats.
"""

import json
import re
import shlex
from dataclasses import dataclass

from benchmarks.demo.model import DemoModel
from benchmarks.demo.prompts import read_prompt
from benchmarks.demo.rule_reading import read_rules
from benchmarks.demo.table_operations import apply_operations, settle
from benchmarks.demo.tables import DemoTable

READ_INPUT = "cat input.csv"
_INPUT = re.compile(r'<file path="(?:\d+/)?input\.csv">\n(?P<table>.*?)^</file>', re.DOTALL | re.MULTILINE)
_ADVICE = 'output.csv row 1 column "email": expected "ann@example.com", found "ANN@example.com"'


@dataclass(frozen=True, slots=True)
class Turn:
    """What the model says, and the shell command it wants run, if any."""

    text: str
    command: str = ""


def next_turn(skill: str, commands: tuple[str, ...], table: str) -> Turn:
    """Decide the next step of a table task."""
    if READ_INPUT not in commands:
        return Turn("I read the table first.", READ_INPUT)
    if not any(command.startswith("printf") for command in commands):
        return Turn("I write the cleaned table.", write_output(clean(skill, table)))
    return Turn("Wrote output.csv.")


def clean(skill: str, table: str) -> str:
    """Apply every rule of a skill that is recognised to a table."""
    rules = [(operation, rule.clear) for rule in read_rules(skill) for operation in (rule.readings or ((),))[0]]
    return apply_operations(DemoTable.parse(table), settle(rules)).render()


def write_output(content: str) -> str:
    """Return the shell command that writes the output."""
    return f"printf %s {shlex.quote(content)} > output.csv"


def optimize(texts: tuple[str, ...]) -> str | None:
    """Answer an optimizer's, a judge's or a chat's prompt when the texts hold one; the first is the system prompt."""
    for at, text in enumerate(texts):
        if text.startswith("Task: judge a result"):
            return _judge(text)
        if read_prompt(text).task:
            rest = texts[at + 1] if texts[at + 1 : at + 2] and texts[at + 1].startswith("<<<evidence") else ""
            return DemoModel(seed=1).reply(text + rest).text
    found = _INPUT.search("\n".join(texts[1:]))
    if found is None or "You do one task, without tools" not in texts[0]:
        return None
    skill = texts[0].partition("Follow this skill.")[2]
    return f'Wrote output.csv.\n<file path="output.csv">\n{clean(skill, found["table"])}</file>\n'


def _judge(prompt: str) -> str:
    """Find a criterion met when the result holds what it names in quotes."""
    result, listed = (
        prompt.partition(f"\n<<<{name} ")[2].partition(f"\n{name} ")[0] for name in ("result", "criteria")
    )
    criteria = re.findall(r"^\| \d+\. (.*)$", listed, re.MULTILINE)
    met = [all(quoted in result for quoted in re.findall(r'"([^"]+)"', text)) for text in criteria]
    verdicts = [
        {"criterion": at, "evidence": "as it stands", "verdict": "met" if ok else "not met"}
        for at, ok in enumerate(met, 1)
    ]
    key = prompt.partition('{"key": "')[2].partition('"')[0]
    return json.dumps({"key": key, "verdicts": verdicts, "advice": "" if all(met) else _ADVICE})
