"""Acts of an agent beside its task, planted in many ways: what is recorded of them, and what recording costs."""

import sys
import time
import tomllib
from pathlib import Path
from statistics import median
from typing import Final

from benchmarks.trust.classes import ClassResult, Found
from skillopt.rollouts import Acts
from skillopt.sandbox.bubblewrap import Sandbox, box_agent, endpoints_of
from skillopt.sandbox.processes import run_process
from skillopt.sandbox.workspace import Workspace
from skillopt.targets.process import AgentCommand, AgentHome
from skillopt.tasks import File
from tools.fake_providers.loopback import as_json, serve

_MOST_TIMES: Final = 1.1
_SECONDS: Final = 60.0
_NOWHERE: Final = "http://provider.example"


def _plants() -> dict[str, str]:
    found = {}
    for kind, lines in tomllib.loads(Path(__file__).with_name("acts.toml").read_text(encoding="utf-8")).items():
        for name, script in (line.split(" ", 1) for line in lines.strip().splitlines()):
            made = f"mkdir -p bin; cp /bin/true bin/{name}; " if kind == "programs" else ""
            found[name] = made + (f"python3 -S -c '{script[3:]}'" if script.startswith("py ") else script)
    return found


PLANTS: Final = _plants()
"""What the record is to say → the script that does it."""


def recorded_plants() -> Acts:
    """Do all that is planted in one rollout, and return what was recorded."""
    planted = "\n".join(f"( {script}\n) >/dev/null 2>&1" for script in PLANTS.values())
    with serve(lambda _: as_json(200, {})) as provider, AgentHome.create() as home, Workspace.create() as workspace:
        argv = ("/bin/sh", "-c", planted.replace("PORT", provider.url.rpartition(":")[2]))
        command = AgentCommand(argv, home.environment(), "", Sandbox("bwrap"), provider.url)
        found = command.run(home, workspace.path, _SECONDS).acts or Acts()
        return found.with_texts(lambda text: text.replace(workspace.path, "/workspace"))


def names_of(acts: Acts) -> set[str]:
    """Return what was recorded, by the names of the plants."""
    said = {text.removeprefix("/srv/").removeprefix("/workspace/bin/") for _, text in acts.listed()}
    return {text.removeprefix("/memfd:") for text in said}


def recording_seconds(repetitions: int = 21) -> tuple[float, float]:
    """Time a program that starts 50 others and opens 2,000 files, recorded and not, in turn; medians."""
    opening = "for number in range(2000):\n    with open(f'file{number % 100}', 'rb' if number % 2 else 'wb'): pass"
    script = f'for one in $(seq 49); do /bin/true; done; exec {sys.executable} -S -c "{opening}"'
    times: dict[bool, list[float]] = {False: [], True: []}
    for repetition in range(2 * repetitions):
        with Workspace.create() as home, Workspace.create() as folder, Workspace.create([File("acts", b"")]) as outside:
            record = f"{outside.path}/acts" if repetition % 2 else ""
            argv = ("/bin/sh", "-c", script)
            command = box_agent(argv, home.path, folder.path, endpoints_of([_NOWHERE]), record=record)
            begun = time.perf_counter()
            run_process(command, folder.path, {}, _SECONDS)
            times[bool(record)].append(time.perf_counter() - begun)
    return median(times[True]), median(times[False])


def try_acts(*, quick: bool) -> Found:
    """Plant hosts, files outside and programs in a rollout: each must be recorded, in at most 1.1 times the time."""
    found = names_of(recorded_plants())
    missing = [name for name in PLANTS if name not in found]
    recording, bare = recording_seconds(3 if quick else 21)
    failures = [f"acts: {name} is not recorded" for name in missing]
    if recording > _MOST_TIMES * bare and not quick:
        failures.append(f"acts: recording takes {recording / bare:.2f} times the time")
    row = ClassResult(f"planted acts; recorded in {recording / bare:.2f} times the time", len(PLANTS), len(missing))
    return (row,), failures
