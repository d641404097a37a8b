"""The main job through models over HTTP, by the command line, with providers that work, fail and charge."""

import json
import socket
from contextlib import closing
from pathlib import Path
from threading import Lock

import pytest

from skillopt.storage.ledger import Ledger
from tests.fakes.fake_chat import fake_chat
from tests.fakes.projects import git, make_project, skillopt
from tools.fake_providers import fake_anthropic as messages
from tools.fake_providers.fake_anthropic import fake_anthropic
from tools.fake_providers.loopback import Answer, Body

pytestmark = pytest.mark.process  # whole runs, so not in the quick tests

KEY = "sk-ant-loopback-only-0123456789abcdef"
FAST = ("confidence=0.6", "retry_seconds=0", "workers=4")
SETTINGS = tuple(part for option in FAST for part in ("--set", option))
PRICES = '[prices."fake"]\ninput = 1.0\noutput = 5.0\n'


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = make_project(tmp_path / "project", tasks=6)
    config = folder / "skillopt.toml"
    config.write_text(config.read_text(encoding="utf-8") + PRICES, encoding="utf-8")
    return folder


def command(name: str = "anthropic", skill: str = "rows") -> tuple[str, ...]:
    drivers = ("--harness", f"chat/{name}/fake", "--model", f"{name}/fake")
    return ("optimize", skill, "--json", "--yes", *drivers, *SETTINGS)


def test_a_skill_is_trained_by_nothing_but_its_provider(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reached, connect = set[object](), socket.socket.connect

    def noted(self: socket.socket, address: tuple[str, int]) -> None:
        reached.add(address[1])
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    with fake_chat() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        ended = skillopt(project, *command("openai"))
    assert ended.returncode == 0, ended.stderr
    assert reached == {int(server.url.rpartition(":")[2])}
    result = json.loads(ended.stdout)
    assert result["versions"]
    assert result["spent"]["target"]["usd"] > 0
    assert {"target", "optimizer"} <= set(result["spent"])
    assert "Harness: chat openai" in git(project, "log", "-1", "--format=%B", "skillopt/rows")
    assert KEY not in ended.stdout + ended.stderr
    for file in (project / ".skillopt").glob("**/*"):
        assert file.is_dir() or KEY.encode() not in file.read_bytes()


class Failing:
    """A provider that dies after so many answers and can be raised again."""

    def __init__(self, answers: int, death: Answer) -> None:
        self.left, self.death = answers, death
        self.lock, self.answered, self.refused = Lock(), 0, 0

    def __call__(self, body: Body) -> Answer:
        with self.lock:
            if self.left <= 0:
                self.refused += 1
                return self.death
            self.left -= 1
            self.answered += 1
        return messages.follow_skill(body)


def test_after_a_provider_died_a_rerun_pays_only_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Answer(503, b"", hang_up=True)
    empty = messages.failure(400, "invalid_request_error", "Your credit balance is too low")
    deaths = ((15, gone, "Connection error"), (20, empty, "Your credit balance is too low"))
    for answers, death, reason in deaths:
        provider = Failing(answers, death)
        folder = make_project(tmp_path / f"dead-after-{answers}", tasks=6)
        with fake_anthropic(provider) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            dead = skillopt(folder, *command())
            assert dead.returncode == 3, dead.stderr
            assert reason in dead.stderr
            assert dead.stdout == ""
            assert provider.refused <= 5 + 2 * 4, "the breaker lets its limit through, and what was under way"
            state = json.loads(skillopt(folder, "status", "--json").stdout)["runs"][0]
            assert (state["state"], reason in state["reason"]) == ("failed", True)
            provider.left = 10**6
            resumed = skillopt(folder, *command())
        assert resumed.returncode == 0, resumed.stderr
        result = json.loads(resumed.stdout)
        assert result["resumed"]
        assert result["versions"]
        with closing(Ledger.open(folder, read_only=True)) as ledger:
            kept = ledger.counts()
        assert provider.answered <= kept["rollout"] + kept["reply"] + 2, "all but the probes of both commands are kept"


def test_a_provider_that_lets_nobody_in_is_noticed_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_anthropic(lambda _: messages.failure(401, "some_error", "invalid x-api-key")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        ended = skillopt(project, *command())
        assert len(server.requests) == 1
    assert (ended.returncode, "HTTP 401: invalid x-api-key" in ended.stderr) == (3, True)


def test_a_command_that_may_take_no_longer_stops_first(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with fake_anthropic() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        ended = skillopt(project, *command(), "--set", "max_minutes=5")
        assert ended.returncode == 3, ended.stderr
        assert "5 minutes leaves no time" in (ended.stderr)
        state = json.loads(skillopt(project, "status", "--json").stdout)["runs"][0]["state"]
        assert state == "stopped"
        assert json.loads(skillopt(project, *command()).stdout)["resumed"]


def test_a_skill_with_evals_is_trained_by_a_judge_of_its_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evals = project / "skills" / "rows" / "evals"
    entries = []
    for number in range(20):
        place = evals / "files" / str(number) / "input.csv"
        place.parent.mkdir(parents=True)
        place.write_text(f"id,email\n{number}, Name{number}@EXAMPLE.com \n", encoding="utf-8")
        expected = [f'The result contains "name{number}@example.com".', "It is a table."]
        entry = {"id": number, "prompt": f"Clean input {number}.", "expectations": expected}
        entries.append({**entry, "files": [f"evals/files/{number}/input.csv"]})
    written = json.dumps({"skill_name": "rows", "evals": entries})
    (evals / "evals.json").write_text(written, encoding="utf-8")
    (project / "skillopt.toml").write_text(PRICES, encoding="utf-8")
    with fake_anthropic() as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        run = command(skill="skills/rows")
        own = ("--suite", "skills/rows/evals/evals.json")  # before the suite that is named like the skill
        ended = skillopt(project, *run, *own, "--set", "judge=anthropic/judge-model")
        asked = [request.body for request in server.requests]
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert result["draft"]["grading"]["grade"] == "proven here"
    assert result["spent"]["judge"]["usd"] is None, "nobody knows the price of judge-model"
    assert result["spent"]["judge"]["calls"] >= 2 * result["paid_rollouts"]
    optimizing = [json.dumps(body) for body in asked if "Task: reflect" in json.dumps(body)]
    assert optimizing
    assert any("met: The result contains" in prompt for prompt in optimizing)
    judging = [body for body in asked if "Task: judge" in json.dumps(body)]
    assert {body["model"] for body in judging} == {"judge-model"}
