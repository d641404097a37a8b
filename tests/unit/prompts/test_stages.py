"""Prompts and replies of the optimizer model's stages."""

from contextlib import suppress

from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import ReplyError
from skillopt.prompts.proposed_edits import read_reflection
from skillopt.prompts.stages import (
    Aim,
    Told,
    ask_merge,
    ask_ranking,
    ask_reflection,
    ask_repair,
    read_meta_update,
    read_ranking,
    read_slow_update,
)
from skillopt.prompts.tried_edits import EditFate, TriedEdit
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op

DOCUMENT = SkillDocument("# Rules\n\n- One {{budget}}.\n")
EDITS = (Edit("s1e1", Op.ADD, content="- a"), Edit("s1e2", Op.ADD, content="- b"))


def test_a_reflection_prompt_holds_skill_evidence_budget_digest_and_what_became_of_earlier_edits() -> None:
    told = Told("DIGEST", (TriedEdit("add x", EditFate.TRIED, "1 better, 2 worse of 3"),), "notes")
    prompt = ask_reflection(DOCUMENT, "EVIDENCE", Aim(failures=True, budget=3, tokens=900), told)
    assert prompt.startswith("Task: reflect on failures\n")
    for part in (
        "at most 3 edits",
        "900 tokens of changed text",
        "- One {{budget}}.",
        "- add x: 1 better, 2 worse of 3",
        "notes",
    ):
        assert part in prompt
    assert prompt.index("DIGEST") < prompt.index("EVIDENCE")


@given(st.text())
def test_any_text_is_read_or_refused_and_never_breaks_the_reader(reply: str) -> None:
    for read in (
        read_reflection,
        read_slow_update,
        read_meta_update,
    ):
        with suppress(ReplyError):
            read(reply)


def test_a_ranking_puts_named_edits_first_and_keeps_the_others() -> None:
    assert [edit.id for edit in read_ranking('{"order": ["s1e2", "s1e2"]}', EDITS)] == ["s1e2", "s1e1"]


def test_merge_and_ranking_show_every_edit() -> None:
    proposals = [
        read_reflection('{"edits": [{"op": "add", "content": "- left"}]}').edits,
        read_reflection('{"edits": [{"op": "delete", "anchor": "- right"}]}').edits,
    ]
    prompt = ask_merge(DOCUMENT, proposals, memory="")
    assert "- left" in prompt
    assert "- right" in prompt
    assert "[s1e2] add after 'the end': '- b'" in ask_ranking(DOCUMENT, EDITS, budget=1, memory="")


def test_a_repair_names_the_problem_and_repeats_the_prompt() -> None:
    prompt = ask_repair("THE PROMPT", "no", "expected a JSON object")
    assert prompt.startswith("Task: repair a reply\n")
    assert "expected a JSON object" in prompt
    assert prompt.rstrip().endswith("THE PROMPT")
