"""A skill is trained on Harbor tasks by their own tests, with the real Claude Code and a scripted model."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.sandbox.bubblewrap import Sandbox
from tests.fakes.projects import git, skillopt_process
from tools.fake_providers.fake_anthropic import blocks_of, fake_anthropic, message, text_of, use
from tools.fake_providers.loopback import Answer, Body

pytestmark = [
    pytest.mark.agents,
    pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here"),
]

HEAD = "---\nname: labels\ndescription: Gives the labels of parts.\n---\n# Labels\n\n- Be brief.\n"
RULE = "- Labels have small letters only."
PARTS = [f"{letter}{number}X" for letter in "AB" for number in range(2)]
SETTINGS = """\
[skills.labels]
suite = "suites/labels"
gate = "paired"
confidence = 0.6
accept = "here"
"""


def make_project(folder: Path) -> None:
    """Make a skill, and beside it tasks of Harbor, of which one has a solution that does not pass."""
    files = {"skills/labels/SKILL.md": HEAD, "skillopt.toml": SETTINGS}
    for part in [*PARTS, "BAD"]:
        label = part.lower()
        files |= {
            f"labels/{part}/task.toml": "[environment]\nallow_internet = true\n",
            f"labels/{part}/instruction.md": f"Write the label of part {part} to /srv/label.txt.\n",
            f"labels/{part}/environment/Dockerfile": "FROM ubuntu:24.04\nWORKDIR /srv\n",
            f"labels/{part}/tests/test.sh": (
                f'[ "$(cat /srv/label.txt)" = {label} ]\necho $((1 - $?)) > /logs/verifier/reward.txt\n'
            ),
            f"labels/{part}/solution/solve.sh": f"echo {'?' if part == 'BAD' else label} > /srv/label.txt\n",
        }
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Parts")):
        git(folder, *("-c", "user.name=A", "-c", "user.email=a@example.com"), *arguments)


def play(body: Body) -> Answer:
    """Write what is asked for, as the rules say that the model is shown; propose the one that is missing."""
    blocks = [block for _, block in blocks_of(body)]
    text = "\n".join(map(text_of, blocks))
    if "Task: reflect on failures" in text:
        cited = re.findall(r"^### Task (\S+)", text.partition("<<<evidence ")[2], re.MULTILINE)
        edit = {"op": "add", "content": RULE, "file": "SKILL.md", "rationale": "Letters are small.", "tasks": cited}
        return message(
            body, [{"type": "text", "text": json.dumps({"diagnosis": "No form is named.", "edits": [edit]})}]
        )
    part = (re.findall(r"the label of part (\w+) to", text) or [""])[-1]
    if not part or any(block.get("type") == "tool_result" for block in blocks):
        return message(body, [{"type": "text", "text": "Done."}])
    label = part.lower() if RULE in text else part
    return message(body, [use("Bash", {"command": f"echo {label} > /srv/label.txt", "description": "Write it"})])


def test_a_skill_is_trained_on_harbor_tasks_by_their_own_tests(
    agent: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_project(tmp_path)
    monkeypatch.setenv("PATH", str(Path(agent("claude")).parent), prepend=":")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    driver = "claude-code/fake-model"
    with fake_anthropic(play) as provider:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", provider.url)
        imported = skillopt_process(tmp_path, "import", "labels", "--to", "suites/labels")
        checked = skillopt_process(tmp_path, "suite", "check", "labels")
        ended = skillopt_process(tmp_path, "optimize", "labels", "--harness", driver, "--model", driver, "--yes")
    assert imported.returncode == 0, imported.stderr
    assert "oracle: in 4 of 5 tasks" in checked.stdout
    assert ended.returncode == 0, ended.stderr
    assert "4 tasks loaded, 1 skipped" in ended.stderr
    assert RULE in git(tmp_path, "show", "skillopt/labels:skills/labels/SKILL.md")
    assert "Val-After: 2 of 2" in git(tmp_path, "log", "-1", "--format=%B", "skillopt/labels")
    assert not Path("/srv/label.txt").exists()
