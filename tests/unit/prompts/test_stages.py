"""Prompts and replies of the optimizer model's stages."""

from contextlib import suppress
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import ReplyError
from skillopt.prompts.failure_groups import group_failures
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.prompts.stages import (
    Aim,
    Told,
    ask_about_failures,
    ask_repair,
    read_meta_update,
    read_ranking,
    read_slow_update,
)
from skillopt.prompts.tried_edits import EditFate, TriedEdit
from skillopt.rollouts import Message, Rollout, Score, Status, Trajectory
from skillopt.skills.document import SkillDocument, estimate_tokens
from skillopt.skills.edits import Edit, Op
from skillopt.tasks import Task, VerifierSpec

DOCUMENT = SkillDocument("# Rules\n\n- One {{budget}}.\n")
EDITS = (Edit("s1e1", Op.ADD, content="- a"), Edit("s1e2", Op.ADD, content="- b"))


def test_a_prompt_with_24_failures_and_a_full_history_keeps_to_12000_tokens() -> None:
    tried = [TriedEdit(f"add '- {'rule ' * 30}{at}'", fate, "why " * 20) for at in range(8) for fate in EditFate]
    trajectory = Trajectory((Message("user", "do"), Message("assistant", "word " * 4_000)))
    failed = Rollout("t", "", 0, trajectory, Status.OK, Score(0.0, passed=False))
    failures = [
        (
            Task(f"t{at}", "do " * 400, VerifierSpec("exact")),
            replace(failed, score=Score(0.0, passed=False, feedback=f"{chr(97 + at)} is wrong")),
        )
        for at in range(24)
    ]
    aim = Aim(failures=True, budget=12)
    prompt = ask_about_failures(DOCUMENT, aim, Told("DIGEST", tried), group_failures(failures))
    assert estimate_tokens(prompt) <= 12_000
    assert all(f"### Task t{at}\n" in prompt for at in range(24))


@given(st.text())
def test_any_text_is_read_or_refused_and_never_breaks_the_reader(reply: str) -> None:
    for read in (read_reflection, read_slow_update, read_meta_update):
        with suppress(ReplyError):
            read(reply)


def test_a_ranking_puts_named_edits_first_and_keeps_the_others() -> None:
    assert [edit.id for edit in read_ranking('{"order": ["s1e2", "s1e2"]}', EDITS)] == ["s1e2", "s1e1"]


def test_a_repair_names_the_problem_and_repeats_the_prompt() -> None:
    prompt = ask_repair("THE PROMPT", "no", "expected a JSON object")
    assert "expected a JSON object" in prompt.splitlines()[0]  # whoever answers in files sees the first line in a list
    assert prompt.rstrip().endswith("THE PROMPT")
