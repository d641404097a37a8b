"""What the harness of an agent adds to the agent's own time.

Owns the comparison of a rollout with the bare client: the same command line, environment, home and
workspace, started directly. The provider is a loopback fake that follows the skill.
"""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from statistics import median

from skillopt.protocols import Harness, RolloutRequest
from skillopt.rollouts import Status
from skillopt.sandbox.bubblewrap import Sandbox, SandboxChoice
from skillopt.sandbox.workspace import Workspace
from skillopt.skills.document import Skill, SkillDocument
from skillopt.targets.claude_code.client import ClaudeCodeHarness
from skillopt.targets.codex.client import CodexHarness
from skillopt.tasks import File, Task, VerifierSpec
from tools.fake_providers.fake_anthropic import fake_anthropic
from tools.fake_providers.fake_openai import fake_openai
from tools.fake_providers.loopback import LoopbackServer
from tools.fetch_agents import find_agent

__all__ = ["agent_overheads"]

_RUNS = 15
_TASK = Task("t", "Clean input.csv.", VerifierSpec("exact"), (File("input.csv", b"id,email\n1,ANN@Example.com\n"),))
_SKILL = Skill("rows", SkillDocument("---\nname: rows\ndescription: Cleans tables.\n---\n# Rows\n\n- Trim spaces.\n"))
# Stands in for the client once, to keep what the harness would have started it with.
_KEEPER = """#!/bin/sh
[ "$1" = --version ] && { echo "99.0.0 (keeper)"; exit; }
cp -R "$HOME" "%(kept)s/home"; cp -R . "%(kept)s/workspace"; cat >"%(kept)s/prompt"
env -0 >"%(kept)s/env"; printf '%%s\\0' "$@" >"%(kept)s/args"; printf %%s "$HOME" >"%(kept)s/was"
"""


def agent_overheads() -> Iterator[tuple[str, float, float]]:
    """Yield (what, median ratio, bare seconds) for each client that was fetched, without and in the sandbox."""
    os.environ.update(ANTHROPIC_API_KEY="key-for-loopback-only", OPENAI_API_KEY="key-for-loopback-only")
    for name in ("claude", "codex"):
        program = find_agent(name)
        if program is None:
            continue
        boxes: tuple[SandboxChoice, ...] = ("none", "bwrap") if Sandbox("auto").active else ("none",)
        for box in boxes:
            with _fake(name) as server, tempfile.TemporaryDirectory() as kept:
                make = _maker(name, server, box)
                keeper = Path(kept, "keeper")
                keeper.write_text(_KEEPER % {"kept": kept}, encoding="utf-8")
                keeper.chmod(0o755)
                with Workspace.create(_TASK.files) as workspace:
                    _maker(name, server, "none")(str(keeper)).run(RolloutRequest(_SKILL, _TASK), workspace.path)
                bare, ours = [], []
                for _ in range(_RUNS):  # in turn, so that a change of the machine's speed meets both alike
                    bare.append(_bare(str(program), Path(kept)))
                    ours.append(_rollout(make(str(program))))
            where = "in the sandbox" if box == "bwrap" else "without a sandbox"
            ratio = median(slow / fast for slow, fast in zip(ours, bare, strict=True))
            yield f"a rollout of {name} {where}, times the bare client", ratio, median(bare)


def _fake(name: str) -> AbstractContextManager[LoopbackServer]:
    return fake_anthropic() if name == "claude" else fake_openai()


def _maker(name: str, server: LoopbackServer, box: SandboxChoice) -> Callable[[str], Harness]:
    if name == "claude":
        return lambda program: ClaudeCodeHarness(program=program, base_url=server.url, sandbox=box)
    return lambda program: CodexHarness("fake-model", program=program, base_url=f"{server.url}/v1", sandbox=box)


def _rollout(harness: Harness) -> float:
    begun = time.perf_counter()
    with Workspace.create(_TASK.files) as workspace:
        trajectory = harness.run(RolloutRequest(_SKILL, _TASK), workspace.path)
    seconds = time.perf_counter() - begun
    if trajectory.status is not Status.OK:
        raise RuntimeError(trajectory.reason)
    return seconds


def _bare(program: str, kept: Path) -> float:
    """Time the client alone, in fresh copies of home and workspace that were made before."""
    with tempfile.TemporaryDirectory() as folder:
        home, workspace = f"{folder}/home", f"{folder}/workspace"
        shutil.copytree(kept / "home", home)
        shutil.copytree(kept / "workspace", workspace)
        was = (kept / "was").read_text(encoding="utf-8")
        pairs = (kept / "env").read_text(encoding="utf-8").strip("\0").split("\0")
        environment = dict(pair.replace(was, home).split("=", 1) for pair in pairs)
        environment["PWD"] = workspace
        arguments = (kept / "args").read_text(encoding="utf-8").split("\0")[:-1]
        with (kept / "prompt").open("rb") as prompt:
            begun = time.perf_counter()
            subprocess.run(
                [program, *arguments], cwd=workspace, env=environment, stdin=prompt, check=True, capture_output=True
            )
            return time.perf_counter() - begun
