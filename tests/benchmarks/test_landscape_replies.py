"""The simulated optimizer model answers every stage, errs as the world says, and knows only what it is shown."""

from dataclasses import replace

import pytest

from benchmarks.landscapes.lines import START, idle_line, rule_line
from benchmarks.landscapes.replies import SimulatedModel
from benchmarks.landscapes.truth import document_of
from benchmarks.landscapes.worlds import WORLDS, Habits, World
from skillopt.prompts.evidence import fence
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.prompts.stages import Aim, Told, ask_reflection
from skillopt.prompts.tried_edits import EditFate, TriedEdit
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import apply_edits

PLAIN = WORLDS["distractors"]
TASKS = tuple((f"train-{rule:03d}", f"found symptom S{rule:02d}") for rule in range(8))


def world(**habits: float) -> World:
    return replace(PLAIN, habits=replace(Habits(wrong=0.0), **habits))  # type: ignore[arg-type]  # they fit the fields


def reflection(document: SkillDocument = START.document, *, failures: bool = True, budget: int = 4) -> str:
    evidence = "\n\n".join(f"### Task {task}\nscore: 0.000\nfeedback:\n{text}\nprompt:\nDo." for task, text in TASKS)
    aim = Aim(failures=failures, budget=budget)
    return ask_reflection(
        document, fence("evidence", evidence), aim, Told(tried=(TriedEdit("- tried", EditFate.TRIED, "worse"),))
    )


@pytest.mark.parametrize("name", sorted(WORLDS))
def test_a_reflection_gives_edits_within_its_budget_that_apply_and_cite_what_was_shown(name: str) -> None:
    document = SkillDocument(document_of((rule_line(0), idle_line(1))))
    for seed in range(20):
        reply = SimulatedModel(WORLDS[name], seed).reply(reflection(document, budget=3)).text
        edits = [found.named(str(number)) for number, found in enumerate(read_reflection(reply).edits)]
        assert len(edits) <= 3
        assert all(set(found.tasks) <= {task for task, _ in TASKS} and found.tasks for found in edits)
        for found in edits:
            assert apply_edits(document, [found]).document != document
