"""Every way Claude Code can end is read from its stream for what it is."""

import json

import pytest

from skillopt.rollouts import Message, Status, ToolCall, Usage
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.claude_code.stream import ClaudeStream
from skillopt.targets.stream import ClientRun

INIT = {"type": "system", "subtype": "init", "skills": ["rows"], "model": "m"}
SAID = {"type": "assistant", "message": {"id": "a", "model": "m", "content": [{"type": "text", "text": "Done."}]}}
CALLED = {
    "type": "assistant",
    "message": {
        "id": "a",
        "model": "m",
        "usage": {"input_tokens": 5, "output_tokens": 1},
        "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}],
    },
}
GOT = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "input.csv"}]}}
SYNTHETIC = {
    "type": "assistant",
    "message": {"id": "s", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]},
}
GOOD = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "terminal_reason": "completed",
    "num_turns": 2,
    "result": "Done.",
    "total_cost_usd": 0.5,
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 2, "output_tokens": 7},
    "modelUsage": {"m": {"costUSD": 0.5, "costBasis": "list"}},
}


def stream(*lines: object) -> ClaudeStream:
    return ClaudeStream("\n".join(json.dumps(line) for line in lines))


def error(words: str, status: int | None = None, terminal: str = "api_error", **more: object) -> dict[str, object]:
    """Word an API error as the client does: as a success."""
    return {
        "type": "result",
        "subtype": "success",
        "is_error": True,
        "terminal_reason": terminal,
        "num_turns": 1,
        "api_error_status": status,
        "result": words,
        "total_cost_usd": 0,
        **more,
    }


ENDINGS = {
    "turns": (
        {
            "type": "result",
            "subtype": "error_max_turns",
            "is_error": True,
            "errors": ["Reached maximum number of turns (1)"],
        },
        ("limit", "limit: turns: Reached"),
    ),
    "budget": (
        {"type": "result", "subtype": "error_max_budget_usd", "is_error": True, "errors": ["Reached maximum budget"]},
        ("limit", "limit: budget: Reached"),
    ),
    "output tokens": (
        error("API Error: Claude's response exceeded the 128000 output token maximum."),
        ("limit", "limit: output tokens:"),
    ),
    "refusal": (error("API Error: safeguards flagged this", stop_reason="refusal"), ("refusal", "refusal: API Error")),
    "400": (error("API Error: 400 bad thing", 400), ("infra_error", "bad_request: ")),
    "credit": (error("Credit balance is too low", 400), ("infra_error", "quota: ")),
    "too long": (error("Prompt is too long", 400, "prompt_too_long"), ("infra_error", "too_large: ")),
    "401": (error("Invalid API key · Fix external API key", 401), ("infra_error", "auth: ")),
    "403": (error("Failed to authenticate. API Error: 403 not allowed", 403), ("infra_error", "auth: ")),
    "404": (error("There's an issue with the selected model (x).", 404), ("infra_error", "unknown_model: ")),
    "413": (error("Request too large (max 32MB).", 413, "image_error"), ("infra_error", "too_large: ")),
    "429": (error("API Error: Request rejected (429) · slow down", 429), ("infra_error", "rate_limit: ")),
    "usage limit": (error("You've hit your usage limit", 429), ("infra_error", "quota: ")),
    "500": (error("API Error: 500 oops", 500), ("infra_error", "server: ")),
    "529": (error("API Error: 529 Overloaded", 529), ("infra_error", "overloaded: ")),
    "refused": (error("API Error: Connection refused (ECONNREFUSED)"), ("infra_error", "network: ")),
    "dropped": (error("API Error: Connection dropped (ECONNRESET)."), ("infra_error", "network: ")),
    "slow": (error("Request timed out. If the API is slow"), ("infra_error", "timeout: ")),
    "malformed": (
        error("API Error: API returned an empty or malformed response (HTTP 200), 500 bytes"),
        ("infra_error", "malformed: "),
    ),
    "broken stream": (error("API Error: JSON Parse error: Expected ':' before value"), ("infra_error", "malformed: ")),
    "logged out": (error("Not logged in · Please run /login"), ("infra_error", "auth: Not logged in")),
    "load-time shell": ({**GOOD, "num_turns": 0, "result": "denied"}, ("infra_error", "bad_request: ")),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_every_last_word_has_a_status_and_a_reason(case: str) -> None:
    last, (status, reason) = ENDINGS[case]
    ending = stream(INIT, SYNTHETIC, last).ending(ClientRun("claude", 1))
    assert ending.status == status
    assert ending.reason.startswith(reason)


def test_a_run_that_ended_well_is_ok_and_permission_denials_do_not_matter() -> None:
    last = {**GOOD, "permission_denials": [{"tool_name": "Bash", "tool_input": {}}]}
    assert stream(INIT, SAID, last).ending(ClientRun("claude", 0)).status is Status.OK


def test_a_model_that_says_nothing_and_does_nothing_measured_nothing() -> None:
    said = {"type": "assistant", "message": {"id": "a", "model": "m", "content": []}}
    ending = stream(INIT, said, {**GOOD, "result": ""}).ending(ClientRun("claude", 0))
    assert (ending.status, ending.reason) == (Status.INFRA_ERROR, "empty: the model answered nothing")


def test_a_model_that_was_asked_and_gave_no_block_at_all_answered_nothing() -> None:
    assert (
        stream(INIT, {**GOOD, "result": ""}).ending(ClientRun("claude", 0)).reason
        == "empty: the model answered nothing"
    )


INTERRUPTED = {"type": "result", "subtype": "error_during_execution", "is_error": True}
RETRY = {"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"}


@pytest.mark.parametrize(
    ("lines", "status", "reason"),
    [
        ((INIT, CALLED, GOT, INTERRUPTED), "timeout", "timeout: not done within 9 s"),
        ((INIT, INTERRUPTED), "infra_error", "timeout: no answer from the provider within 9 s"),
        (
            (INIT, CALLED, GOT, RETRY, INTERRUPTED),
            "infra_error",
            "overloaded: still repeating a failed request after 9 s: 529 overloaded",
        ),
        ((INIT, CALLED), "timeout", "timeout: not done within 9 s"),
    ],
    ids=["SIGINT at work", "SIGINT before an answer", "SIGINT while repeating", "killed at work"],
)
def test_time_that_is_over_counts_against_the_target_only_when_the_provider_answers(
    lines: tuple[object, ...], status: str, reason: str
) -> None:
    ending = stream(*lines).ending(ClientRun("claude", 0, interrupted=True, seconds=9))
    assert ending.status == status
    assert ending.reason.startswith(reason)


@pytest.mark.parametrize(
    ("exit_status", "stderr", "reason"),
    [
        (143, "", "crashed: claude ended with status 143"),
        (-9, "", "crashed: claude ended with status -9"),
        (1, "error: unknown option '--nope'", "bad_request: "),
        (1, "", "crashed: claude ended with status 1 and no result: it printed nothing"),
    ],
    ids=["SIGTERM", "SIGKILL", "bad flag", "silent"],
)
def test_an_end_without_a_result_is_an_infrastructure_error(exit_status: int, stderr: str, reason: str) -> None:
    ending = stream(INIT, CALLED).ending(ClientRun("claude", exit_status, stderr))
    assert ending.status is Status.INFRA_ERROR
    assert ending.reason.startswith(reason)


def test_turns_are_told_with_their_tool_calls_and_what_came_back() -> None:
    text = {**SAID, "message": {"id": "a", "model": "m", "content": [{"type": "text", "text": "I look."}]}}
    told = tuple(stream(INIT, text, CALLED, GOT, SYNTHETIC, GOOD).messages())
    assert told == (Message("assistant", "I look.", (ToolCall("Bash", '{"command": "ls"}', "input.csv"),)),)


def test_what_a_subagent_says_is_not_a_turn_of_the_target() -> None:
    assert tuple(stream({**SAID, "parent_tool_use_id": "t9"}).messages()) == ()


def test_consumption_is_the_results_and_counts_cached_tokens() -> None:
    assert stream(INIT, CALLED, GOT, GOOD).usage == Usage(1, 42, 7, 0.5)


@pytest.mark.parametrize(
    "last", [(), ({**GOOD, "modelUsage": {"m": {"costBasis": "unknown"}}},)], ids=["none", "guess"]
)
def test_a_price_that_nobody_knows_is_unknown(last: tuple[object, ...]) -> None:
    assert stream(INIT, CALLED, *last).usage.usd is None


def test_a_skill_is_loaded_when_the_model_used_the_tool_and_it_worked() -> None:
    use = {"type": "tool_use", "id": "t2", "name": "Skill", "input": {"skill": "rows"}}
    called = {"type": "assistant", "message": {"id": "b", "model": "m", "content": [use]}}
    failed = {"type": "tool_result", "tool_use_id": "t2", "content": "no", "is_error": True}
    assert stream(INIT, called).loads("rows")
    assert not stream(INIT, called).loads("columns")
    assert not stream(INIT, called, {"type": "user", "message": {"content": [failed]}}).loads("rows")
    assert stream(INIT).complaint(Skill("rows", SkillDocument("")), forced=True) == ""
    assert stream(INIT).complaint(Skill("columns", SkillDocument("")), forced=True)


def test_lines_of_no_known_form_are_passed_over() -> None:
    text = "\n".join(
        ["warning: x", '{"cut', '{"type": 3}', json.dumps(SAID), "[... 9 bytes left out ...]", json.dumps(GOOD)]
    )
    assert ClaudeStream(text).ending(ClientRun("claude", 0)).status is Status.OK
