"""Scoring a version on other targets: real processes, real git, real servers on loopback."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

import pytest

from tests.fakes.fake_chat import answer_prompt, fake_chat
from tests.fakes.projects import FAST, SKILL, Trained, git, make_project, skillopt, train, without_agents
from tools.fake_providers.loopback import Answer, Body, refuse

pytestmark = pytest.mark.process

FAKE = "chat/openai-compatible/fake"


@pytest.fixture
def project(trained: Trained) -> Path:
    """A project of its own in which a version was accepted."""
    return trained[0]


def to(*targets: str) -> tuple[str, ...]:
    return ("transfer", "rows", *(word for target in targets for word in ("--to", target)))


def settings(url: str) -> tuple[str, ...]:
    return ("--set", f"base_url={url}/v1", "--set", "retry_seconds=0", "--set", "confidence=0.7")


def rollouts(folder: Path) -> int:
    recorded: int = json.loads(skillopt(folder, "status", "--json").stdout)["rollouts"]
    return recorded


def test_a_version_is_compared_with_no_skill_and_with_the_first_version_on_every_target(project: Path) -> None:
    with fake_chat() as server:
        arguments = (*to("demo", FAKE), *settings(server.url))
        ended = skillopt(project, *arguments, "--json")
        again = skillopt(project, *arguments)
        asked = len(server.requests)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert found["version"] == git(project, "rev-parse", "skillopt/rows")
    assert found["trained_on"].startswith("demo-1 seed=")
    assert [row["target"] for row in found["targets"]] == ["demo", FAKE]
    assert [row["status"] for row in found["targets"]] == ["measured", "measured"]
    assert asked == found["targets"][1]["paid_rollouts"] == 3 * 8
    for row in found["targets"]:
        scores = [row["found"][subject]["score"] for subject in ("no_skill", "first", "version")]
        assert scores[2] > max(scores[:2])
        assert row["found"]["against_first"]["wins"] > row["found"]["against_first"]["losses"]
        assert row["found"]["against_no_skill"]["after"] > row["found"]["against_no_skill"]["before"]
    assert found["targets"][1]["found"]["identity"].startswith("chat openai-compatible model=fake")
    assert again.returncode == 0, again.stderr
    head, titles, *rows = again.stdout.splitlines()
    assert ", 0 newly run; trained on demo-1" in head
    assert titles.split("  ")[0] == "target"
    assert [row.split()[0] for row in rows[:2]] == ["demo", FAKE]
    assert "accept" in rows[0]


def test_a_target_that_is_dead_is_a_row_of_its_own_and_ends_with_3(project: Path) -> None:
    with refuse() as server:
        arguments = (*to(FAKE, "demo"), *settings(server.url))
        shown = skillopt(project, *arguments)
        found = json.loads(skillopt(project, *arguments, "--json").stdout)
    assert shown.returncode == 3
    assert f"{FAKE}: stopped after 5 failures in a row; the last: network: " in shown.stdout
    assert "Traceback" not in shown.stderr
    dead, alive = found["targets"]
    assert (dead["status"], dead["found"], alive["status"], alive["reason"]) == ("invalid", None, "measured", "")
    assert "network: " in dead["reason"]


def test_a_target_of_which_too_little_was_measured_is_invalid(project: Path) -> None:
    def refuse_half(body: Body) -> Answer:
        return Answer(503, b"", hang_up=True) if "@" in json.dumps(body) else answer_prompt(body)

    with fake_chat(refuse_half) as server:
        arguments = (*to(FAKE), *settings(server.url), "--workers", "1", "--json", "--set", "coverage=0.6")
        ended = skillopt(project, *arguments)
    assert ended.returncode == 3
    assert "none: only 4 of 8 tasks could be measured: network: " in json.loads(ended.stdout)["targets"][0]["reason"]


def test_a_target_whose_program_is_missing_does_not_keep_the_others_from_being_scored(
    project: Path, tmp_path: Path
) -> None:
    ended = skillopt(project, *to("codex/large", "demo"), PATH=without_agents(tmp_path))
    assert ended.returncode == 3
    assert "codex/large: missing_program: " in ended.stdout
    assert "accept" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (to("demo", "dmo"), "did you mean 'demo'?"),
        (to("demo", "chat/openia/x"), "did you mean 'openai'?"),
        (to("demo", FAKE), "base_url"),
        (to("demo", ""), "expected harness in skillopt.toml, found none"),
        ((*to("demo"), "--version", "v9"), "expected a version"),
        (to(), "--to"),
    ],
)
def test_a_users_mistake_is_refused_before_anything_is_spent(
    project: Path, arguments: tuple[str, ...], problem: str
) -> None:
    before = rollouts(project)
    ended = skillopt(project, *arguments)
    assert ended.returncode == 2
    assert problem in ended.stderr
    assert (ended.stdout, rollouts(project)) == ("", before)


def test_without_an_accepted_version_the_command_says_what_to_do(tmp_path: Path) -> None:
    ended = skillopt(make_project(tmp_path / "project"), *to("demo"))
    assert ended.returncode == 2
    assert "has no versions yet; train it with `skillopt optimize rows`" in ended.stderr


class Counting:
    """A provider that counts the tokens it reports."""

    def __init__(self) -> None:
        self.lock, self.tokens = Lock(), 0

    def __call__(self, body: Body) -> Answer:
        answer = answer_prompt(body)
        with self.lock:
            self.tokens += json.loads(answer.content)["usage"]["total_tokens"]
        return answer


def test_a_cap_holds_for_all_targets_together(project: Path) -> None:
    provider, cap = Counting(), 30_000
    with fake_chat(provider) as server:
        targets = (*to(*(f"{FAKE}-{number}" for number in range(5)), "demo"), *settings(server.url))
        ended = skillopt(project, *targets, "--max-tokens", str(cap), "--json")
    assert ended.returncode == 3, ended.stderr
    rows = json.loads(ended.stdout)["targets"]
    assert rows[0]["status"] == "measured"
    assert "the cap of 30,000 tokens leaves" in rows[4]["reason"]
    assert 0 < provider.tokens <= cap


@pytest.mark.process
def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(project: Path) -> None:
    process: SimpleQueue[int] = SimpleQueue()

    def interrupt_fourth(body: Body) -> Answer:
        if len(server.requests) == 4:
            os.kill(process.get(), signal.SIGINT)
        return answer_prompt(body)

    with fake_chat(interrupt_fourth) as server:
        arguments = (*to(FAKE), *settings(server.url), "--workers", "1")
        command = [sys.executable, "-m", "skillopt", *arguments]
        with subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE, text=True) as started:
            process.put(started.pid)
            _, told = started.communicate(timeout=60)
        kept = len(server.requests)
        found = json.loads(skillopt(project, *arguments, "--json").stdout)
    assert started.returncode == 130
    assert "run the same command to continue" in told
    assert found["targets"][0]["status"] == "measured"
    assert 4 <= kept < 24
    assert found["targets"][0]["paid_rollouts"] < 24


def test_a_chosen_version_is_scored_and_the_first_stays_what_training_started_from(project: Path) -> None:
    before = git(project, "rev-parse", "main")
    found = json.loads(skillopt(project, *to("demo"), "--version", "main", "--json").stdout)
    assert (found["version"], found["first"], found["trained_on"]) == (before, before, "")
    verdict = found["targets"][0]["found"]["against_first"]
    assert (verdict["wins"], verdict["losses"]) == (0, 0)


def test_a_start_that_was_not_committed_is_the_first_version(tmp_path: Path) -> None:
    folder = make_project(tmp_path / "project")
    skill = folder / "skills" / "rows" / "SKILL.md"
    skill.write_text(SKILL + "- Be careful.\n", encoding="utf-8")
    train(folder, *FAST)
    found = json.loads(skillopt(folder, *to("demo"), "--json").stdout)
    assert git(folder, "show", f"{found['first']}:skills/rows/SKILL.md").endswith("- Be careful.")
    assert "+- Be careful." not in skillopt(folder, "diff", "rows").stdout
