"""Real agents with a scripted model: instruction files, a reference and a script are trained, each in its own file."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from skillopt.tasks import Split
from tests.fakes.projects import git, skillopt_process
from tools.fake_providers.fake_anthropic import blocks_of, fake_anthropic, message, use
from tools.fake_providers.fake_anthropic import text_of as anthropic_text
from tools.fake_providers.fake_openai import fake_openai, response, shell, texts_of
from tools.fake_providers.loopback import Answer, Body

pytestmark = pytest.mark.agents

HEAD = "---\nname: labels\ndescription: Gives the labels of parts.\n---\n# Labels\n\n"
PAGE = "# Labels\n\n- Be brief.\n"
RULE = "- Labels have small letters only."
SCRIPT = 'import sys\n\nprint("label:", sys.argv[1])\n'
CASES = {
    "claude-code": ({"CLAUDE.md": PAGE}, "", "CLAUDE.md"),
    "codex": ({"AGENTS.md": PAGE}, "", "AGENTS.md"),
    "claude-code reads AGENTS.md": ({"AGENTS.md": PAGE}, "", "AGENTS.md"),
    "claude-code with a reference": (
        {"SKILL.md": f"{HEAD}Read references/form.md.\n", "references/form.md": PAGE},
        "cat .claude/skills/labels/references/form.md",
        "references/form.md",
    ),
    "codex with a script": (
        {"SKILL.md": f"{HEAD}Say what scripts/label.py PART prints.\n", "scripts/label.py": SCRIPT},
        "python3 .agents/skills/labels/scripts/label.py {part}",
        "scripts/label.py",
    ),
}


def think(text: str, command: str, file: str, *, called: bool) -> tuple[str, str]:
    """Answer with what the scripted model says, and the command that it runs first."""
    if "Task: reflect on failures" in text:
        rule: dict[str, object] = {"op": "add", "content": RULE}
        change: dict[str, object] = {"op": "replace", "anchor": "sys.argv[1]", "content": "sys.argv[1].lower()"}
        edit = {**(change if file.endswith(".py") else rule), "file": file, "rationale": "Letters are capitals."}
        edit["tasks"] = re.findall(r"^### Task (\S+)", text.partition("<<<evidence ")[2], re.MULTILINE)
        return json.dumps({"diagnosis": "No form is named.", "edits": [edit]}), ""
    part = (re.findall(r"What is the label of part (\w+)\?", text) or [""])[-1]
    if part and command and not called:
        return "I look first.", command.format(part=part)
    printed = re.findall(r"label: (\w+)", text)
    return (printed[-1] if printed else part.lower() if RULE in text else part) or "ready", ""


def make_project(folder: Path, files: dict[str, str]) -> None:
    is_skill = "SKILL.md" in files
    for path, text in files.items():
        place = folder / ("skills/labels" if is_skill else "") / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    parts = [(split, f"{split[0].upper()}{number}X") for split in (Split.TRAIN, Split.VAL) for number in range(3)]
    asked = {
        part: {"id": part, "split": split, "prompt": f"What is the label of part {part}?"} for split, part in parts
    }
    checks = {part: {"verifier": {"kind": "exact", "value": part.lower(), "ignore_case": False}} for part in asked}
    rows = [json.dumps({**asked[part], **checks[part]}) for part in asked]
    (folder / "labels.jsonl").write_text("\n".join(rows), encoding="utf-8")
    table = '[skills.labels]\nreferences = "train"\nscripts = "train"\n' if is_skill else "[documents.labels]\n"
    table += "" if is_skill else f"paths = {json.dumps(list(files))}\n"
    settings = 'suite = "labels.jsonl"\ngate = "paired"\nconfidence = 0.7\n'
    (folder / "skillopt.toml").write_text(f"{table}{settings}", encoding="utf-8")
    for arguments in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "Parts")):
        git(folder, *("-c", "user.name=A", "-c", "user.email=a@example.com"), *arguments)


@pytest.mark.parametrize("case", CASES)
def test_what_the_agent_reads_or_runs_is_trained_in_its_own_file(
    case: str, agent: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files, command, file = CASES[case]
    make_project(tmp_path, files)
    client = case.partition(" ")[0]

    def claude(body: Body) -> Answer:
        blocks = [block for _, block in blocks_of(body)]
        called = any(block.get("type") == "tool_use" for block in blocks)
        text, run = think("\n".join(map(anthropic_text, blocks)), command, file, called=called)
        call = [use("Bash", {"command": run, "description": "Look"})] if run else []
        return message(body, [{"type": "text", "text": text}, *call])

    def codex(body: Body) -> Answer:
        called = any(str(item.get("type")).endswith("_call") for item in body["input"] if isinstance(item, dict))
        text, run = think("\n".join(texts_of(body)), command, file, called=called)
        return response(body, text, shell(body, run) if run else None)

    monkeypatch.setenv("PATH", str(Path(agent(client.partition("-")[0])).parent), prepend=":")
    served = fake_anthropic(claude) if client == "claude-code" else fake_openai(codex)
    vendor = "ANTHROPIC" if client == "claude-code" else "OPENAI"
    monkeypatch.setenv(f"{vendor}_API_KEY", "key-for-loopback-only")
    with served as provider:
        monkeypatch.setenv(f"{vendor}_BASE_URL", provider.url + ("" if client == "claude-code" else "/v1"))
        driver, compared = f"{client}/fake-model", ("--of", "none", "--of", "worktree", "--of", "incumbent")
        ended = skillopt_process(tmp_path, "optimize", "labels", "--harness", driver, "--model", driver, "--yes")
        assert ended.returncode == 0, ended.stderr
        if file.endswith(".py"):  # a script that changed is a draft until a person takes it
            draft = git(tmp_path, "log", "-1", "skillopt-draft/labels")
            assert "scripts/label.py is a script" in draft
            assert skillopt_process(tmp_path, "take", "labels").returncode == 0
        told = skillopt_process(tmp_path, "evaluate", "labels", "--harness", driver, *compared).stdout
    changed = git(tmp_path, "show", "--format=", "--name-only", "skillopt/labels").splitlines()
    assert changed == [f"skills/labels/{file}" if "SKILL.md" in files else file]
    passed = re.findall(r"^(\w+): (\d) of 3 tasks passed", told, re.MULTILINE)
    assert passed == [("none", "0"), ("worktree", "0"), ("incumbent", "3")]
