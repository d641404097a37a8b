"""Train descriptions on trigger sets, held out by request, with a simulated model that counts words.

    python -m benchmarks.triggers FOLDER ... [--client demo|claude-code|codex] [--repeats 1]

Each FOLDER holds a skill and its trigger set; all of them are installed beside each other. What is simulated: the model
that chooses a skill counts words it shares with a description, and the one that writes descriptions adds words of
missed requests. With `demo` the listing is simulated, too; with a client it is the client's own, cut as it cuts it, and
the model answers on loopback. So the table shows that measuring, splitting, training and gating work on sets that
others wrote; it says nothing about how a real model chooses.
"""

import argparse
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from skillopt.commands.trigger import TrainedTriggers, train_triggers
from skillopt.errors import SkilloptError
from skillopt.project import Selection
from skillopt.skills.discovery import skill_name
from skillopt.suites.formats import find_triggers
from skillopt.triggers.plan import TriggerAsk
from skillopt.triggers.quality import TriggerRate
from tools.fake_providers.fake_anthropic import fake_anthropic
from tools.fake_providers.fake_openai import fake_openai
from tools.fake_providers.skill_chooser import choose_by_claude_listing, choose_by_codex_listing
from tools.fetch_agents import find_agent

__all__ = ["main"]

_HEAD = "| skill | requests: training + held out | recall before → after | false triggers before → after | verdict |"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one row for each skill."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--client", choices=["demo", "claude-code", "codex"], default="demo")
    parser.add_argument("--repeats", type=int, default=1)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="skillopt-triggers-") as place, _client(given.client):
        project = _project(Path(place), given.folders)
        print(f"{len(given.folders)} skills beside each other; {given.client}, simulated model\n\n{_HEAD}")
        print("| --- " * (_HEAD.count("|") - 1) + "|")
        for folder in given.folders:
            flags = {"harness": given.client if given.client != "codex" else "codex/gpt-5", "model": "demo"}
            ask = TriggerAsk(Selection(skill_name(folder.name), flags, folder=project), repeats=given.repeats)
            print(_row(skill_name(folder.name), ask), flush=True)
    return 0


def _row(name: str, ask: TriggerAsk) -> str:
    try:
        found = train_triggers(ask)
    except SkilloptError as error:
        return f"| {name} | | | | {str(error).replace('|', '/')} |"
    return f"| {name} | {found.train_requests} + {found.held_out_requests} | {_held_out(found)} |"


def _held_out(found: TrainedTriggers) -> str:
    seen = found.held_out
    if seen is None:
        return f"| | {found.reason}"
    recall = f"{_short(seen.recall_before)} → {_short(seen.recall_after)}"
    false = f"{_short(seen.false_before)} → {_short(seen.false_after)}"
    return f"{recall} | {false} | {found.reason}"


def _short(rate: TriggerRate) -> str:
    return f"{rate.hits}/{rate.of} ({rate.low:.0%} to {rate.high:.0%})"


def _project(place: Path, folders: Sequence[Path]) -> Path:
    """Make a repository of the skills, each with its SKILL.md and its trigger sets, wherever they lie in its folder."""
    for folder in folders:
        to = place / "skills" / skill_name(folder.name)
        (to / "evals").mkdir(parents=True)
        document = min(folder.rglob("SKILL.md"), key=lambda path: (len(path.parts), path))
        shutil.copyfile(document, to / "SKILL.md")
        for inner in {document.parent, folder}:
            for found in find_triggers(inner):
                shutil.copyfile(found, to / "evals" / found.name)
    commands = (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "skills"])
    identity = ("-c", "user.name=benchmark", "-c", "user.email=benchmark@example.com")
    for command in commands:
        subprocess.run(["git", *identity, *command], cwd=place, check=True)
    for key, value in (("user.name", "benchmark"), ("user.email", "benchmark@example.com")):
        subprocess.run(["git", "config", key, value], cwd=place, check=True)
    return place


@contextmanager
def _client(name: str) -> Iterator[None]:
    """Let a client talk to a model on loopback, with its program first on the PATH."""
    with ExitStack() as stack:
        if name == "claude-code":
            server = stack.enter_context(fake_anthropic(choose_by_claude_listing))
            os.environ |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key-for-loopback-only"}
        if name == "codex":
            server = stack.enter_context(fake_openai(choose_by_codex_listing))
            os.environ |= {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "key-for-loopback-only"}
        program = find_agent(name.partition("-")[0]) if name != "demo" else None
        if program is not None:
            os.environ["PATH"] = f"{program.parent}{os.pathsep}{os.environ['PATH']}"
        yield


if __name__ == "__main__":
    raise SystemExit(main())
