"""Make edits in words of ranked symptoms, with the mistakes an optimizer model makes.

A seeded draw chooses between a good, an irrelevant and a harmful proposal. An edit says nothing that the skill already
says, and nothing that was rejected in the same words.
"""

import re
from collections.abc import Iterable, Sequence
from random import Random
from typing import Final

from benchmarks.demo.advice import ADVICE, IRRELEVANT, SUSPECTS, Advice
from benchmarks.demo.diagnosis import RankedSymptom
from benchmarks.demo.prompts import EditProposal, Prompt

GOOD: Final = 0.65
"""Share of proposals that help."""

IRRELEVANT_SHARE: Final = 0.2
"""Share of proposals that change nothing; the rest does harm."""

_SPARE_LINE = re.compile(
    r"double-check|check the result|stay focused|be careful|pay attention|professional", re.IGNORECASE
)
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_REWORDED: Final = "In every table: "


def advise(prompt: Prompt, findings: Sequence[RankedSymptom], draw: Random) -> list[EditProposal]:
    """Propose edits for findings, most widespread first, within the prompt's budget."""
    edits: list[EditProposal] = []
    for finding in findings:
        chance, choice = draw.random(), draw.random()
        edit = _blame(prompt, finding) if finding.symptom in SUSPECTS else _answer(prompt, finding, chance, choice)
        taken = {(other.anchor, "" if other.anchor else other.content) for other in edits}
        if edit is not None and (edit.anchor, "" if edit.anchor else edit.content) not in taken:
            edits.append(edit)
        if len(edits) == prompt.budget:
            break
    return edits


def spare_lines(prompt: Prompt) -> list[str]:
    """List lines of the skill that sound right and change nothing."""
    return [line for line in prompt.open_lines if _BULLET.match(line) and _SPARE_LINE.search(line)]


def _blame(prompt: Prompt, finding: RankedSymptom) -> EditProposal | None:
    """Propose to delete the line that causes a symptom, if the skill has one."""
    suspect = SUSPECTS[finding.symptom]
    line = next((line for line in prompt.open_lines if _BULLET.match(line) and suspect.search(line)), None)
    if line is None:
        return None
    return EditProposal("delete", anchor=line, rationale=_why(finding), tasks=finding.tasks)


def _answer(prompt: Prompt, finding: RankedSymptom, chance: float, choice: float) -> EditProposal | None:
    """Propose a rule about a symptom, unless the skill already has it."""
    advice = ADVICE[finding.symptom]
    if _matching(prompt.skill.splitlines(), advice.covered, finding) is not None:
        return None
    good, irrelevant = chance < GOOD, GOOD <= chance < GOOD + IRRELEVANT_SHARE
    rules = IRRELEVANT if irrelevant else [_fill(rule, finding) for rule in (advice.good if good else advice.bad)]
    rule = _fresh(prompt, rules, choice, reword=good)
    if not rule:
        return None
    content, why = f"- {rule}", _why(finding)
    stale = None if irrelevant else _replaced(prompt, advice)
    if stale is not None:
        return EditProposal("replace", anchor=stale, content=content, rationale=why, tasks=finding.tasks)
    section = _section(prompt, advice.section)
    return EditProposal("add", section=section, content=content, rationale=why, tasks=finding.tasks)


def _why(finding: RankedSymptom) -> str:
    count = len(finding.tasks)
    return f"{count} {'tasks show' if count > 1 else 'task shows'} {finding.symptom}."


def _fill(text: str, finding: RankedSymptom) -> str:
    for name, value in finding.details.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _matching(lines: Iterable[str], pattern: re.Pattern[str], finding: RankedSymptom) -> str | None:
    """Find a line that says something; details of the finding count as said literally."""
    if "{" not in pattern.pattern:
        return next((line for line in lines if pattern.search(line)), None)
    text = pattern.pattern
    for name, value in finding.details.items():
        text = text.replace(f"{{{name}}}", re.escape(value))
    filled = re.compile(text, pattern.flags)
    return next((line for line in lines if filled.search(line)), None)


def _replaced(prompt: Prompt, advice: Advice) -> str | None:
    """Find the last line of the skill that a rule about the same should take the place of."""
    if advice.replaces is None:
        return None
    return next(
        (line for line in reversed(prompt.open_lines) if _BULLET.match(line) and advice.replaces.search(line)), None
    )


def _fresh(prompt: Prompt, rules: Sequence[str], choice: float, *, reword: bool) -> str:
    """Choose a rule that the skill does not have and that was not rejected; empty when there is none."""
    known = "\n".join((prompt.skill, prompt.memory, *prompt.rejected)).replace("\\'", "'")
    start = int(choice * len(rules))
    turned = [*rules[start:], *rules[:start]]
    again = [f"{_REWORDED}{rule[0].lower()}{rule[1:]}" for rule in turned] if reword else []
    return next((rule for rule in (*turned, *again) if rule and f"- {rule}" not in known), "")


def _section(prompt: Prompt, wanted: str) -> str:
    """Choose where a rule goes: its section, else the last one, else the end of the body."""
    titles = {title.lower(): title for title in prompt.sections if prompt.sections.count(title) == 1}
    return titles.get(wanted.lower()) or next(reversed(titles.values()), "")
