"""Example page: the prompt of one reflection, as the optimizer model gets it."""

from pathlib import Path
from typing import Final

from skillopt.prompts.failure_groups import group_failures, render_failures
from skillopt.prompts.stages import Aim, Told, ask_reflection
from skillopt.prompts.tried_edits import EditFate, TriedEdit, render_effect, write_digest
from skillopt.rollouts import Message, Rollout, Score, Status, Trajectory
from skillopt.skills.document import SkillDocument
from skillopt.tasks import Task, VerifierSpec

_NOTE: Final = """\
> The prompt of one reflection, written by `python -m tools.generate_examples` with the code of a run. The failures
> are made up: four, of which three have the same feedback, and what became of three earlier edits."""

_SKILL: Final = """\
---
name: letters
description: Write short letters. Use when somebody asks for a letter.
---
# Letters

## Rules

- Be brief.

### Dates

- Write the month in words.
"""


def make_prompt(_: Path) -> dict[str, str]:
    """Return the page by its name; it needs no folder."""
    failed = [
        ("letter-03", "What shall I write to Mr. Holm?", "line 1: expected a greeting with the name", "Hi!"),
        ("letter-04", "Answer Ms. Costa.", "line 1: expected a greeting with the name", "Hello there."),
        ("letter-09", "Thank Dr. Weiss.", "line 2: expected a greeting with the name", "Thanks a lot."),
        ("letter-11", "Invite Ben on 3/5.", 'expected the date "5 March", found "March 5"', "Dear Ben,\nMarch 5?"),
    ]
    failures = [
        (Task(name, prompt, VerifierSpec("regex"), tags=("letter",)), _rollout(name, prompt, feedback, answer))
        for name, prompt, feedback, answer in failed
    ]
    passed = [(Task(f"letter-{number:02}", "", VerifierSpec("regex"), tags=("letter",)), True) for number in (1, 2)]
    evidence, _shown = render_failures(group_failures(failures))
    told = Told(
        write_digest([*passed, *((task, False) for task, _ in failures)]),
        _earlier(),
        "Keep it short.",
    )
    aim = Aim(failures=True, budget=12, tokens=1200)
    prompt = ask_reflection(SkillDocument(_SKILL), evidence, aim, told)
    return {"reflection-prompt.md": f"# What the optimizer model is asked\n\n{_NOTE}\n\n````text\n{prompt}````\n"}


def _rollout(task: str, prompt: str, feedback: str, answer: str, score: float = 0.0) -> Rollout:
    trajectory = Trajectory((Message("user", prompt), Message("assistant", answer)), answer)
    return Rollout(task, "", 0, trajectory, Status.OK, Score(score, passed=False, feedback=feedback))


def _earlier() -> tuple[TriedEdit, ...]:
    without = _rollout("letter-03", "", "expected a greeting with the name", "Hi!")
    with_it = _rollout("letter-03", "", "expected a greeting with the name", "Dear customer,", 0.5)
    return (
        TriedEdit(
            "add after 'section Rules': '- Greet people.'",
            EditFate.TRIED,
            "1 better, 0 worse of 4: not certain",
            render_effect(without, with_it),
        ),
        TriedEdit(
            "replace '- Be curt.' by '- Be brief.'",
            EditFate.REFUSED,
            "expected '- Be curt.' exactly once, found it nowhere",
        ),
        TriedEdit("add after 'the end': '- Sign every letter.'", EditFate.UNTRIED, "over the edit budget of its step"),
    )
