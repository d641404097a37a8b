"""Prompts and replies of the optimizer model's stages."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import ReplyError
from skillopt.prompts.failure_kinds import NamedFailure, TaskFailureKind
from skillopt.prompts.stages import (
    EDITS_SCHEMA,
    REFLECTION_SCHEMA,
    Aim,
    ask_merge,
    ask_ranking,
    ask_reflection,
    ask_repair,
    ask_slow_update,
    read_edits,
    read_meta_update,
    read_ranking,
    read_reflection,
    read_slow_update,
)
from skillopt.skills.document import SkillDocument
from skillopt.skills.edits import Edit, Op

DOCUMENT = SkillDocument("# Rules\n\n- One {{budget}}.\n")
EDITS = (Edit("s1e1", Op.ADD, content="- a"), Edit("s1e2", Op.ADD, content="- b"))


def test_a_reflection_prompt_holds_skill_evidence_budget_and_what_was_rejected() -> None:
    prompt = ask_reflection(
        DOCUMENT, "EVIDENCE", Aim(failures=True, budget=3), rejected=["add x: worse"], memory="notes"
    )
    assert prompt.startswith("Task: reflect on failures\n")
    for part in ("at most 3 edits", "- One {{budget}}.", "EVIDENCE", "- add x: worse", "notes"):
        assert part in prompt


def test_text_of_the_skill_is_never_taken_for_a_placeholder_of_the_prompt() -> None:
    assert "- One {{budget}}." in ask_slow_update(DOCUMENT, "")


def test_edits_are_read_with_or_without_a_code_fence_and_words_around() -> None:
    reply = json.dumps({"edits": [{"op": "add", "content": "- x", "tasks": ["t1"]}]})
    plain = read_edits(reply)
    assert plain == read_edits(f"Sure, here it is:\n```json\n{reply}\n```\nDone.")
    assert plain[0].named("e").tasks == ("t1",)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("", "expected a JSON object"),
        ("{not json}", "Invalid JSON"),
        ('{"edits": "many"}', "edits"),
        ('{"edits": [{"op": "rename"}]}', "edits.0.op"),
        ('{"edits": [{"op": "delete"}]}', "needs an anchor"),
        ('{"edits": [{"op": "add", "content": "  "}]}', "needs content"),
        ('{"edits": [{"op": "add", "content": "\\ud800"}]}', "Invalid JSON"),
    ],
)
def test_a_reply_that_is_not_what_was_asked_for_is_an_error_that_says_what_is_wrong(reply: str, problem: str) -> None:
    with pytest.raises(ReplyError, match=problem):
        read_edits(reply)


@given(st.text())
def test_any_text_is_read_or_refused_and_never_breaks_the_reader(reply: str) -> None:
    for read in (
        read_edits,
        read_reflection,
        read_slow_update,
        read_meta_update,
    ):
        with suppress(ReplyError):
            read(reply)


def test_a_ranking_puts_named_edits_first_and_keeps_the_others() -> None:
    assert [edit.id for edit in read_ranking('{"order": ["s1e2", "s1e2"]}', EDITS)] == ["s1e2", "s1e1"]


def test_a_ranking_of_edits_that_were_not_there_is_refused() -> None:
    with pytest.raises(ReplyError, match="s9e9"):
        read_ranking('{"order": ["s9e9"]}', EDITS)


def test_merge_and_ranking_show_every_edit() -> None:
    proposals = [
        read_edits('{"edits": [{"op": "add", "content": "- left"}]}'),
        read_edits('{"edits": [{"op": "delete", "anchor": "- right"}]}'),
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


def test_a_reflection_names_kinds_only_when_it_is_asked_to() -> None:
    plain, kinds = (
        ask_reflection(DOCUMENT, "", Aim(failures=True, budget=3, kinds=asked), rejected=(), memory="")
        for asked in (False, True)
    )
    assert "verifier-suspect" not in plain
    assert '"edits": [ … ]}' in plain
    assert "- verifier-suspect: the result is right" in kinds
    assert '"edits": [ … ], "failures": [ … ]}' in kinds


def test_a_focus_is_said_in_a_paragraph_of_its_own() -> None:
    for failures in (True, False):
        aim = Aim(failures=failures, budget=3, focus="Look for lies.")
        assert "\n\nLook for lies.\n\n" in ask_reflection(DOCUMENT, "", aim, rejected=(), memory="")


def test_kinds_are_read_where_a_reply_names_them_and_an_older_reply_is_still_read() -> None:
    edits = [{"op": "add", "content": "- a", "kind": "Format"}, {"op": "add", "content": "- b", "kind": "magic"}]
    failures = [{"task": "t1", "kind": "verifier_suspect", "reason": " odd "}, {"task": "t2", "kind": "magic"}]
    found = read_reflection(json.dumps({"edits": edits, "failures": failures}))
    assert found.kinds == (TaskFailureKind.FORMAT, None)
    assert found.failures == (NamedFailure("t1", TaskFailureKind.VERIFIER_SUSPECT, "odd"),)
    older = read_reflection(json.dumps({"edits": [{"op": "add", "content": "- a"}]}))
    assert (older.edits, older.kinds, older.failures) == (found.edits[:1], (None,), ())


def test_the_schema_of_a_reflection_with_kinds_lists_them_and_the_plain_one_does_not_ask_for_them() -> None:
    assert '"enum": ["memory", "planning", "action", "tool", "format", "verifier-suspect"]' in REFLECTION_SCHEMA
    assert "kind" not in EDITS_SCHEMA
