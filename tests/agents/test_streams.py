"""Every way Claude Code and Codex can end is read from their streams for what it is."""

import json

import pytest

from skillopt.rollouts import Message, Status, ToolCall, Usage
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.claude_code.stream import ClaudeStream
from skillopt.targets.codex.stream import CodexStream
from skillopt.targets.stream import ClientRun

Event = dict[str, object]
SKILL = Skill("rows", SkillDocument(""))


def claude(*lines: object) -> ClaudeStream:
    return ClaudeStream("\n".join(json.dumps(line) for line in lines))


def codex(*lines: object) -> CodexStream:
    return CodexStream("\n".join(json.dumps(line) for line in lines))


# Lines of Claude Code


def turn(*content: Event, **more: object) -> Event:
    return {"type": "assistant", "message": {"id": "a", "model": "m", "content": list(content), **more}}


def result(tool: str, content: str, **more: object) -> Event:
    return {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": tool, "content": content, **more}]},
    }


def last(words: str, status: int | None = None, terminal: str = "api_error", **more: object) -> Event:
    """Word an API error as Claude Code does: as a success."""
    ended = {"type": "result", "subtype": "success", "is_error": True, "terminal_reason": terminal, "num_turns": 1}
    return {**ended, "api_error_status": status, "result": words, "total_cost_usd": 0, **more}


def limit(subtype: str, words: str) -> Event:
    return {"type": "result", "subtype": subtype, "is_error": True, "errors": [words]}


INIT = {"type": "system", "subtype": "init", "skills": ["rows"], "model": "m"}
DONE = turn({"type": "text", "text": "Done."})
CALLED = turn(
    {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}},
    usage={"input_tokens": 5, "output_tokens": 1},
)
GOT = result("t1", "input.csv")
SYNTHETIC = turn({"type": "text", "text": "API Error"}, model="<synthetic>", id="s")
GOOD = {
    **last("Done.", terminal="completed", is_error=False, num_turns=2, total_cost_usd=0.5),
    "usage": {"input_tokens": 10, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 2, "output_tokens": 7},
    "modelUsage": {"m": {"costUSD": 0.5, "costBasis": "list"}},
}
INTERRUPTED = {"type": "result", "subtype": "error_during_execution", "is_error": True}
RETRY = {"type": "system", "subtype": "api_retry", "error_status": 529, "error": "overloaded"}

# Lines of Codex


def item(kind: str, **more: object) -> Event:
    return {"type": "item.completed", "item": {"type": kind, **more}}


def failed(words: str) -> tuple[Event, Event]:
    return {"type": "error", "message": words}, {"type": "turn.failed", "error": {"message": words}}


START = {"type": "thread.started", "thread_id": "x"}
HARMLESS = item("error", message="Model metadata for `m` not found.")
SAID = item("agent_message", text="I look.")
RAN = item("command_execution", command="ls", aggregated_output="input.csv\n", exit_code=0)
TURNED = {"type": "turn.completed", "usage": {"input_tokens": 40, "cached_input_tokens": 9, "output_tokens": 7}}
RECONNECTING = {"type": "error", "message": "Reconnecting... 7 (Connection failed: error sending request)"}

OF_CLAUDE: dict[str, tuple[Event, str]] = {
    "turns": (limit("error_max_turns", "Reached maximum number of turns (1)"), "limit: turns: Reached"),
    "budget": (limit("error_max_budget_usd", "Reached maximum budget"), "limit: budget: Reached"),
    "output": (last("API Error: Claude's response exceeded the 128000 output token maximum."), "limit: output tokens:"),
    "refusal": (last("API Error: safeguards flagged this", stop_reason="refusal"), "refusal: API Error"),
    "400": (last("API Error: 400 bad thing", 400), "bad_request: "),
    "credit": (last("Credit balance is too low", 400), "quota: "),
    "too long": (last("Prompt is too long", 400, "prompt_too_long"), "too_large: "),
    "401": (last("Invalid API key · Fix external API key", 401), "auth: "),
    "403": (last("Failed to authenticate. API Error: 403 not allowed", 403), "auth: "),
    "usage limit": (last("You've hit your usage limit", 429), "quota: "),
    "refused": (last("API Error: Connection refused (ECONNREFUSED)"), "network: "),
    "slow": (last("Request timed out. If the API is slow"), "timeout: "),
    "malformed": (last("API Error: API returned an empty or malformed response (HTTP 200), 500 bytes"), "malformed: "),
    "broken stream": (last("API Error: JSON Parse error: Expected ':' before value"), "malformed: "),
    "logged out": (last("Not logged in · Please run /login"), "auth: Not logged in"),
    "load-time shell": ({**GOOD, "num_turns": 0, "result": "denied"}, "bad_request: "),
}
OF_CODEX = {
    "400": ('{"error": {"message": "bad thing", "type": "x"}}', "bad_request: "),
    "400 for the key": ('{"error": {"message": "API key not valid"}}', "auth: "),
    "503 of many words": ("unexpected status 503 Service Unavailable: no quota service", "overloaded: "),
    "context": ("Codex ran out of room in the model's context window.", "too_large: "),
    "usage limit": ("You\u2019ve hit your usage limit. Upgrade to Pro", "quota: "),
    "429": ("exceeded retry limit, last status: 429 Too Many Requests", "rate_limit: "),
    "404": ("The model does not exist", "unknown_model: "),
    "503": ("Selected model is at capacity.", "overloaded: "),
    "refused": ("Connection failed: error sending request", "network: "),
    "dropped": ("stream disconnected before completion: error sending request", "network: "),
    "truncated": ("stream disconnected before completion: stream closed before x", "malformed: "),
    "no key": ("Missing environment variable: `CODEX_API_KEY`.", "auth: "),
    "token budget": ("budget reached", "limit: tokens: "),
    "refusal": ("Invalid prompt: flagged as violating our usage policy", "refusal: "),
    "unheard of": ("something new", "crashed: something new"),
}
ENDINGS = {
    **{f"claude {case}": (claude(INIT, SYNTHETIC, line), reason) for case, (line, reason) in OF_CLAUDE.items()},
    **{f"codex {case}": (codex(START, HARMLESS, *failed(words)), reason) for case, (words, reason) in OF_CODEX.items()},
}


@pytest.mark.parametrize("case", ENDINGS)
def test_every_failure_has_a_status_and_a_reason(case: str) -> None:
    stream, reason = ENDINGS[case]
    ending = stream.ending(ClientRun(case.split(maxsplit=1)[0], 1))
    kind = reason.partition(":")[0]
    assert ending.status == (kind if kind in {"limit", "refusal"} else "infra_error")
    assert ending.reason.startswith(reason)


@pytest.mark.parametrize(
    "stream",
    [
        claude(INIT, DONE, {**GOOD, "permission_denials": [{"tool_name": "Bash", "tool_input": {}}]}),
        codex(START, HARMLESS, SAID, TURNED),
    ],
    ids=["claude, which was denied a tool", "codex, which does not know the model"],
)
def test_a_run_that_ended_well_is_ok_whatever_else_was_said(stream: ClaudeStream | CodexStream) -> None:
    assert stream.ending(ClientRun("client", 0)).status is Status.OK


@pytest.mark.parametrize(
    "stream",
    [
        claude(INIT, turn(), {**GOOD, "result": ""}),
        claude(INIT, {**GOOD, "result": ""}),
        codex(START, item("agent_message", text=""), TURNED),
    ],
    ids=["claude, nothing", "claude, no block", "codex"],
)
def test_a_model_that_says_nothing_and_does_nothing_measured_nothing(stream: ClaudeStream | CodexStream) -> None:
    ending = stream.ending(ClientRun("client", 0))
    assert ending.status is Status.INFRA_ERROR
    assert ending.reason.startswith("empty: ")


CUT = ClientRun("client", 0, interrupted=True, seconds=9)


@pytest.mark.parametrize(
    ("stream", "story", "status", "reason"),
    [
        (claude(INIT, CALLED, GOT, INTERRUPTED), CUT, "timeout", "timeout: not done within 9 s"),
        (claude(INIT, CALLED), CUT, "timeout", "timeout: not done within 9 s"),
        (claude(INIT, INTERRUPTED), CUT, "infra_error", "timeout: no answer"),
        (claude(INIT, CALLED, GOT, RETRY, INTERRUPTED), CUT, "infra_error", "overloaded: still repeating"),
        (claude(INIT, CALLED), ClientRun("claude", 143), "infra_error", "crashed: claude ended with status 143"),
        (claude(INIT, CALLED), ClientRun("claude", -9), "infra_error", "crashed: claude ended with status -9"),
        (claude(INIT), ClientRun("claude", 1, "error: unknown option '--nope'"), "infra_error", "bad_request: "),
        (claude(INIT), ClientRun("claude", 1), "infra_error", "crashed: claude ended with status 1 and no result"),
        (codex(START, RAN), CUT, "timeout", "timeout: not done within 9 s"),
        (codex(START), CUT, "infra_error", "timeout: no answer"),
        (codex(START, RECONNECTING), CUT, "infra_error", "network: still repeating"),
        (
            codex(START),
            ClientRun("codex", 2, "error: unexpected argument '--nope' found"),
            "infra_error",
            "bad_request: ",
        ),
        (codex(START, RAN), ClientRun("codex", -15), "infra_error", "crashed: codex ended with status -15"),
    ],
)
def test_an_end_without_a_result_is_judged_by_how_far_it_came(
    stream: ClaudeStream | CodexStream, story: ClientRun, status: str, reason: str
) -> None:
    ending = stream.ending(story)
    assert ending.status == status
    assert ending.reason.startswith(reason)


def test_turns_are_told_with_their_calls_and_what_came_back() -> None:
    look = turn({"type": "text", "text": "I look."})
    assert tuple(claude(INIT, look, CALLED, GOT, SYNTHETIC, GOOD).messages()) == (
        Message("assistant", "I look.", (ToolCall("Bash", '{"command": "ls"}', "input.csv"),)),
    )
    told = codex(START, HARMLESS, SAID, RAN, item("agent_message", text="Done."), TURNED)
    assert tuple(told.messages()) == (
        Message("assistant", "I look.", (ToolCall("shell", "ls", "input.csv\n"),)),
        Message("assistant", "Done."),
    )
    assert told.answer == "Done."


def test_consumption_counts_cached_tokens_and_a_price_that_nobody_knows_is_unknown() -> None:
    assert claude(INIT, CALLED, GOT, GOOD).usage == Usage(1, 42, 7, 0.5)
    assert codex(START, SAID, RAN, item("agent_message", text="Done."), TURNED).usage == Usage(2, 40, 7, None)
    for lines in ((), ({**GOOD, "modelUsage": {"m": {"costBasis": "unknown"}}},)):
        assert claude(INIT, CALLED, *lines).usage.usd is None


def test_claude_code_loaded_a_skill_when_the_model_used_the_tool_and_it_worked() -> None:
    called = turn({"type": "tool_use", "id": "t2", "name": "Skill", "input": {"skill": "rows"}})
    assert claude(INIT, called).loads("rows")
    assert not claude(INIT, called).loads("columns")
    assert not claude(INIT, called, result("t2", "no", is_error=True)).loads("rows")
    assert claude(INIT).complaint(SKILL, forced=True) == ""
    assert claude(INIT).complaint(Skill("columns", SkillDocument("")), forced=True)


def test_codex_loaded_a_skill_when_its_document_was_read_and_complains_of_one_it_did_not_take() -> None:
    def read(exit_code: int) -> CodexStream:
        command = "cat /w/.agents/skills/rows/SKILL.md"
        return codex(item("command_execution", command=command, exit_code=exit_code))

    assert read(0).loads("rows")
    assert not read(0).loads("columns")
    assert not read(1).loads("rows")
    stderr = "2026 ERROR codex_core: failed to load skill /w/.agents/skills/rows/SKILL.md: missing field `description`"
    assert "'rows': missing field `description`" in CodexStream("", stderr).complaint(SKILL, forced=True)
    assert CodexStream("", stderr).complaint(Skill("columns", SkillDocument("")), forced=False) == ""


def test_what_a_subagent_of_claude_code_says_is_not_a_turn_of_the_target() -> None:
    assert tuple(claude({**DONE, "parent_tool_use_id": "t9"}).messages()) == ()


def test_lines_of_no_known_form_are_passed_over() -> None:
    text = "\n".join(
        ["warning: x", '{"cut', '{"type": 3}', json.dumps(DONE), "[... 9 bytes left out ...]", json.dumps(GOOD)]
    )
    assert ClaudeStream(text).ending(ClientRun("claude", 0)).status is Status.OK


def test_codex_s_tools_of_servers_and_patches_are_told_too() -> None:
    called = item("mcp_tool_call", server="s", tool="t", arguments={"a": 1}, result=None, error="no")
    patched = item("file_change", changes=[{"path": "a.txt", "kind": "add"}])
    (message,) = codex(START, called, patched, TURNED).messages()
    assert message.tool_calls == (ToolCall("s.t", '{"a": 1}', "no"), ToolCall("apply_patch", "add a.txt", ""))


def test_a_failed_command_of_codex_shows_its_status_and_long_output_its_ends() -> None:
    output = "a" * 30_000 + "z"
    (message,) = codex(item("command_execution", command="x", aggregated_output=output, exit_code=3)).messages()
    shown = message.tool_calls[0].result
    assert len(shown) < 21_000
    assert "characters left out" in shown
    assert shown.endswith("z\n[exit status 3]")
