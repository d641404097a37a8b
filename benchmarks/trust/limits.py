"""Rollouts that start processes without end or take all memory: are they ended, and is nothing left?"""

import os
import sys
from pathlib import Path
from typing import Final

from benchmarks.trust.table import ClassResult, Found
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.limits import Limits
from skillopt.sandbox.processes import run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.targets.process import AgentCommand, AgentHome

__all__ = ["try_limits"]

_MARK: Final = "trust-runaway-process"
_FORKS: Final = (
    f"import os, time\nfor _ in range(500):\n    os.fork() or (time.sleep(60), os._exit(0))\ntime.sleep(60)  # {_MARK}"
)
_TREE: Final = f"import os, time\nfor _ in range(8):\n    os.fork()\ntime.sleep(60)  # {_MARK}, 256 processes"
_MEMORY: Final = f"kept = []\nwhile len(kept) < 64:\n    kept.append(b'x' * (16 << 20))  # {_MARK}, up to 1 GiB"
_DETACHED: Final = f"import os, time\nos.fork() and os._exit(0)\nos.setsid()\ntime.sleep(60)  # {_MARK}"
_SECONDS: Final = 20.0


def try_limits(*, quick: bool) -> Found:
    """Run each as an agent, with the limits of a rollout and as is usual in the sandbox where there is one."""
    programs = {"forks": _FORKS, "detached": _DETACHED}
    if not quick:
        programs |= {"tree of forks": _TREE}
    failures = _try_memory()
    for name, code in programs.items():
        with Workspace.create(()) as workspace, AgentHome.create() as home:
            argv = (sys.executable, "-I", "-c", code)
            command = AgentCommand(argv, home.environment(), "", Sandbox("auto"), "http://provider.invalid")
            ended = command.run(home, workspace.path, _SECONDS)
        if name == "forks" and not ended.exceeded:
            failures.append(f"limits, {name}: ended without a word: {ended}")
        failures += [f"limits, {name}: process {number} is left" for number in _left()]
    return (ClassResult("runaway rollouts", len(programs) + 1, len(failures)),), failures


def _try_memory() -> list[str]:
    """Take more memory than a limit that is so small that nobody else on this machine minds."""
    limits = Limits(256, 256 << 20, 1 << 30)
    with Workspace.create(()) as workspace:
        argv = (sys.executable, "-I", "-c", _MEMORY)
        ended = run_process(argv, workspace.path, {}, _SECONDS, limits=limits)
    left = [f"limits, memory: process {number} is left" for number in _left()]
    return left if "memory" in ended.exceeded else [f"limits, memory: ended without a word: {ended}", *left]


def _left() -> list[int]:
    """Find what still runs; of those, this process is none."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and int(entry.name) != os.getpid() and _is_marked(entry):
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def _is_marked(entry: Path) -> bool:
    return _MARK.encode() in (entry / "cmdline").read_bytes() and ") Z " not in (entry / "stat").read_text()
