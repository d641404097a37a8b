"""An agent that a table describes, shown on small scripts: what it is given, how its output is read, how it ends."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from skillopt.agent_table import AgentTable
from skillopt.errors import InfrastructureError, ProviderError, SettingsError
from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Status, Trajectory, Usage
from skillopt.sandbox import bubblewrap
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.settings import SkillMode
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.claude_code.stream import ClaudeStream
from skillopt.targets.codex.stream import CodexStream
from skillopt.targets.command_line.client import CommandLineHarness
from skillopt.targets.stream import ClientRun, ClientStream, Ending
from skillopt.tasks import File, Task, VerifierSpec
from tests.contracts.harness_contract import HarnessContract

SKILL = Skill(
    "rows",
    SkillDocument("---\nname: rows\ndescription: Rows.\n---\n# Rows\n\n- Trim spaces.\n"),
    (File("scripts/x.sh", b"#!/bin/sh\n"),),
)
TASK = Task("t1", "Clean it.", VerifierSpec("exact"), timeout=20)
needs_bwrap = pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here")
LINES: dict[str, object] = {
    "answer": {"when": {"type": "text"}, "text": "part.text"},
    "tool": {"when": {"type": "tool"}, "name": "name", "input": "input", "id": "id"},
    "result": {"when": {"type": "result"}, "id": "id", "text": "output", "failed": {"ok": False}},
    "usage": {"when": {"type": "usage"}, "input": ["in", "cached"], "cached": "cached", "output": "out"},
    "error": {"when": {"type": "error"}, "text": "message", "status": "status"},
}


def agent(folder: Path, lines: str, mode: SkillMode = SkillMode.FORCED, **fields: object) -> CommandLineHarness:
    """Make a harness of a script that stands in for an agent."""
    place = folder / "agent.sh"
    place.write_text(f"#!/bin/sh\n{lines}\n")
    place.chmod(0o755)
    table = AgentTable.model_validate({"command": ["{project}/agent.sh"], **fields})
    return CommandLineHarness("my-agent", table, folder, mode=mode.value, sandbox="none")


def run(harness: Harness, folder: Path, task: Task = TASK, skill: Skill | None = SKILL) -> Trajectory:
    (folder / "work").mkdir()
    return harness.run(RolloutRequest(skill, task), str(folder / "work"))


def said(*events: object) -> str:
    return "cat >/dev/null; cat <<'END'\n" + "\n".join(json.dumps(event) for event in events) + "\nEND"


class TestHarness(HarnessContract):
    @pytest.fixture(params=["forced", "discovery"])
    def harness(self, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Harness:
        lines = "cat >/dev/null; cp input.csv output.csv; echo Wrote output.csv."
        return agent(tmp_path_factory.mktemp("agent"), lines, mode=SkillMode(request.param))


def test_a_forced_skill_stands_before_the_prompt_and_its_folder_is_there(tmp_path: Path) -> None:
    trajectory = run(agent(tmp_path, "cat; find .my/skills -type f | sort", skills=".my/skills"), tmp_path)
    assert ".my/skills/rows. Its document" in trajectory.answer.splitlines()[0]
    assert "- Trim spaces.\n</skill>\n\nClean it." in trajectory.answer
    assert trajectory.answer.endswith(".my/skills/rows/SKILL.md\n.my/skills/rows/scripts/x.sh")
    assert "rows loaded: yes (forced)" in trajectory.messages[1].text
    assert trajectory.files_changed == ()


@pytest.mark.parametrize(
    ("command", "lines"),
    [
        (["{project}/agent.sh"], "cat"),
        (["{project}/agent.sh", "--prompt={prompt}"], 'echo "${1#--prompt=}"; cat'),
        (["{project}/agent.sh", "{prompt_file}"], 'cat "$1"; cat'),
    ],
)
def test_the_prompt_is_input_argument_or_file(tmp_path: Path, command: list[str], lines: str) -> None:
    harness = agent(tmp_path, lines, command=command, mode=SkillMode.DISCOVERY)
    assert run(harness, tmp_path).answer == "Clean it."


def test_a_prompt_that_no_argument_can_hold_is_missing_data_that_says_what_to_do(tmp_path: Path) -> None:
    harness = agent(tmp_path, "true", command=["{project}/agent.sh", "{prompt}"])
    with pytest.raises(ProviderError, match="longer than 100000 bytes; pass"):
        run(harness, tmp_path, Task("t1", "x" * 100_001, VerifierSpec("exact")))


def test_it_sees_the_keys_of_its_table_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "the-key")
    monkeypatch.setenv("OTHER_TOKEN", "must-stay-here")
    environment = {"CONFIG": "{config}/c.json", "ASKED": "{url}"}
    files = {"config/c.json": '{"url": "{url}", "model": "{model}", "x": "{env:KEPT}"}'}
    harness = agent(
        tmp_path,
        'env; cat "$CONFIG"; case "$CONFIG" in "$HOME"/*) echo; echo within;; esac',
        keys=["MY_KEY"],
        environment=environment,
        files=files,
        url=["http://127.0.0.1:9/v1"],
    )
    trajectory = run(harness, tmp_path)
    assert "MY_KEY=the-key" in trajectory.answer
    assert "must-stay-here" not in trajectory.answer
    assert '"http://127.0.0.1:9/v1", "model": "", "x": "{env:KEPT}"}' in trajectory.answer


def test_lines_of_json_tell_messages_calls_results_and_consumption(tmp_path: Path) -> None:
    events = (
        {"type": "text", "part": {"text": "I look."}},
        {"type": "tool", "id": "a", "name": "skill", "input": {"name": "rows"}},
        {"type": "tool", "id": "b", "name": "bash", "input": {"command": "ls"}},
        {"type": "result", "id": "a", "output": "loaded"},
        {"type": "result", "id": "b", "output": "no such", "ok": False},
        {"type": "usage", "in": 100, "cached": 20, "out": 7},
        {"type": "text", "part": {"text": "Done."}},
        {"type": "usage", "in": 200, "cached": 40, "out": 3},
    )
    harness = agent(tmp_path, f"echo not json; {said(*events)}; echo '{{cut'", SkillMode.DISCOVERY, **LINES)
    trajectory = run(harness, tmp_path)
    first, second = trajectory.messages[2:]
    assert (trajectory.status, trajectory.answer, second.text) == (Status.OK, "Done.", "Done.")
    assert [(call.name, call.arguments, call.result) for call in first.tool_calls] == [
        ("skill", '{"name": "rows"}', "loaded"),
        ("bash", '{"command": "ls"}', "[failed] no such"),
    ]
    assert trajectory.usage == Usage(2, 360, 10, None)
    assert "rows loaded: yes (discovery)" in trajectory.messages[1].text


def test_one_json_document_is_read_whatever_was_printed_before_it(tmp_path: Path) -> None:
    fields: dict[str, object] = {"answer": {"text": "results.0.text"}, "usage": {"input": "tokens", "usd": "cost"}}
    document = json.dumps({"results": [{"text": "Yes."}], "tokens": 5, "cost": 0.25}, indent=1)
    trajectory = run(
        agent(tmp_path, f"cat >/dev/null; echo Loading; cat <<'END'\n{document}\nEND", SkillMode.FORCED, **fields),
        tmp_path,
    )
    assert (trajectory.answer, trajectory.usage) == ("Yes.", Usage(1, 5, 0, 0.25))


@pytest.mark.parametrize(
    ("call", "told"),
    [
        ({"name": "read", "input": {"path": "x/rows/SKILL.md"}}, "yes"),
        ({"name": "bash", "input": "ls"}, "no"),
        ({"name": "activate_skill", "input": {"name": "other"}}, "no"),
    ],
)
def test_whether_a_skill_was_loaded_is_read_from_the_tools(tmp_path: Path, call: dict[str, object], told: str) -> None:
    events = ({"type": "tool", "id": "1", **call}, {"type": "text", "part": {"text": "Done."}})
    trajectory = run(agent(tmp_path, said(*events), SkillMode.DISCOVERY, **LINES), tmp_path)
    assert f"rows loaded: {told} (discovery)" in trajectory.messages[1].text


ERROR = {"type": "error", "message": "sorry", "status": 401}
ENDINGS: dict[str, tuple[str, dict[str, object], Status, str]] = {
    "nothing": ("true", {}, Status.INFRA_ERROR, "empty: the agent printed nothing"),
    "no JSON": ("echo hello", LINES, Status.INFRA_ERROR, "malformed: expected JSON, found 'hello'"),
    "other JSON": (said({"a": 1}), LINES, Status.INFRA_ERROR, "empty: expected an answer, found 1 JSON objects in"),
    "error": (said(ERROR), LINES, Status.INFRA_ERROR, "auth: sorry"),
    "error, then more": (said(ERROR, {"type": "text", "part": {"text": "ok"}}), LINES, Status.OK, ""),
    "status 3": ("echo rate limit >&2; exit 3", {}, Status.INFRA_ERROR, "rate_limit: my-agent ended with status 3"),
    "limit": ("echo ok; exit 53", {"limit_statuses": [53]}, Status.LIMIT, "limit: my-agent ended with status 53: "),
    "killed": ("kill -9 $$", {}, Status.INFRA_ERROR, "crashed: my-agent ended with status -9"),
}


@pytest.mark.parametrize("case", ENDINGS)
def test_how_it_ended_is_told_by_status_and_words(tmp_path: Path, case: str) -> None:
    lines, fields, status, reason = ENDINGS[case]
    trajectory = run(agent(tmp_path, lines, SkillMode.FORCED, **fields), tmp_path)
    assert (trajectory.status, trajectory.reason[: len(reason)]) == (status, reason)


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("while :; do sleep 0.05; done", Status.INFRA_ERROR),
        ("echo x > out.txt; while :; do sleep 0.05; done", Status.TIMEOUT),
    ],
)
def test_one_that_hangs_counts_where_it_had_done_something(tmp_path: Path, lines: str, status: Status) -> None:
    trajectory = run(agent(tmp_path, lines), tmp_path, Task("t1", "Wait.", VerifierSpec("exact"), timeout=0.4))
    assert trajectory.status is status
    assert trajectory.reason.startswith("timeout: ")


@pytest.mark.process
@needs_bwrap
def test_in_the_sandbox_it_sees_its_own_script_and_writes_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "answers.csv").write_text("secret")
    other = tmp_path.parent / "evil"
    lines = f"cat {tmp_path}/answers.csv; echo evil > {tmp_path}/evil; echo evil > {other}; ls {tmp_path}"
    harness = replace(agent(tmp_path, f"exec 2>/dev/null; {lines}; echo in > out.txt"), sandbox="bwrap")
    trajectory = run(harness, tmp_path)
    assert (trajectory.status, trajectory.answer.split()) == (Status.OK, ["agent.sh", "evil", "work"])
    assert trajectory.files_changed == ("out.txt",)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["agent.sh", "answers.csv", "work"]
    assert not other.exists()
    assert harness.identity.endswith(" sandbox=bwrap")


def test_a_program_that_is_missing_is_told_by_its_name(tmp_path: Path) -> None:
    harness = agent(tmp_path, "true", command=["no-such-agent", "run"])
    for ask in (lambda: harness.identity, lambda: run(harness, tmp_path)):
        with pytest.raises(InfrastructureError, match="'no-such-agent' on the PATH"):
            ask()


def test_identity_changes_with_table_program_model_and_mode(tmp_path: Path) -> None:
    plain = agent(tmp_path, "cat")
    found = {plain.identity, agent(tmp_path, "cat", turns=3, environment={"TURNS": "{turns}"}).identity}
    found |= {agent(tmp_path, "cat", mode=SkillMode.DISCOVERY).identity, agent(tmp_path, "cat; true").identity}
    assert len(found) == 4
    assert plain.identity.startswith("my-agent files=")
    assert str(tmp_path) not in plain.identity


def test_a_cap_in_dollars_needs_a_bound_on_requests(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="many requests it makes"):
        agent(tmp_path, "cat").worst_case(RolloutRequest(None, TASK))
    assert (
        agent(tmp_path, "cat", turns=4, environment={"TURNS": "{turns}"}).worst_case(RolloutRequest(None, TASK)).calls
        == 5
    )


@pytest.mark.parametrize("word", ["{project}/secret", "--config={project}/secret"])
def test_a_file_of_the_user_is_not_shown_as_one_of_the_project(tmp_path: Path, word: str) -> None:
    project = tmp_path / "project"
    (project / "inside").mkdir(parents=True)
    (tmp_path / "outside").write_text("of the user")
    (project / "secret").symlink_to(tmp_path / "outside")
    with pytest.raises(SettingsError, match="outside"):
        _ = agent(project, "cat", command=["{project}/agent.sh", word]).identity


def test_without_a_sandbox_no_program_is_asked_for_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "_trouble", lambda: "bubblewrap (bwrap) is missing")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    harness = agent(tmp_path, f"touch {tmp_path}/ran; echo 1.0", command=["agent.sh"])
    assert " program=" in harness.identity
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("stream", [ClaudeStream(""), CodexStream('{"type": "turn.completed"}')])
def test_a_client_over_its_limits_ends_with_the_status_limit(stream: ClientStream) -> None:
    ended = ClientRun("client", -9, interrupted=True, exceeded="more than 256 processes")
    reason = "limit: the rollout was ended because it used more than 256 processes"
    assert stream.ending(ended) == Ending(Status.LIMIT, reason)
