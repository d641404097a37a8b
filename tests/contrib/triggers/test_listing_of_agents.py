"""The listing budget as the real clients keep it, for a library of 300 skills."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Final

import pytest

from skillopt.contrib.triggers.library import Library, listed_texts
from skillopt.contrib.triggers.listing import CLIENTS, ListedSkill, list_skills
from skillopt.project import Project
from skillopt.skills.document import SkillDocument
from tests.fakes.skill_chooser import listed_by_claude
from tools.fake_providers import fake_anthropic
from tools.fake_providers.loopback import Answer, Body

pytestmark = pytest.mark.agents

CLAUDE, _, CODEX = CLIENTS
WORDS: Final = ("merge", "forms", "sales", "schema", "Schlüssel", "日本語", "“quoted”", "deploy")
CODEX_ROOT: Final = re.compile(r"^- `r\d+` = `([^`]+)`$", re.MULTILINE)
CODEX_ITEM: Final = re.compile(r"^- ([\w-]+):(?: (.*?))? \(file: (.*)\)$", re.MULTILINE)


def library(folder: Path, count: int) -> dict[str, str]:
    """Write skills whose descriptions have from 20 to 1,600 characters; return these by name."""
    draw, found = Random(7), {}
    for at in range(count):
        name, length = f"{draw.choice(WORDS[:4])}-{at:03}", draw.choice((20, 30, 80, 200, 600, 1600))
        text = f"Skill {name}"
        while len(text) < length:
            text += f" {draw.choice(WORDS)}"
        found[name] = text[:length].rstrip() + "."
        (folder / name).mkdir(parents=True)
        front = f"---\nname: {name}\ndescription: {json.dumps(found[name], ensure_ascii=False)}\n---\n"
        (folder / name / "SKILL.md").write_text(f"{front}# Skill\n\nDo it.\n", encoding="utf-8")
    return found


def environment(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path), **more}


def listed_of_claude(program: str, workspace: Path, tmp_path: Path) -> dict[str, str]:
    listed: list[dict[str, str]] = []

    def answer(body: Body) -> Answer:
        listed.append(listed_by_claude(body))
        return fake_anthropic.message(body, [{"type": "text", "text": "Done."}])

    argv = [program, "-p", "hello", "--model", "claude-sonnet-4-5", "--setting-sources", "project", "--max-turns", "1"]
    with fake_anthropic.fake_anthropic(answer) as server:
        access = {"ANTHROPIC_API_KEY": "key-for-loopback-only", "ANTHROPIC_BASE_URL": server.url}
        quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
        run = {"env": environment(tmp_path, **access, **quiet), "stdin": subprocess.DEVNULL, "capture_output": True}
        subprocess.run(argv, cwd=workspace, check=True, timeout=120, **run)  # type: ignore[call-overload]  # the same for all
    return max(listed, key=len)


def test_claude_code_shows_the_descriptions_that_the_budget_holds(agent: Callable[[str], str], tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    texts = library(workspace / ".claude" / "skills", 300)
    listed = listed_of_claude(agent("claude"), workspace, tmp_path)
    listing = list_skills(CLAUDE, [ListedSkill(name, text, "") for name, text in texts.items()])
    assert {name: len(listed[name]) for name in texts} == listing.shown
    assert listing.silent


def items_of_codex(program: str, workspace: Path, tmp_path: Path) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Return name, description and path of each skill that the client lists, and the roots of these paths."""
    home = tmp_path / "codex"
    home.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=workspace, check=True)
    argv = [program, "debug", "prompt-input", "-c", 'model="gpt-5"', "hello"]
    env = environment(tmp_path, CODEX_HOME=str(home))
    shown = subprocess.run(argv, cwd=workspace, env=env, check=True, capture_output=True, text=True, timeout=120)
    parts = [part.get("text", "") for item in json.loads(shown.stdout) for part in item.get("content", ())]
    told = next(part for part in parts if "<skills_instructions>" in part)
    return CODEX_ITEM.findall(told), CODEX_ROOT.findall(told)


def test_what_clients_make_of_other_fields_and_of_skills_without_a_description(
    agent: Callable[[str], str], tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    fronts = {
        "both": "description: Merges.\nwhen_to_use: For forms.",
        "folded": "description: |\n  One.\n  Two.",
        "hidden": "description: Merges.\ndisable-model-invocation: true",
        "none": "license: MIT",
    }
    documents = {name: SkillDocument(f"---\nname: {name}\n{front}\n---\n# Head\n") for name, front in fronts.items()}
    for name, document in documents.items():
        for place in (".claude", ".agents"):
            (workspace / place / "skills" / name).mkdir(parents=True)
            (workspace / place / "skills" / name / "SKILL.md").write_text(document.text, encoding="utf-8")
    texts = {name: listed_texts(document) for name, document in documents.items()}
    claude, _, codex = Library(Project.read(workspace), texts).listings
    listed = listed_of_claude(agent("claude"), workspace, tmp_path)
    assert {name: len(text) for name, text in listed.items() if name in fronts} == claude.shown
    items, _ = items_of_codex(agent("codex"), workspace, tmp_path)
    assert {name: len(text) for name, text, _ in items if name in fronts} == codex.shown
    assert (listed["both"], sorted(codex.shown)) == ("Merges. - For forms.", ["both", "folded", "hidden"])


def test_codex_shortens_descriptions_as_the_budget_says(agent: Callable[[str], str], tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    texts = library(workspace / ".agents" / "skills", 300)
    items, roots = items_of_codex(agent("codex"), workspace, tmp_path)
    paths = {name: path for name, _, path in items}
    assert set(paths) == {*texts, *dict(CODEX.sharing)}
    listing = list_skills(CODEX, [ListedSkill(name, text, paths[name]) for name, text in texts.items()], roots)
    for name, text, _ in items:
        if name in texts:
            assert text.rstrip() == texts[name][: listing.shown[name]].rstrip()
    assert listing.shortened
