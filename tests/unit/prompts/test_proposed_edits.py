"""Replies are read leniently, and each edit on its own."""

import json

import pytest

from skillopt.errors import ReplyError
from skillopt.prompts.proposed_edits import DOUBLED, ProposedEdit, read_reflection
from skillopt.skills.edits import Edit, Op

GOOD = {"op": "add", "content": "- x", "tasks": ["t1"]}
PLAIN = json.dumps({"diagnosis": "…", "edits": [GOOD]})
EDIT = ProposedEdit(op=Op.ADD, content="- x", tasks=("t1",))


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        f"```json\n{PLAIN}\n```",
        f"Sure {{as you asked}}, here it is:\n{PLAIN}\nI used {{braces}} and {{}} too.",
        f'<think>Maybe {{"edits": [{{"op": "delete", "anchor": "x"}}]}}? No.</think>{PLAIN}',
        f'First I had {{"edits": []}}, but better:\n{PLAIN}',
        '{"edits": [{"op": "add", "content": "- x", "tasks": ["t1"],},],}',
        '{"edits": [{"op": "ADD", "content": "- x", "anchor": null, "tasks": "t1"}], "failures": null}',
        '{"edits": {"op": "insert", "content": ["- x"], "tasks": ["t1"]}}',
        '[{"op": "add", "content": "- x", "tasks": ["t1"]}]',
        '{"edits": [{"op": "add", "content": "- x", "tasks": ["t1"]}, {"op": "add", "conte',
    ],
    ids=[
        *("plain", "fenced", "prose with braces", "thinking", "second thought", "trailing commas", "nulls"),
        *("one edit", "a bare list", "cut off"),
    ],
)
def test_the_edits_of_a_usual_reply_are_read_whatever_stands_around_them(reply: str) -> None:
    assert read_reflection(reply).edits == (EDIT,)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        *(({"op": "rename"}, "op: "), ({"op": "delete"}, "needs an anchor")),
        ({"op": "add", "content": "  "}, "needs content"),
        ({"op": "rewrite", "section": "Rules"}, "needs content"),
        *(({"op": "add", "content": "x" * 300_000}, "at most 200000"), ("- x", "expected an object")),
    ],
)
def test_one_bad_edit_is_named_and_loses_none_of_the_others(bad: object, problem: str) -> None:
    found = read_reflection(json.dumps({"edits": [bad, GOOD]}))
    assert found.edits == (EDIT,)
    ((text, reason),) = found.unread
    assert problem in reason
    assert len(text) < 400


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        *(("", "expected a JSON object"), ("{not json}", "invalid JSON")),
        ('{"diagnosis": "all is well"}', "the key 'edits', found one with"),
        *(('{"edits": "many"}', "none that can be read"), ('{"edits": [{"op": "rename"}]}', "op: ")),
        ('{"edits": [{"op": "add", "content": "\\ud800"}]}', "content: "),
        ('{"a":' * 5_000, "expected a JSON object"),
    ],
)
def test_a_reply_without_edits_is_an_error_that_says_what_is_wrong(reply: str, problem: str) -> None:
    with pytest.raises(ReplyError, match=problem):
        read_reflection(reply)


def test_an_edit_whose_text_is_given_twice_and_differently_is_named_and_not_taken() -> None:
    doubled = {**GOOD, "lines": [{"content": "- y", "tasks": ["t1"]}]}
    same = {**GOOD, "lines": [{"content": "- x ", "tasks": ["t1"]}]}
    reading = read_reflection(json.dumps({"edits": [GOOD, doubled, same]}))

    assert [edit.text for edit in reading.edits] == ["- x", "- x"]
    assert [why for _, why in reading.unread] == [DOUBLED]


def test_an_edit_given_as_lines_knows_the_tasks_behind_each_of_them() -> None:
    lines = [{"content": "- a\n  more of a", "tasks": ["t1"]}, {"content": "- b", "tasks": "t2, t3"}]
    reply = {"edits": [{"op": "add", "section": "Rules", "lines": lines, "tasks": ["t1"], "rationale": "why"}]}
    (proposed,) = read_reflection(json.dumps(reply)).edits
    assert proposed.named("s1e1") == Edit(
        "s1e1",
        Op.ADD,
        section="Rules",
        content="- a\n  more of a\n- b",
        rationale="why",
        tasks=("t1", "t2", "t3"),
        line_tasks=(("t1",), ("t2", "t3")),
    )
