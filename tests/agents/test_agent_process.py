"""A client is ended when told, leaves nothing running, and sees nothing of the machine; shown on scripts."""

import json
from pathlib import Path

import pytest

from skillopt.errors import FailureKind, ProviderError
from skillopt.protocols import RolloutRequest
from skillopt.rollouts import Status, Usage
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.claude_code.client import ClaudeCodeHarness, ClaudeCodeModel, find_claude_credential
from skillopt.targets.codex.client import CodexHarness, CodexModel
from skillopt.targets.process import AgentCommand, AgentHome, prepare_folder, program_version
from skillopt.targets.stream import ClientRun
from skillopt.tasks import File, Task, VerifierSpec
from tests.fakes.projects import git

SKILL = Skill(
    "rows", SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n"), (File("x.sh", b"#!/bin/sh\n"),)
)
TASK = Task("t1", "Clean it.", VerifierSpec("exact"))
CLAUDE = (
    {"type": "system", "subtype": "init", "skills": ["rows"]},
    {"type": "assistant", "message": {"id": "a", "model": "m", "content": [{"type": "text", "text": "Done."}]}},
    {"type": "result", "subtype": "success", "num_turns": 1, "result": "Done.", "total_cost_usd": 0.25},
)
CODEX = (
    {"type": "item.completed", "item": {"type": "agent_message", "text": "Done."}},
    {"type": "turn.completed", "usage": {"input_tokens": 3, "output_tokens": 2}},
)


def script(folder: Path, lines: str, version: str = "9.8.7") -> str:
    """Write a program that stands in for a client."""
    place = folder / "client"
    place.write_text(f'#!/bin/sh\n[ "$1" = --version ] && {{ echo "{version} (Client)"; exit; }}\n{lines}\n')
    place.chmod(0o755)
    return str(place)


def saying(*events: object) -> str:
    return "cat >/dev/null; cat <<'END'\n" + "\n".join(json.dumps(event) for event in events) + "\nEND"


def run(folder: Path, lines: str, seconds: float = 20.0) -> ClientRun:
    (folder / "work").mkdir()
    with AgentHome.create() as home:
        command = AgentCommand((script(folder, lines),), home.environment(), "the prompt")
        return command.run(home, str(folder / "work"), seconds)


def test_the_prompt_is_the_input_and_then_the_input_ends(tmp_path: Path) -> None:
    assert run(tmp_path, "cat; echo :end").stdout == "the prompt:end\n"


def test_a_client_whose_time_is_over_may_say_its_last_word(tmp_path: Path) -> None:
    ended = run(tmp_path, "trap 'echo last; exit 0' INT; while :; do sleep 0.05; done", 0.5)
    assert (ended.stdout, ended.interrupted) == ("last\n", True)


def test_a_client_that_does_not_listen_is_killed(tmp_path: Path) -> None:
    ended = run(tmp_path, "trap '' INT; while :; do sleep 0.05; done", 0.2)
    assert ended.exit_status == -9


def test_a_client_sees_nothing_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_TOKEN", "must-stay-here")
    monkeypatch.setenv("CLAUDECODE", "1")
    names = {line.partition("=")[0] for line in run(tmp_path, "env").stdout.splitlines()}
    assert {"HOME", "TMPDIR", "PATH", "LANG"} <= names
    assert not {"OTHER_TOKEN", "CLAUDECODE"} & names


def test_a_program_that_tells_no_version_is_broken(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no; exit 3\n")
    broken.chmod(0o755)
    with pytest.raises(ProviderError, match=r"crashed: expected .* status 3") as caught:
        program_version(str(broken))
    assert caught.value.kind is FailureKind.CRASHED


def test_a_skill_is_installed_whole_in_a_repository(tmp_path: Path) -> None:
    prepare_folder(str(tmp_path), ".claude/skills/rows", (File("SKILL.md", b"x"), File("scripts/a.sh", b"#!/bin/sh\n")))
    assert git(tmp_path, "rev-parse", "--show-toplevel") == str(tmp_path.resolve())
    assert git(tmp_path, "status", "--porcelain") == "?? .claude/"
    assert (tmp_path / ".claude/skills/rows/SKILL.md").read_bytes() == b"x"
    assert (tmp_path / ".claude/skills/rows/scripts/a.sh").stat().st_mode & 0o100


def test_a_rollout_with_claude_code_is_told_from_its_stream(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    program = script(tmp_path, f"echo 1 > made.txt; {saying(*CLAUDE)}")
    harness = ClaudeCodeHarness("opus", program=program, base_url="http://127.0.0.1:9")
    trajectory = harness.run(RolloutRequest(SKILL, TASK), str(workspace))
    assert (trajectory.status, trajectory.answer, trajectory.files_changed) == (Status.OK, "Done.", ("made.txt",))
    assert [turn.text for turn in trajectory.messages] == ["Clean it.", "skill rows loaded: yes (forced)", "Done."]
    assert trajectory.usage == Usage(1, 0, 0, 0.25)
    assert harness.identity.startswith("claude-code 9.8.7 model=opus mode=forced max_turns=30")


def test_a_skill_that_claude_code_does_not_take_is_missing_data(tmp_path: Path) -> None:
    program = script(tmp_path, saying({**CLAUDE[0], "skills": []}, *CLAUDE[1:]))
    trajectory = ClaudeCodeHarness(program=program).run(RolloutRequest(SKILL, TASK), str(tmp_path))
    assert trajectory.status is Status.INFRA_ERROR
    assert trajectory.reason.startswith("bad_request: claude did")


def test_a_rollout_with_codex_is_told_from_its_stream_and_its_record(tmp_path: Path) -> None:
    record = json.dumps({"text": "<skill>\n<name>rows</name>"})
    keep = f"mkdir -p $CODEX_HOME/sessions/1; cat > $CODEX_HOME/sessions/1/rollout-1.jsonl <<'END'\n{record}\nEND\n"
    harness = CodexHarness("m", program=script(tmp_path, keep + saying(*CODEX)), max_tokens=9, sandbox="none")
    trajectory = harness.run(RolloutRequest(SKILL, TASK), str(tmp_path))
    assert "rows loaded: yes (forced)" in trajectory.messages[1].text
    assert (trajectory.status, trajectory.answer, trajectory.usage) == (Status.OK, "Done.", Usage(1, 3, 2, None))
    assert harness.identity == "codex 9.8.7 model=m mode=forced max_tokens=9"


def test_models_answer_through_the_clients_and_tell_their_failures(tmp_path: Path) -> None:
    claude = ClaudeCodeModel("opus", program=script(tmp_path, saying(*CLAUDE)))
    assert claude.reply("?").text == "Done."
    assert claude.identity == "claude-code 9.8.7 model=opus"
    assert CodexModel(program=script(tmp_path, saying(*CODEX))).reply("?").text == "Done."
    failing = CodexModel(
        program=script(tmp_path, saying({"type": "turn.failed", "error": {"message": "Quota exceeded"}}))
    )
    with pytest.raises(ProviderError, match="quota: Quota exceeded") as caught:
        failing.reply("?")
    assert caught.value.kind is FailureKind.QUOTA


def test_a_login_is_passed_on_without_what_would_renew_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert find_claude_credential() is None
    assert [file.path for file in CodexModel().config()] == ["config/config.toml"]
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".codex").mkdir()
    login = {"claudeAiOauth": {"accessToken": "short-lived", "refreshToken": "long-lived"}}
    (tmp_path / ".claude/.credentials.json").write_text(json.dumps(login))
    tokens = {"tokens": {"access_token": "short-lived", "refresh_token": "long-lived"}, "last_refresh": "now"}
    (tmp_path / ".codex/auth.json").write_text(json.dumps(tokens))
    assert find_claude_credential() == ("CLAUDE_CODE_OAUTH_TOKEN", "short-lived")
    _, copied = CodexModel().config()
    assert json.loads(copied.content) == {**tokens, "tokens": {"access_token": "short-lived", "refresh_token": ""}}


def test_a_key_comes_before_a_login_and_is_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-for-loopback-only")
    (config,) = CodexModel("m").config()
    assert b"https://api.openai.com/v1" in config.content
    assert b"key-for-loopback-only" not in config.content


def test_the_native_program_is_found_behind_the_script_of_npm(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules" / "@openai"
    native = modules / "codex-linux-x64" / "vendor" / "musl" / "bin" / "codex"
    for place in (modules / "codex" / "bin" / "codex.js", native):
        place.parent.mkdir(parents=True)
        place.write_text("#!/bin/sh\n")
        place.chmod(0o755)
    link = tmp_path / "codex"
    link.symlink_to(modules / "codex" / "bin" / "codex.js")
    assert CodexModel(program=str(link)).path == str(native)


def test_a_client_that_is_too_old_is_refused(tmp_path: Path) -> None:
    program = script(tmp_path, saying(), version="0.1.2")
    with pytest.raises(ProviderError, match=r"found 0\.1\.2"):
        _ = ClaudeCodeHarness(program=program).identity
    with pytest.raises(ProviderError, match=r"version 0\.169 or newer, found 0\.1\.2"):
        _ = CodexModel(program=program).identity
