"""Every way Codex can end is read from its stream for what it is."""

import json

import pytest

from skillopt.rollouts import Message, Status, ToolCall, Usage
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.codex.stream import CodexStream
from skillopt.targets.stream import ClientRun

START = {"type": "thread.started", "thread_id": "x"}
HARMLESS = {"type": "item.completed", "item": {"type": "error", "message": "Model metadata for `m` not found."}}
SAID = {"type": "item.completed", "item": {"type": "agent_message", "text": "I look."}}
RAN = {
    "type": "item.completed",
    "item": {"type": "command_execution", "command": "ls", "aggregated_output": "input.csv\n", "exit_code": 0},
}
DONE = {"type": "turn.completed", "usage": {"input_tokens": 40, "cached_input_tokens": 9, "output_tokens": 7}}


def stream(*lines: object) -> CodexStream:
    return CodexStream("\n".join(json.dumps(line) for line in lines))


def failed(words: str) -> tuple[dict[str, object], dict[str, object]]:
    return {"type": "error", "message": words}, {"type": "turn.failed", "error": {"message": words}}


ENDINGS = {
    "400": ('{"error": {"message": "bad thing", "type": "x"}}', "infra_error", "bad_request: "),
    "400 with a number": ('{"error": {"message": "max_tokens: 500 is too few"}}', "infra_error", "bad_request: "),
    "400 for the key": ('{"error": {"message": "API key not valid"}}', "infra_error", "auth: "),
    "503 of many words": ("unexpected status 503 Service Unavailable: no quota service", "infra_error", "overloaded: "),
    "context": ("Codex ran out of room in the model's context window.", "infra_error", "too_large: "),
    "quota": ("Quota exceeded. Check your plan and billing details.", "infra_error", "quota: "),
    "usage limit": ("You\u2019ve hit your usage limit. Upgrade to Pro", "infra_error", "quota: "),
    "429": ("exceeded retry limit, last status: 429 Too Many Requests", "infra_error", "rate_limit: "),
    "401": ("unexpected status 401 Unauthorized: Incorrect API key", "infra_error", "auth: "),
    "403": ("unexpected status 403 Forbidden: no", "infra_error", "auth: "),
    "404": ("The model does not exist", "infra_error", "unknown_model: "),
    "413": ("unexpected status 413 Payload Too Large: x", "infra_error", "too_large: "),
    "500": ("We\u2019re currently experiencing high demand, which may cause errors.", "infra_error", "server: "),
    "503": ("Selected model is at capacity.", "infra_error", "overloaded: "),
    "refused": ("Connection failed: error sending request", "infra_error", "network: "),
    "dropped": ("stream disconnected before completion: error sending request", "infra_error", "network: "),
    "truncated": ("stream disconnected before completion: stream closed before x", "infra_error", "malformed: "),
    "no key": ("Missing environment variable: `CODEX_API_KEY`.", "infra_error", "auth: "),
    "token budget": ("budget reached", "limit", "limit: tokens: "),
    "refusal": ("Invalid prompt: flagged as violating our usage policy", "refusal", "refusal: "),
    "unheard of": ("something new", "infra_error", "crashed: something new"),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_every_failed_turn_has_a_status_and_a_reason(case: str) -> None:
    words, status, reason = ENDINGS[case]
    ending = stream(START, HARMLESS, *failed(words)).ending(ClientRun("codex", 1))
    assert ending.status == status
    assert ending.reason.startswith(reason)


def test_a_completed_turn_is_ok_and_an_unknown_model_is_harmless() -> None:
    assert stream(START, HARMLESS, SAID, DONE).ending(ClientRun("codex", 0)).status is Status.OK


def test_a_model_that_says_nothing_and_does_nothing_measured_nothing() -> None:
    empty = {"type": "item.completed", "item": {"type": "agent_message", "text": ""}}
    assert stream(START, empty, DONE).ending(ClientRun("codex", 0)).reason == "empty: the model answered nothing"


@pytest.mark.parametrize(
    ("lines", "story", "status", "reason"),
    [
        ((START, RAN), ClientRun("codex", 1, interrupted=True, seconds=9), "timeout", "timeout: not done within 9 s"),
        ((START,), ClientRun("codex", 1, interrupted=True, seconds=9), "infra_error", "timeout: no answer"),
        (
            (START, {"type": "error", "message": "Reconnecting... 7 (Connection failed: error sending request)"}),
            ClientRun("codex", 1, interrupted=True, seconds=9),
            "infra_error",
            "network: still repeating a failed request after 9 s: Reconnecting... 7 (Connection failed",
        ),
        ((START,), ClientRun("codex", 2, "error: unexpected argument '--nope' found"), "infra_error", "bad_request: "),
        ((START, RAN), ClientRun("codex", -15), "infra_error", "crashed: codex ended with status -15"),
        ((START, RAN), ClientRun("codex", -9), "infra_error", "crashed: codex ended with status -9"),
    ],
    ids=["SIGINT at work", "never answered", "refused for ever", "bad flag", "SIGTERM", "SIGKILL"],
)
def test_an_end_without_a_result_is_judged_by_how_far_it_came(
    lines: tuple[object, ...], story: ClientRun, status: str, reason: str
) -> None:
    ending = stream(*lines).ending(story)
    assert ending.status == status
    assert ending.reason.startswith(reason)


def test_turns_are_told_with_the_commands_that_followed_them() -> None:
    last = {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}}
    told = stream(START, HARMLESS, SAID, RAN, last, DONE)
    assert tuple(told.messages()) == (
        Message("assistant", "I look.", (ToolCall("shell", "ls", "input.csv\n"),)),
        Message("assistant", "Done."),
    )
    assert told.answer == "Done."
    assert told.usage == Usage(2, 40, 7, None)


def test_tools_of_servers_and_patches_are_told_too() -> None:
    called = {"type": "mcp_tool_call", "server": "s", "tool": "t", "arguments": {"a": 1}, "result": None, "error": "no"}
    patched = {"type": "file_change", "changes": [{"path": "a.txt", "kind": "add"}]}
    items = [{"type": "item.completed", "item": item} for item in (called, patched)]
    (message,) = stream(START, *items, DONE).messages()
    assert message.tool_calls == (ToolCall("s.t", '{"a": 1}', "no"), ToolCall("apply_patch", "add a.txt", ""))


def test_a_failed_command_shows_its_status_and_long_output_its_ends() -> None:
    item = {"type": "command_execution", "command": "x", "aggregated_output": "a" * 30_000 + "z", "exit_code": 3}
    (message,) = stream({"type": "item.completed", "item": item}).messages()
    result = message.tool_calls[0].result
    assert len(result) < 21_000
    assert "characters left out" in result
    assert result.endswith("z\n[exit status 3]")


def test_a_skill_is_loaded_when_its_document_was_read() -> None:
    item = {"type": "command_execution", "command": "cat /w/.agents/skills/rows/SKILL.md", "exit_code": 0}
    assert stream({"type": "item.completed", "item": item}).loads("rows")
    assert not stream({"type": "item.completed", "item": item}).loads("columns")
    assert not stream({"type": "item.completed", "item": {**item, "exit_code": 1}}).loads("rows")


def test_why_a_skill_was_not_taken_is_found_in_the_complaints() -> None:
    stderr = "2026 ERROR codex_core: failed to load skill /w/.agents/skills/rows/SKILL.md: missing field `description`"
    found = CodexStream("", stderr)
    rows, columns = Skill("rows", SkillDocument("")), Skill("columns", SkillDocument(""))
    assert found.complaint(rows, forced=True) == "'rows': missing field `description`; check its frontmatter"
    assert found.complaint(columns, forced=False) == ""
