"""The demo model finds causes in feedback, and answers every stage with what it asks for."""

import json

import pytest

from benchmarks.demo.advice import ADVICE, IRRELEVANT, Symptom
from benchmarks.demo.model import DemoModel
from skillopt.prompts.evidence import fence
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.prompts.stages import Aim, Told, ask_reflection
from skillopt.prompts.tried_edits import EditFate, TriedEdit
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Op

SKILL = """---
name: tidy
description: Tidies tables.
---

# Tidy

## Values

- Trim spaces around values.
- Write dates as YYYY-MM-DD.

## Rows

- Remove empty rows.
- Double-check the output.
"""


def cell(column: str, expected: str, found: str, row: int = 3) -> str:
    return f'output.csv row {row} column "{column}": expected {json.dumps(expected)}, found {json.dumps(found)}'


def evidence(feedback: dict[str, str]) -> str:
    blocks = (
        f"### Task {task}\nstatus: ok\nscore: 0.5\nfeedback:\n{text}\nprompt:\nClean it."
        for task, text in feedback.items()
    )
    return fence("evidence", "\n\n".join(blocks))


def reflection(feedback: dict[str, str], skill: str = SKILL, rejected: tuple[str, ...] = (), budget: int = 4) -> str:
    tried = tuple(TriedEdit(line, EditFate.TRIED, "it did worse") for line in rejected)
    return ask_reflection(
        SkillDocument(skill), evidence(feedback), Aim(failures=True, budget=budget), Told(tried=tried)
    )


def test_a_line_that_does_harm_is_deleted() -> None:
    skill = SKILL + "- Write all text in upper case.\n"
    prompt = reflection({"t-1": cell("name", "Anna Berg", "ANNA BERG")}, skill)
    (edit,) = read_reflection(DemoModel().reply(prompt).text).edits
    assert edit.op == Op.DELETE
    assert "- Write all text" in edit.anchor


def test_what_was_rejected_is_not_proposed_again_in_the_same_words() -> None:
    rejected = tuple(f"add after section Values: '- {rule}'" for rule in (*ADVICE[Symptom.BOOLEANS].good, *IRRELEVANT))
    prompt = reflection({"t-1": cell("paid", "true", "Y")}, rejected=rejected)
    edits = [edit for seed in range(40) for edit in read_reflection(DemoModel(seed).reply(prompt).text).edits]
    assert edits
    assert all(f"'{edit.content}'" not in line for edit in edits for line in rejected)


@pytest.mark.parametrize("prompt", ["", "Task: dance", "Task: reflect on failures", "Task: rank edits\n\nnothing"])
def test_any_prompt_gets_an_answer(prompt: str) -> None:
    assert isinstance(json.loads(DemoModel().reply(prompt).text), dict)
