"""What a training takes follows from the tasks, the caps and what a call costs, recorded or typical."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from skillopt.runs.forecast import (
    Cost,
    Forecast,
    Range,
    cap_to_set,
    costs_of,
    forecast,
    is_paid,
    likely_calls,
    what_it_can_show,
)
from skillopt.settings import Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.tasks import File, Suite, Task, VerifierSpec, plan_splits

RECORDED = (Cost(100, 1.0, 60.0, 9), Cost(1000, 2.0, 30.0, 9))
SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Rows.\n---\n- Trim spaces.\n"))


def alike(count: int, kind: str = "exact", size: int = 0) -> Suite:
    tasks = [
        Task(f"t{number}", f"Do {number}.", VerifierSpec(kind), (File("a", b"x" * size),) if size else ())
        for number in range(count)
    ]
    return plan_splits("alike", tasks)


def foreseen(count: int, settings: Mapping[str, object] = {}) -> Forecast:
    chosen = Settings.model_validate(settings)
    return forecast(*likely_calls(alike(count), chosen), RECORDED, chosen)


def cost(folder: Path, suite: Suite, **settings: object) -> tuple[Cost, Cost]:
    return costs_of(folder, Settings.model_validate(settings), suite, SKILL)


@pytest.mark.parametrize(("cap", "value"), [("max_rollouts", 15), ("max_usd", 20.0), ("max_tokens", 2_000)])
def test_no_figure_is_above_its_cap(cap: str, value: float) -> None:
    capped = foreseen(16, {cap: value})
    found = {"max_rollouts": capped.rollouts, "max_usd": capped.usd, "max_tokens": capped.tokens}[cap]
    assert found == Range(value, value, value)
    assert foreseen(16, {cap: 1_000_000}) == foreseen(16)


def test_cost_and_time_are_those_of_the_calls_and_workers_share_rollouts() -> None:
    found = foreseen(8, {"workers": 2})
    rollouts, calls = found.rollouts.median, found.calls.median
    assert found.usd is not None
    assert found.minutes is not None
    assert found.usd.median == pytest.approx(rollouts + 2 * calls)
    assert found.tokens.median == pytest.approx(100 * rollouts + 1000 * calls)
    assert found.minutes.median == pytest.approx(rollouts / 2 + calls / 2)


@pytest.mark.parametrize("count", [2, 3, 8, 30])
def test_a_cap_that_is_too_low_is_refused_with_the_cap_that_estimate_names(count: int) -> None:
    named = cap_to_set(alike(count), Settings())
    refused = what_it_can_show(alike(count), Settings(max_rollouts=2))
    assert not refused.can_show
    assert f"raise it to {named}" in refused.words
    assert what_it_can_show(alike(count), Settings(max_rollouts=named)).can_show


@pytest.mark.parametrize(
    ("name", "paid"),
    [
        *(("claude-code", True), ("claude-code/claude-sonnet-5", True), ("codex", True), ("anthropic/x", True)),
        *(("chat/anthropic/x", True), ("chat/openai/x", True), ("chat/openai-compatible/x", False)),
        *(("opencode", True), ("my-agent/small", True), ("openai-compatible/x", False), ("handoff", False)),
        *(("demo", False), ("", False), ("demo,codex", True)),
    ],
)
def test_what_somebody_is_billed_for_is_paid(name: str, *, paid: bool) -> None:
    assert is_paid(name, Settings()) is paid


@pytest.mark.parametrize(
    ("address", "paid"),
    [
        *(("http://localhost:11434/v1", False), ("http://127.0.0.1:8000/v1", False), ("http://[::1]:8000/v1", False)),
        *(("http://192.168.1.20/v1", False), ("http://box.local/v1", False), ("https://openrouter.ai/api/v1", True)),
        *(("https://8.8.8.8/v1", True), ("https://localhost.example.com/v1", True)),
    ],
)
def test_a_compatible_server_is_paid_unless_it_is_near(address: str, *, paid: bool) -> None:
    assert is_paid("chat/openai-compatible/small", Settings(base_url=address)) is paid


def test_without_records_an_agent_a_judge_and_input_files_cost_more(tmp_path: Path) -> None:
    chat = {"harness": "chat/anthropic/claude-sonnet-5", "model": "anthropic/claude-sonnet-5"}
    plain, call = cost(tmp_path, alike(4), **chat)
    agent, _ = cost(tmp_path, alike(4), harness="claude-code")
    judged, _ = cost(tmp_path, alike(4, "rubric"), **chat)
    large, _ = cost(tmp_path, alike(4, size=400_000), **chat)
    found = [one.usd for one in (plain, judged, call, agent, large)]
    assert None not in found
    assert found == sorted(found, key=lambda usd: usd or 0.0)
    assert agent.tokens > 50 * plain.tokens
