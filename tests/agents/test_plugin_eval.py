"""Cases that `import --as plugin-eval` writes, run by the real `claude plugin eval` with a model on loopback."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.rollouts import Message, ToolCall, Trajectory
from skillopt.sandbox.workspace import Workspace
from skillopt.suites.checks import TaskCheck, criterion, text_check, verifier_of
from skillopt.suites.plugin_cases import write_cases
from skillopt.tasks import File, Task
from skillopt.verifiers import load_verifier
from tools.fake_providers.fake_anthropic import Block, fake_anthropic, message
from tools.fake_providers.loopback import Answer, Body

pytestmark = pytest.mark.agents


def copy_once(body: Body) -> Answer:
    """Write the copy, then say so; what judges is asked without tools."""
    if "Write" not in {tool.get("name") for tool in body.get("tools") or ()}:
        return message(body, [{"type": "text", "text": "no"}])
    if "tool_result" in json.dumps(body["messages"]):
        return message(body, [{"type": "text", "text": "The table is copied."}])
    copy: Block = {"file_path": "out.csv", "content": "7,8\n"}
    return message(body, [{"type": "tool_use", "id": "toolu_1", "name": "Write", "input": copy}])


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A plugin with one skill, and an empty home."""
    for name, text in {
        ".claude-plugin/plugin.json": '{"name": "orders", "version": "1.0.0", "description": "Orders."}',
        "skills/orders/SKILL.md": "---\nname: orders\ndescription: Use for orders.\n---\nCopy the table.\n",
    }.items():
        (tmp_path / "orders" / name).parent.mkdir(parents=True)
        (tmp_path / "orders" / name).write_text(text, encoding="utf-8")
    (tmp_path / "home").mkdir()
    for name, value in {
        "HOME": str(tmp_path / "home"),
        "CLAUDE_CONFIG_DIR": str(tmp_path / "home" / ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "IS_SANDBOX": "1",
        "ANTHROPIC_API_KEY": "key-for-loopback-only",
    }.items():
        monkeypatch.setenv(name, value)
    return tmp_path / "orders"


def test_the_real_client_reads_every_grader_and_scores_as_we_do(
    agent: Callable[[str], str], plugin: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = [
        text_check(["is copied", "a|b (c) #-&~ é"], ignore_case=True),
        TaskCheck("regex", {"pattern": r"(?P<x>sorry)\s*\Ab\Z", "absent": True, "dotall": True}),
        TaskCheck("exact", {"value": "The table is copied."}),
        TaskCheck("file", {"path": "out.csv", "contains": "7,8"}),
        TaskCheck("file", {"path": "*.csv", "written": True}),
        TaskCheck("file", {"path": "lost.txt", "exists": False}),
        TaskCheck("tool_used", {"tool": "Write", "arguments": "out.csv", "min": 1, "max": 1}),
        TaskCheck("tool_used", {"tool": "Read", "min": 1}),
        TaskCheck("tool_order", {"steps": [{"tool": "Write"}, {"tool": "Read"}]}),
        TaskCheck("tool_order", {"steps": [{"tool": "Read"}, {"tool": "Write"}]}),
    ]
    task = Task("copy", "Copy data/in.csv to out.csv.", verifier_of(checks), (File("data/in.csv", b"7,8\n"),))
    judged = Task("judged", "Is it copied?", verifier_of([criterion("Says that the table is copied.")]))
    for file in write_cases((task, judged)).files:
        (plugin / "evals" / file.path).parent.mkdir(parents=True, exist_ok=True)
        (plugin / "evals" / file.path).write_bytes(file.content)

    with fake_anthropic(copy_once) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        flags = ("--runs", "1", "--ablation", "none", "--trust-plugin", "--no-publish", "--scaffold", "--json")
        command = [agent("claude"), "plugin", "eval", str(plugin), *flags, "--allow-tools", "Write"]
        ended = subprocess.run(
            command, cwd=plugin, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300
        )

    with Workspace.create((*task.files, File("out.csv", b"7,8\n"))) as workspace:
        calls = (ToolCall("Write", '{"file_path": "out.csv"}', ""),)
        left = Trajectory((Message("assistant", "", calls),), "The table is copied.", ("out.csv",)), workspace.path
        ours = [load_verifier(part).score(*left).passed for part in task.verifier.parts]
    found = {case["name"]: case for case in json.loads(ended.stdout)["cases"]}
    (ran,) = found["copy"]["arms"]["with"]
    assert [grader["passed"] for grader in ran["graders"]] == ours, ran["graders"]
    assert [grader["type"] for grader in found["judged"]["graders"]] == ["llm"]
