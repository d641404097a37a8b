"""When the real clients load a skill: measured through their own listing, against a model that counts words."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.contrib.triggers.loading import trigger_task
from skillopt.contrib.triggers.queries import Query
from skillopt.protocols import Discovery, Harness, RolloutRequest
from skillopt.rollouts import Status, skills_loaded
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.claude_code.client import ClaudeCodeHarness
from skillopt.targets.codex.client import CodexHarness
from tests.fakes.skill_chooser import choose_by_claude_listing, choose_by_codex_listing
from tools.fake_providers.fake_anthropic import fake_anthropic, message, use
from tools.fake_providers.fake_openai import fake_openai

pytestmark = pytest.mark.agents

DESCRIPTIONS = {
    "pdf": "Fills and merges PDF forms.",
    "pdf-forms": "Designs printed letterheads.",
    "sales": "Summarises sales by region and month.",
}
REQUESTS = {
    "Merge these PDF files and fill the form.": ("pdf",),
    "Summarise sales of the month.": ("sales",),
    "Write a haiku.": (),
}


def installed(name: str) -> Skill:
    return Skill(name, SkillDocument(f"---\nname: {name}\ndescription: {DESCRIPTIONS[name]}\n---\n# {name}\n"))


def ask(request: str) -> RolloutRequest:
    skill, *beside = map(installed, DESCRIPTIONS)
    task = trigger_task(Query(request, "pdf", "here:1"), "pdf")
    return RolloutRequest(skill, task, discovery=Discovery(tuple(beside)))


def loaded(harness: Harness, place: Path) -> dict[str, tuple[str, ...] | None]:
    """Make each request, and give the skills that the client loaded for it."""
    found = {}
    for number, request in enumerate(REQUESTS):
        folder = place / str(number)
        folder.mkdir()
        trajectory = harness.run(ask(request), str(folder))
        assert trajectory.status is Status.OK, trajectory.reason
        found[request] = skills_loaded(trajectory)
    return found


def test_claude_code_loads_the_skill_whose_description_fits_and_ends_after_that(
    agent: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    with fake_anthropic(choose_by_claude_listing) as server:
        harness = ClaudeCodeHarness(program=agent("claude"), base_url=server.url)
        assert loaded(harness, tmp_path) == REQUESTS


def test_a_run_of_claude_code_that_its_turns_ended_says_so(
    agent: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    with fake_anthropic(lambda body: message(body, [use("Bash", {"command": "git status"})])) as server:
        harness = ClaudeCodeHarness(program=agent("claude"), base_url=server.url)
        trajectory = harness.run(ask("Merge these PDF files and fill the form."), str(tmp_path))

    assert (trajectory.status, skills_loaded(trajectory)) == (Status.OK, ())
    assert trajectory.reason.startswith("limit: turns")


def test_codex_reads_the_skill_whose_description_fits(
    agent: Callable[[str], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-loopback-only")
    with fake_openai(choose_by_codex_listing) as server:
        harness = CodexHarness("gpt-5", program=agent("codex"), base_url=f"{server.url}/v1")
        assert loaded(harness, tmp_path) == REQUESTS
