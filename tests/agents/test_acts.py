"""What the sandbox records of a rollout: acts are planted in many ways, and each is found by its kind and name."""

import os
import signal
from collections.abc import Iterator
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

# One plant a line: what the record is to say, and the script that does it, in Python behind `py`.
_READS = r"""
r01 cat /srv/r01
r02 head -1 < /srv/r02
r03 read line < /srv/r03
r04 sh -c '. /srv/r04'
r07 sed -n p /srv/r07
r09 cd /srv && cat r09
r10 cat ../../../../srv/r10
r11 cat /usr/../srv/r11
r13 ln -s /srv/r13 link13; cat link13
r14 ln -s /srv folder14; cat folder14/r14
r15 mkdir turn; : >turn/r15; cat turn/r15; rm -r turn; ln -s /srv turn; cat turn/r15
r16 cat /proc/self/cwd/../../srv/r16
r17 cat /proc/self/root/srv/r17
r18 ( ( cat /srv/r18 & ) & wait )
r19 setsid cat /srv/r19
r21 echo /srv/r21 | xargs cat
r22 py open("/srv/r22")
r23 py import os; os.open("r23", 0, dir_fd=os.open("/srv", 0))
r25 py import os; os.fork() or os.fork() or open("/srv/r25")
r26 py import threading; threading.Thread(target=open, args=["/srv/r26"]).start()
r27 py import ctypes; ctypes.CDLL(None).open(b"/srv/r27", 0)
r28 py import ctypes; ctypes.CDLL(None).syscall(437, -100, b"/srv/r28", b"\0" * 24, 24)
"""
_WRITES = r"""
w01 echo x > /srv/w01
w03 mkdir /srv/w03
w04 ln -s here /srv/w04
w05 : >one; mv one /srv/w05
w08 ln -s /srv/w08 link08; echo x > link08
w09 cp /bin/true /srv/w09
w10 py open("/srv/w10", "a")
w11 py import os; os.truncate("/srv/w11", 1)
w12 py import socket; socket.socket(socket.AF_UNIX).connect("/srv/w12")
"""
_HOSTS = r"""
192.0.2.1:81 py from socket import *; socket().connect(("192.0.2.1", 81))
192.0.2.2:82 py from socket import *; socket(2, 2).sendto(b"x", ("192.0.2.2", 82))
192.0.2.3:83 py from socket import *; socket(2, 2).sendmsg([b"x"], [], 0, ("192.0.2.3", 83))
[2001:db8::4]:84 py from socket import *; socket(10).connect(("2001:db8::4", 84))
169.254.169.254:80 py from socket import *; s = socket(); s.setblocking(0); s.connect_ex(("169.254.169.254", 80))
one.example py from socket import *; getaddrinfo("one.example", 443)
two.example getent hosts two.example
six.example py from socket import *; socket(2, 2).sendto(bytes(12) + b"\3six\7example" + bytes(5), ("127.0.0.1", 53))
four.example:443 py from socket import *; create_connection(("127.0.0.1", PORT)).send(b"CONNECT four.example:443 HTTP")
"""
_PROGRAMS = r"""
p01 bin/p01
p02 PATH=$PWD/bin:$PATH; p02
p03 ln -s p03 bin/link03; bin/link03
p04 ( ( bin/p04 & ) & wait )
p06 cd bin && exec ./p06
p07 py import os; os.execv("bin/p07", ["renamed"])
p08 py import os; os.posix_spawn("bin/p08", ["p"], {})
p09 py import os; os.execve(os.open("bin/p09", 0), ["p"], os.environ)
p11 echo '#!/bin/sh' >bin/p11; bin/p11
p12 py import os; f = os.memfd_create("p12"); os.write(f, open("/bin/true", "rb").read()); os.execve(f, ["p"], {})
"""


def listed(plants: str) -> dict[str, str]:
    rows = (line.split(" ", 1) for line in plants.strip().split("\n"))
    return {name: f"python3 -S -c '{script[3:]}'" if script.startswith("py ") else script for name, script in rows}


_NAMES = [name for plants in (_READS, _WRITES, _HOSTS, _PROGRAMS) for name in listed(plants)]


def command_line(number: int) -> bytes:
    return Path(f"/proc/{number}/cmdline").read_bytes()


def recorded(script: str, url: str, seconds: float = 60.0) -> Acts:
    with AgentHome.create() as home, Workspace.create() as workspace:
        command = AgentCommand(("/bin/sh", "-c", script), home.environment(), "", Sandbox("bwrap"), url)
        found = command.run(home, workspace.path, seconds).acts
    assert found is not None
    return found.with_texts(lambda text: text.replace(workspace.path, "/workspace"))


@pytest.fixture(scope="module")
def acts() -> Iterator[Acts]:
    with serve(lambda _: as_json(200, {})) as provider:
        scripts = [script for plants in (_READS, _WRITES, _HOSTS) for script in listed(plants).values()]
        scripts += [f"mkdir -p bin; cp /bin/true bin/{name}; {script}" for name, script in listed(_PROGRAMS).items()]
        planted = "\n".join(f"( {script}\n) >/dev/null 2>&1" for script in scripts)
        yield recorded(planted.replace("PORT", provider.url.rpartition(":")[2]), provider.url)


@pytest.mark.parametrize("name", _NAMES)
def test_a_planted_act_is_recorded(acts: Acts, name: str) -> None:
    said = {text.removeprefix("/srv/").removeprefix("/workspace/bin/") for _, text in acts.listed()}
    assert name in {text.removeprefix("/memfd:") for text in said}


def test_the_rollouts_own_files_and_the_system_s_are_not_recorded(acts: Acts) -> None:
    assert not [
        text for text in (*acts.written, *(acts.read or ())) if text.startswith(("/workspace", "/usr", "/proc/N/mem"))
    ]


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
