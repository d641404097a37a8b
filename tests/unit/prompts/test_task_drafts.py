"""Asking for drafts of tasks, and reading what comes back, whatever it is."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import ReplyError
from skillopt.prompts.task_drafts import read_task_drafts
from skillopt.verifiers import load_verifier

CHECK = {"kind": "regex", "pattern": "x"}


def reply(*tasks: object) -> str:
    return f"Here they are:\n```json\n{json.dumps({'tasks': tasks})}\n```"


def task(**more: object) -> dict[str, object]:
    return {"id": "one", "prompt": "Do it.", "checks": [CHECK], **more}


@pytest.mark.parametrize(
    ("check", "kind", "options"),
    [
        ({"kind": "regex", "pattern": "a+", "absent": True, "value": ""}, "regex", {"pattern": "a+", "absent": True}),
        ({"kind": "exact", "value": "A", "ignore_case": True}, "exact", {"value": "A", "ignore_case": True}),
        ({"kind": "numeric", "value": 4.5, "file": "n.txt"}, "numeric", {"value": "4.5", "file": "n.txt"}),
        ({"kind": "json", "value": {"a": [1]}}, "json", {"value": {"a": [1]}}),
        ({"kind": "json", "value": '{"a": [1]}'}, "json", {"value": {"a": [1]}}),
        ({"kind": "criteria", "criteria": ["Kind.", " "]}, "rubric", {"criteria": ["Kind."]}),
    ],
)
def test_a_check_becomes_the_verifier_of_its_kind(check: object, kind: str, options: object) -> None:
    (draft,) = read_task_drafts(reply(task(checks=[check]))).drafts
    assert (draft.task.verifier.kind, json.loads(draft.task.verifier.options)) == (kind, options)
    load_verifier(draft.task.verifier)


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (task(prompt=" "), "prompt"),
        (task(checks=[]), "checks"),
        (task(checks=[{"kind": "command", "run": ["sh"]}]), "checks.0.kind"),
        (task(checks=[{"kind": "regex"}]), "expected what the check 'regex' looks for, found nothing"),
        (task(checks=[{"kind": "json", "value": "{"}]), "expected JSON in the value of a check"),
        (task(checks=[{"kind": "json", "value": "NaN"}]), "expected JSON in the value of a check"),
        ("not a task", "the task"),
    ],
)
def test_what_is_no_task_is_named_and_the_others_are_taken(wrong: object, reason: str) -> None:
    found = read_task_drafts(reply(wrong, task(id="good")))
    assert [draft.task.id for draft in found.drafts] == ["good"]
    ((_, said),) = found.unread
    assert said.startswith((reason, f"checks: {reason}"))


@pytest.mark.parametrize("text", ["No.", '{"tasks": []}', '{"tasks": "x"}', '{"answer": 1}', ""])
def test_a_reply_without_tasks_is_refused(text: str) -> None:
    with pytest.raises(ReplyError):
        read_task_drafts(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = st.fixed_dictionaries(
    {}, optional=dict.fromkeys(("id", "prompt", "files", "checks", "near_miss", "why"), _VALUES)
)


@given(st.lists(_FIELDS | _VALUES, min_size=1, max_size=4))
def test_any_reply_is_read_or_refused_and_never_breaks_the_reader(tasks: list[object]) -> None:
    with suppress(ReplyError):
        found = read_task_drafts(json.dumps({"tasks": tasks}))
        assert len(found.drafts) + len(found.unread) == len(tasks)
        for draft in found.drafts:
            draft.task.prompt.encode()
