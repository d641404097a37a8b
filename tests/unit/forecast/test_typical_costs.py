"""Typical costs: what a client adds, what is paid for, and what nobody knows."""

import pytest

from skillopt.forecast.consumption import CallCost
from skillopt.forecast.typical_costs import is_paid, typical_call, typical_rollout
from skillopt.settings import Price, Settings
from skillopt.skills.document import Skill, SkillDocument
from skillopt.suites.planning import plan_splits
from skillopt.tasks import File, Suite, Task, VerifierSpec

SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Rows.\n---\n- Trim spaces.\n"))


def suite(kind: str = "exact", size: int = 0) -> Suite:
    tasks = [Task(f"t{number}", f"Do {number}.", VerifierSpec(kind), (File("a", b"x" * size),)) for number in range(4)]
    return plan_splits(tasks).suite("suite", tasks)


def rollout(kind: str = "exact", size: int = 0, **settings: object) -> CallCost:
    return typical_rollout(Settings.model_validate(settings), suite(kind, size), SKILL)


@pytest.mark.parametrize(
    ("name", "paid"),
    [
        *(("claude-code", True), ("claude-code/claude-sonnet-5", True), ("codex", True), ("anthropic/x", True)),
        *(("chat/anthropic/x", True), ("chat/openai/x", True), ("chat/openai-compatible/x", False)),
        *(
            *(("opencode", True), ("my-agent/small", True), ("openai-compatible/x", False), ("handoff", False)),
            *(("demo", False), ("", False)),
        ),
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


def test_an_agent_reads_many_times_what_one_question_reads() -> None:
    chat, agent = rollout(harness="chat/anthropic/claude-sonnet-5"), rollout(harness="claude-code/claude-sonnet-5")
    assert agent.tokens > 50 * chat.tokens
    assert chat.usd is not None
    assert agent.usd is not None
    assert 0.001 < chat.usd < 0.02 < agent.usd < 0.5


def test_an_agent_without_a_named_model_has_the_price_of_one_that_it_may_run() -> None:
    assert rollout(harness="codex").usd is not None
    assert rollout(harness="codex/a-model-nobody-lists").usd is None


def test_own_prices_and_input_files_count() -> None:
    prices = {"mine": Price(input=1.0, output=0.0)}
    small, large = (rollout(size=size, harness="chat/openai-compatible/mine", prices=prices) for size in (0, 4_000_000))
    assert small.usd is not None
    assert large.usd is not None
    assert large.usd - small.usd == pytest.approx(1.0, rel=0.01)


def test_a_judge_costs_on_top_of_each_rollout() -> None:
    harness, judge = "chat/anthropic/claude-sonnet-5", "openai/gpt-5.4"
    plain, judged = (rollout(kind, harness=harness, judge=judge) for kind in ("exact", "rubric"))
    assert plain.usd is not None
    assert judged.usd is not None
    assert judged.usd > plain.usd
    assert rollout("rubric", harness="demo", judge="openai/unknown").usd is None


def test_programs_cost_nothing_and_a_person_takes_a_time_that_nobody_knows() -> None:
    assert (rollout(harness="demo").usd, rollout(harness="chat/handoff").usd) == (0.0, 0.0)
    assert rollout(harness="chat/handoff").seconds is None
    assert rollout().usd is None
    assert typical_call(Settings(model="handoff"), SKILL).seconds is None


@pytest.mark.parametrize("model", ["anthropic/claude-sonnet-5", "claude-code"])
def test_an_optimizer_call_has_the_price_of_its_model_or_of_one_that_the_client_may_run(model: str) -> None:
    found = typical_call(Settings(model=model), SKILL)
    assert found.usd is not None
    assert 0.01 < found.usd < 0.2
