"""Tests of the verifiers `tool_used` and `tool_order`."""

import pytest

from skillopt.errors import SettingsError, SuiteError
from skillopt.execution.drivers import check_recorded_tools
from skillopt.rollouts import Message, Score, ToolCall, Trajectory
from skillopt.tasks import Split, Suite, Task, VerifierSpec
from skillopt.verifiers import load_verifier
from skillopt.verifiers.tool_calls import is_tool
from tests.contracts.verifier_contract import make_spec


def ran(*calls: tuple[str, str]) -> Trajectory:
    return Trajectory(tuple(Message("assistant", "", (ToolCall(name, text, ""),)) for name, text in calls))


def score(spec: VerifierSpec, *calls: tuple[str, str]) -> Score:
    return load_verifier(spec).score(ran(*calls), "")


@pytest.mark.parametrize(
    ("asked", "used"),
    [
        *(("powershell", "Bash"), ("Edit", "apply_patch"), ("create", "Write"), ("Task", "Agent")),
        ("mcp__db__*", "db.query"),
    ],
)
def test_a_tool_is_known_by_the_names_of_all_agents(asked: str, used: str) -> None:
    assert is_tool(asked, used)


def test_only_calls_with_the_arguments_asked_for_count() -> None:
    spec = make_spec("tool_used", tool="Bash", arguments=r"git\s+push", max=0, min=0)

    assert score(spec, ("Bash", '{"command": "git status"}')).passed
    assert r'"Bash" with "git\\s+push", found 1' in score(spec, ("shell", "git push")).feedback


def test_the_first_calls_must_come_in_order() -> None:
    spec = make_spec("tool_order", steps=[{"tool": "Read"}, {"tool": "Bash", "arguments": "test"}, {"tool": "Write"}])

    assert score(spec, ("Bash", "ls"), ("Read", ""), ("Bash", "test"), ("Read", ""), ("Write", "")).passed
    assert (
        "tools: expected the first"
        in score(spec, ("Read", ""), ("Write", ""), ("Bash", "test"), ("Write", "")).feedback
    )
    assert '"Bash", found it missing' in score(spec, ("Read", "")).feedback


ENDLESS = r"(a+)+$"


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("tool_used", {"tool": "Bash", "arguments": ENDLESS, "min": 0, "max": 0}),
        ("tool_order", {"steps": [{"tool": "Bash", "arguments": ENDLESS}, {"tool": "Read"}]}),
    ],
)
def test_a_call_whose_arguments_cannot_be_searched_in_time_is_not_taken_for_no_call(
    kind: str, options: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillopt.verifiers.tool_calls._SEARCH_SECONDS", 0.2)
    calls = [("Bash", "a" * 40 + "b")] * 3 + [("Read", "")]

    found = score(make_spec(kind, **options), *calls)

    assert not found.passed
    assert f'"{ENDLESS}" took more than 0.2' in found.feedback


@pytest.mark.parametrize(
    ("kind", "options", "problem"),
    [
        ("tool_used", {"tool": "Read", "min": 2, "max": 1}, "expected 'max' of at least 2, found 1"),
        ("tool_used", {"tool": "Read", "arguments": "("}, "expected a regular expression"),
        ("tool_used", {"tool": "Read", "mix": 1}, "unknown option 'mix'"),
        ("tool_order", {"steps": [{"tool": "Read"}]}, "steps: "),
    ],
)
def test_wrong_options_are_refused(kind: str, options: dict[str, object], problem: str) -> None:
    with pytest.raises(SuiteError, match=problem):
        load_verifier(make_spec(kind, **options))


@pytest.mark.parametrize(
    ("tool", "harness", "told"),
    [
        ("Read", "claude-code", True),
        ("mcp__db__query", "codex", True),
        ("Read", "codex", False),
        ("Bash", "chat", False),
    ],
)
def test_a_suite_that_asks_for_tools_the_harness_does_not_tell_of_is_refused_before_anything_is_run(
    tool: str, harness: str, *, told: bool
) -> None:
    check = {"kind": "tool_used", "options": {"tool": tool}}
    task = Task("push", "push it", make_spec("checks", checks=[{"kind": "exact", "options": {"value": "a"}}, check]))
    suite = Suite("git", ((Split.VAL, task),))

    if told:
        check_recorded_tools(harness, suite)
    else:
        with pytest.raises(SettingsError, match=f"whether the tool '{tool}'"):
            check_recorded_tools(harness, suite)
