"""Nights in which an agent and a verifier look for secrets: tokens of the forge are nowhere that they can read."""

import html
import json
import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from skillopt.execution.credentials import exposure_warning
from skillopt.sandbox.bubblewrap import Sandbox
from tests.fakes.fake_forge import FakeForge
from tests.fakes.nights import Nights, make_nights
from tests.fakes.projects import git, skillopt, skillopt_process
from tests.fakes.spy import read_findings, write_spy

pytestmark = pytest.mark.process

KEY = "sk-" + secrets.token_hex(20)
"""Key of a provider that the target does not need."""

needs_bwrap = pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here")


def token() -> str:
    """Make a token that no other test has."""
    return "ghp_" + secrets.token_hex(18)


def spy_as_agent(nights: Nights, place: Path, forge_token: str, *options: str) -> dict[str, int]:
    """Run a whole night with a spy in place of Claude Code; give what it found."""
    programs = place / "programs"
    programs.mkdir()
    write_spy(programs / "claude", nights.folder, forge=forge_token, key=KEY)
    environment = {
        **nights.environment,
        "GITHUB_TOKEN": forge_token,
        "OPENAI_API_KEY": KEY,
        "ANTHROPIC_API_KEY": "key-for-loopback-only",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
    }
    chosen = ("--set", "harness=claude-code", *options)
    ended = skillopt_process(nights.folder, "nightly", "--json", *chosen, **environment)
    assert ended.returncode == 3, ended.stderr
    ((reason,),) = ([row["reason"] for row in json.loads(ended.stdout)["skills"]],)
    return read_findings(reason)


def test_an_agent_without_a_sandbox_finds_no_token_of_the_forge(tmp_path: Path, forge: FakeForge) -> None:
    nights = make_nights(tmp_path, forge)
    found = spy_as_agent(nights, tmp_path, token(), "--set", "sandbox=none")
    assert found["forge"] == 0
    assert found["key"] > 0  # so it can read other processes: what it did not find is not there
    assert found["places"] > 20


@needs_bwrap
def test_an_agent_in_the_sandbox_finds_no_key_either(tmp_path: Path, forge: FakeForge) -> None:
    nights = make_nights(tmp_path, forge)
    found = spy_as_agent(nights, tmp_path, token(), "--set", "sandbox=bwrap")
    assert (found["forge"], found["key"]) == (0, 0)


def test_a_verifier_finds_no_token_of_the_forge(tmp_path: Path, forge: FakeForge) -> None:
    nights, own = make_nights(tmp_path, forge), token()
    spy = write_spy(nights.folder / "suites" / "spy.py", nights.folder, forge=own, key=KEY)
    suite = nights.folder / "suites" / "rows.jsonl"
    lines = [json.loads(line) for line in suite.read_text().splitlines()]
    verifier = {"kind": "command", "argv": ["python", "spy.py"], "answer": "said", "files": {"spy.py": spy.name}}
    suite.write_text("".join(json.dumps({**line, "verifier": verifier}) + "\n" for line in lines))
    git(nights.folder, "add", ".")
    git(nights.folder, "commit", "--quiet", "-m", "A verifier that looks around")
    environment = {**nights.environment, "GITHUB_TOKEN": own, "OPENAI_API_KEY": KEY}
    ended = skillopt_process(nights.folder, "nightly", "--json", "--max-rollouts", "30", **environment)
    assert ended.returncode in (0, 3), ended.stderr
    (run,) = [row["run"] for row in json.loads(ended.stdout)["skills"]]
    page = tmp_path / "report.html"
    skillopt(nights.folder, "report", run, "--output", str(page))
    found = read_findings(html.unescape(page.read_text(encoding="utf-8")))
    assert found["forge"] == 0


def test_training_refuses_a_token_in_its_environment_or_git_s_configuration(tmp_path: Path, forge: FakeForge) -> None:
    nights = make_nights(tmp_path, forge)
    state = tmp_path / "state.json"
    assert nights.step("check", "--output", str(state), **nights.environment).returncode == 0
    assert nights.environment["GITHUB_TOKEN"] not in state.read_text()
    steps = ("--state", str(state), "--output", str(tmp_path / "out"))
    ended = nights.step("train", *steps, **nights.environment)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "environment, found GITHUB_TOKEN" in ended.stderr
    assert "GITHUB_TOKEN skillopt nightly train" in ended.stderr
    git(nights.folder, "config", "http.https://github.com/.extraheader", "AUTHORIZATION: basic eA==")
    ended = nights.step("train", *steps)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert "persist-credentials: false" in ended.stderr
    assert not (nights.folder / ".skillopt" / "ledger.db").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux shows environments there")
def test_a_process_that_waits_forgets_its_tokens_where_the_system_shows_them_and_has_them_after() -> None:
    own = token()
    program = (
        "import os, pathlib, sys; from skillopt.execution.credentials import run_without_credentials as run;"
        "look = 'import pathlib, os; p = os.getppid();"
        'print(len(pathlib.Path(f"/proc/{p}/environ").read_bytes()), file=__import__("sys").stderr);'
        'print(pathlib.Path(f"/proc/{p}/environ").read_bytes() + bytes(str(dict(os.environ)), "utf-8"),'
        'file=__import__("sys").stderr)\';'
        "code = run([sys.executable, '-c', look], pathlib.Path('/'));"
        "print(code, os.environ['GITHUB_TOKEN'])"
    )
    copies = {"MY_URL": f"https://x:{own}@example.com", "HOMEBREW_GITHUB_API_TOKEN": own}
    header = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "http.extraHeader", "GIT_CONFIG_VALUE_0": f"Bearer {own}"}
    environment = {**os.environ, **copies, **header, "GITHUB_TOKEN": own, "SSH_AUTH_SOCK": "/run/agent-socket"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout == f"0 {own}\n"
    assert "GITHUB_TOKEN=xxxx" in ended.stderr
    assert own not in ended.stderr
    assert not any(f"'{name}'" in ended.stderr for name in (*copies, *header, "SSH_AUTH_SOCK"))


def test_what_stays_readable_without_a_sandbox_is_said_in_one_line() -> None:
    environment = {"OPENAI_API_KEY": "sk-1234567890", "PATH": "/bin"}
    said = exposure_warning("none", environment)
    assert "agents can read OPENAI_API_KEY" in said
    assert exposure_warning("none", {"PATH": "/bin"}) == ""
