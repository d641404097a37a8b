"""The page on the first own skill, command by command, with the real Claude Code and a scripted model behind it.

`WRITE_TRANSCRIPTS=1` records the session anew in docs/examples/first-skill.md.
"""

import os
import re
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.changelog_agent import RULES, changelog_model
from tests.fakes.projects import git, skillopt_process
from tools.fake_providers.fake_anthropic import fake_anthropic

pytestmark = pytest.mark.agents

CHECKOUT = Path(__file__).resolve().parents[2]
PAGE = CHECKOUT / "docs" / "first-skill.md"
SESSION = CHECKOUT / "docs" / "examples" / "first-skill.md"
HEAD = """\
# A session: the first own skill

Recorded with the real Claude Code and a scripted model, which knows four rules, on loopback, by
`WRITE_TRANSCRIPTS=1 .venv/bin/python -m pytest tests/agents/test_first_skill.py`; prices are what the tokens would
cost. Progress lines are left out.

```console
"""
MOST_COMMANDS = 6
VARYING = "skillopt estimate"
"""How many runs it simulates depends on the time that they take."""


def shown_commands() -> list[str]:
    """List the commands of the page, without their remarks."""
    (block,) = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line.removeprefix("$ ").partition("#")[0].strip() for line in block.splitlines()]


def make_repository(folder: Path) -> Path:
    """Clone a repository that has the skill of the page and its tasks, and nothing else."""
    origin = folder / "origin"
    shutil.copytree(CHECKOUT / "docs" / "examples" / "first-skill", origin / "skills")
    subprocess.run(["git", "init", "-q", "-b", "main", str(origin)], check=True)
    git(origin, "config", "user.name", "A")
    git(origin, "config", "user.email", "a@example.com")
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "A skill and six evals")
    subprocess.run(["git", "clone", "-q", str(origin), str(folder / "clone")], check=True)
    git(folder / "clone", "config", "user.name", "A")
    git(folder / "clone", "config", "user.email", "a@example.com")
    return folder / "clone"


def skeleton(text: str) -> list[str]:
    """Take from a session what must be the same each time: no hashes, times, tokens, prices or estimates."""
    kept, skip = [], False
    for line in text.splitlines():
        skip = line.startswith(f"$ {VARYING}") if line.startswith("$ ") else skip
        if line.startswith("$ ") or not skip:
            kept.append(re.sub(r"\b[0-9a-f]{7,40}\b|\$?\d[\d.,:]*", "N", line).rstrip())
    return kept


def test_six_commands_lead_from_a_clone_to_a_graded_version_as_the_page_shows(
    agent: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = shown_commands()
    assert len(commands) <= MOST_COMMANDS
    monkeypatch.setenv("PATH", str(Path(agent("claude")).parent), prepend=":")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-loopback-only")
    folder, session, started = make_repository(tmp_path), HEAD, time.monotonic()
    with fake_anthropic(changelog_model) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        for command in commands:
            program, *words = shlex.split(command)
            if program == "git":
                said = git(folder, *words)
            else:
                ended = skillopt_process(folder, *words)
                assert ended.returncode == 0, f"{command}: {ended.stderr}"
                said = ended.stdout
            session += f"$ {command}\n{said.rstrip().replace(str(folder), '.')}\n"
    print(f"{len(commands)} commands, {time.monotonic() - started:.0f} s")  # noqa: T201 - what `make test-agents` shows
    trained = (folder / "skills" / "changelog-entry" / "SKILL.md").read_text(encoding="utf-8")
    assert all(rule in trained for name, rule in RULES.items() if name != "capital")
    assert re.search(r"accepted as version 1|proven", git(folder, "log", "--format=%B"))
    session += "```\n"
    if os.environ.get("WRITE_TRANSCRIPTS"):
        SESSION.write_text(session, encoding="utf-8")
    assert skeleton(session) == skeleton(SESSION.read_text(encoding="utf-8"))
