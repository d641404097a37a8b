"""A skill trained for a real, small language model, and what that training is made of."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.llm.__main__ import main
from benchmarks.llm.proposer import ListedProposer
from benchmarks.llm.server import serve
from benchmarks.llm.training import MOST_ROLLOUTS, shrink_skill, train_skill
from skillopt import Split, load_suite
from skillopt.prompts.evidence import fence
from skillopt.prompts.proposed_edits import Reflection, read_reflection
from skillopt.prompts.stages import Aim, Told, ask_reflection
from skillopt.skills.document import SkillDocument, estimate_tokens
from skillopt.targets.openai import OpenAICompatibleModel
from tools.fetch_llm import LlmFiles, MissingLlmError, find_llm

FOLDER = Path(__file__).parents[2] / "benchmarks" / "llm"
START = SkillDocument((FOLDER / "shop-desk" / "SKILL.md").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def files() -> LlmFiles:
    try:
        return find_llm()
    except MissingLlmError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def base_url(files: LlmFiles) -> Iterator[str]:
    with serve(files) as address:
        yield address


def reflect(patterns: dict[str, str], document: SkillDocument = START) -> Reflection:
    """Ask the proposer about tasks whose answers lack a pattern."""
    failed = "\n\n".join(
        f"### Task {task}\nstatus: ok\nscore: 0.000 (not passed)\n"
        f"feedback:\nanswer: expected a match of {json.dumps(pattern)}, found none\nprompt:\nA question."
        for task, pattern in patterns.items()
    )
    prompt = ask_reflection(document, fence("evidence", failed), Aim(failures=True, budget=30), Told())
    return read_reflection(ListedProposer().reply(prompt).text)


@pytest.mark.llm
@pytest.mark.timeout(1800)
def test_training_makes_a_real_model_answer_many_more_fresh_questions(base_url: str, tmp_path: Path) -> None:
    trained = train_skill(base_url, tmp_path)
    before, after, result = trained.held_out.before, trained.held_out.after, trained.result
    print(  # noqa: T201 - the figures are what `make test-llm` is for
        f"{trained.grade}: {before.passed} -> {after.passed} of {after.measured} held-out questions, "
        f"{result.rollouts} rollouts, {result.calls} optimizer calls, {result.usage['target']}"
    )

    assert 0.1 <= before.passed / before.measured <= 0.6, "the suite no longer shows what a text is worth"
    # Measured: from 8 to 18, 20, 21, 21 and 24 of 30; another processor rounds differently, so that answers differ.
    assert after.passed - before.passed >= 8
    assert trained.grade.startswith("version")
    assert result.rollouts <= MOST_ROLLOUTS

    again = train_skill(base_url, tmp_path)
    assert (again.result.paid_rollouts, again.result.paid_calls) == (0, 0)
    assert again.handed_over == trained.handed_over


@pytest.mark.llm
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", range(3))
def test_a_long_text_gets_shorter_and_a_real_model_answers_no_fewer_questions_that_the_search_never_saw(
    base_url: str, tmp_path: Path, seed: int
) -> None:
    done = shrink_skill(base_url, tmp_path, seed)
    before, after = done.held_out.before, done.held_out.after
    print(  # noqa: T201 - the figures are what `make test-llm` is for
        f"seed {seed}: {done.reason}; {before.passed} -> {after.passed} of {after.measured}, {done.rollouts} rollouts"
    )

    assert estimate_tokens(done.after.text) < 0.9 * estimate_tokens(done.before.text)
    assert before.passed - after.passed < 0.2 * after.measured


@pytest.mark.llm
def test_the_same_request_gets_the_same_answer_whatever_was_asked_before(base_url: str) -> None:
    model = OpenAICompatibleModel("smollm2", max_tokens=24, base_url=base_url)
    first, other, again = (model.reply(f"What is the capital of {place}?") for place in ("France", "Egypt", "France"))

    assert "Paris" in first.text
    assert first.text == again.text != other.text
    assert (first.usage.input_tokens, first.usage.calls) == (again.usage.input_tokens, 1)


def test_the_demo_ends_with_2_without_a_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")

    assert main([]) == 2
    assert capsys.readouterr() == ("", "expected Node.js 20 or newer on the PATH, found none; install it\n")


def test_each_missed_fact_gets_a_line_that_cites_its_tasks_and_a_stale_line_is_replaced() -> None:
    found = reflect({"fee-1": r"\b(4|four)\b", "phone-1": r"\b555 0199\b", "fee-2": r"\b(4|four)\b"})
    edits = {edit.text: (edit.op.value, edit.anchor, edit.tasks) for edit in found.edits}

    assert edits["- Delivery costs 4 euros."] == ("add", "", ("fee-1", "fee-2"))
    stale = "- The phone number of Norvel is 555 0100."
    assert edits["- The phone number of Norvel is 555 0199."] == ("replace", stale, ("phone-1",))


def test_no_held_out_question_is_one_to_learn_from_and_both_ask_for_the_same_facts() -> None:
    learnt, held_out = (load_suite(FOLDER / f"{name}.yaml") for name in ("questions", "held_out"))
    prompts = [{task.prompt for _, task in suite.splits} for suite in (learnt, held_out)]
    facts = [{(task.tags, task.verifier.options) for _, task in suite.splits} for suite in (learnt, held_out)]

    assert (len(prompts[0]), len(prompts[1])) == (40, 30)
    assert not prompts[0] & prompts[1]
    assert facts[0] == facts[1]
    assert not any(split is Split.TEST for split, _ in learnt.splits)
