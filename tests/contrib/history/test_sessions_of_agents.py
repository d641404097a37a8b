"""Claude Code with a scripted model: from a clone with merged changes to a trained line of AGENTS.md."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.suites import load_suite
from tests.fakes.merged_history import code_of, make_history
from tests.fakes.projects import git, skillopt_process
from tools.fake_providers.fake_anthropic import blocks_of, fake_anthropic, message, text_of, use
from tools.fake_providers.loopback import Answer, Body

pytestmark = pytest.mark.agents

RULE = "- Amounts are whole cents."
CHANGES = 6


def play(body: Body) -> Answer:
    """Write the module that is asked for, in cents only where the rule is read; propose the rule for failures."""
    blocks = [block for _, block in blocks_of(body)]
    text = "\n".join(map(text_of, blocks))
    if "Task: reflect on failures" in text:
        tasks = re.findall(r"^### Task (\S+)", text.partition("<<<evidence ")[2], re.MULTILINE)
        edit = {"op": "add", "file": "AGENTS.md", "content": RULE, "rationale": "Tests want cents.", "tasks": tasks}
        return message(body, [{"type": "text", "text": json.dumps({"diagnosis": "No unit.", "edits": [edit]})}])
    asked = re.findall(r"`def read_(\w+)\(text\)` in `ledger/", text)
    if not asked or any(block.get("type") == "tool_use" for block in blocks):
        return message(body, [{"type": "text", "text": "Done."}])
    code = code_of(asked[-1], cents=RULE in text)
    command = f"cat > ledger/{asked[-1]}.py <<'END'\n{code}END"
    return message(body, [use("Bash", {"command": command, "description": "Write the module"})])


def test_merged_changes_of_a_clone_train_a_line_of_agents_md(
    agent: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_history(tmp_path / "origin", CHANGES)
    git(tmp_path, "clone", "-q", "origin", "clone")
    clone, driver = tmp_path / "clone", "claude-code/fake-model"
    with (clone / "skillopt.toml").open("a", encoding="utf-8") as config:
        config.write('gate = "paired"\nconfidence = 0.7\n')
    monkeypatch.setenv("PATH", str(Path(agent("claude")).parent), prepend=":")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    found = json.loads(
        skillopt_process(
            clone, "harvest", "agents", "--commits", "--test", f"{sys.executable} -m pytest", "--json"
        ).stdout
    )
    assert len(found["candidates"]) == CHANGES
    accepted = skillopt_process(clone, "harvest", "agents", "all", "--accept")
    assert accepted.returncode == 0, accepted.stderr
    with fake_anthropic(play) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        ended = skillopt_process(clone, "optimize", "agents", "--harness", driver, "--model", driver, "--yes")
        assert ended.returncode == 0, ended.stderr
        compared = ("--of", "worktree", "--of", "incumbent")
        told = skillopt_process(clone, "evaluate", "agents", "--harness", driver, *compared).stdout
    changed = git(clone, "show", "--format=", "skillopt/agents")

    assert len(load_suite(clone / "suites" / "agents").splits) == CHANGES
    assert [line for line in changed.splitlines() if line.startswith("+") and line[1:2] != "+"] == [f"+{RULE}"]
    assert re.findall(r"^(\w+): (\d) of 3 tasks passed", told, re.MULTILINE) == [("worktree", "0"), ("incumbent", "3")]
