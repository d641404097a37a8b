"""What the sandbox records of a rollout: acts are planted in many ways, and each is found by its kind and name."""

import os
import signal
from pathlib import Path

import pytest

from skillopt.rollouts import Acts
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.limits import descendants
from skillopt.sandbox.workspace import Workspace
from skillopt.targets.process import AgentCommand, AgentHome
from tools.fake_providers.loopback import as_json, serve

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Sandbox("auto").active, reason="bubblewrap does not work here"),
]


def command_line(number: int) -> bytes:
    return Path(f"/proc/{number}/cmdline").read_bytes()


def recorded(script: str, url: str = "http://127.0.0.1:9") -> Acts:
    with AgentHome.create() as home, Workspace.create() as workspace:
        command = AgentCommand(("/bin/sh", "-c", script), home.environment(), "", Sandbox("bwrap"), url)
        found = command.run(home, workspace.path, 60.0).acts
    assert found is not None
    return found


def test_many_acts_of_a_kind_end_with_a_line_that_says_so() -> None:
    found = recorded(
        "for n in $(seq 500); do cat /srv/many$n; done 2>/dev/null; curl http://after.example", "http://127.0.0.1:9"
    )
    assert len(found.read or ()) == 101
    assert "more than 100" in (found.read or ())
    assert found.hosts == ("after.example",)


def test_a_program_whose_calls_make_no_sense_goes_on_and_the_record_does_too() -> None:
    nonsense = (
        'import ctypes; c = ctypes.CDLL(None); c.open(1, 0); c.syscall(59, 7, 0); c.connect(-1, 3, 9); open("/srv/x")'
    )
    assert "/srv/x" in (recorded(f"python3 -S -c '{nonsense}'", "http://127.0.0.1:9").read or ())


def test_the_end_of_the_recording_process_ends_the_rollout() -> None:
    def kill(_: object) -> object:
        mine = [number for number in descendants(os.getpid()) if b"\0outside\0" in command_line(number)]
        for number in mine:
            os.kill(number, signal.SIGKILL)
        return as_json(200, {})

    with serve(kill) as provider, AgentHome.create() as home, Workspace.create() as workspace:  # type: ignore[arg-type]  # the server takes any
        script = f"curl -s {provider.url}; sleep 60"
        command = AgentCommand(("/bin/sh", "-c", script), home.environment(), "", Sandbox("bwrap"), provider.url)
        ended = command.run(home, workspace.path, 50)
    assert (ended.exit_status, ended.interrupted) == (-signal.SIGKILL, False)
