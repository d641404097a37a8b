"""Have a session with the server, or train a skill, where there is nothing but the loopback device.

    unshare --net python -m tests.agents.loopback session|training PROGRAM FOLDER

The provider is there too. Prints as JSON what was said, which paths were requested, and what was sent elsewhere.
It refuses to run where there is another device.
"""

import fcntl
import json
import os
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tests.agents.sessions import WAYS, make_place, run_session
from tests.fakes.projects import make_project, skillopt_process
from tools.fake_providers.fake_openai import fake_openai
from tools.fake_providers.loopback import Requested

_DEVICE = b"lo"
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
# What a process sent to where no way leads, and what it sent to a port of loopback where nobody is.
_LOST = (
    *(("/proc/net/snmp", "Ip", "OutNoRoutes"), ("/proc/net/snmp", "Udp", "NoPorts")),
    *(("/proc/net/snmp", "Icmp", "OutDestUnreachs"), ("/proc/net/snmp6", "", "Ip6OutNoRoutes")),
)


def main(work: str, program: str, folder: Path) -> None:
    """Do the work with the loopback device alone."""
    devices = [name for _, name in socket.if_nameindex()]
    if devices != [_DEVICE.decode()]:
        sys.exit(f"expected only the loopback device, found {devices}")
    _raise_loopback()
    said, requests = _session(program, folder) if work == "session" else _train(folder)
    told = {"said": said, "requested": sorted({f"{asked.method} {asked.path}" for asked in requests}), "lost": _lost()}
    # Shows that the counters count: an address that documentation has to itself.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket, suppress(OSError):
        any_socket.sendto(b"x", ("192.0.2.1", 53))
    print(json.dumps({**told, "lost when something is sent elsewhere": _lost()}))  # noqa: T201 - what the test reads


def _session(program: str, folder: Path) -> tuple[str, Sequence[Requested]]:
    session = run_session(program, WAYS["claude-code, plugin"], make_place(folder))
    return session.ended.stdout, session.requests


def _train(folder: Path) -> tuple[str, Sequence[Requested]]:
    make_project(folder, tasks=6)
    drivers = ("--harness", "codex/fake-model", "--model", "codex/fake-model")
    with fake_openai() as provider:
        os.environ["OPENAI_BASE_URL"] = f"{provider.url}/v1"
        ended = skillopt_process(folder, "optimize", "rows", "--yes", "--json", *drivers, "--set", "confidence=0.8")
        if ended.returncode:
            sys.exit(ended.stderr)
        return ended.stdout, tuple(provider.requests)


def _raise_loopback() -> None:
    """Switch the loopback device on, which a new namespace has off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh14x", _DEVICE, 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, _GET_FLAGS, asked))
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", _DEVICE, flags | _UP))


def _lost() -> dict[str, int]:
    """Count what was sent to where nobody is, by the kernel's counters; those at zero are left out."""
    return {name: count for path, group, name in _LOST if (count := _counted(path, group, name))}


def _counted(path: str, group: str, name: str) -> int:
    """Read a counter of this namespace: `Group: names` over `Group: counts`, or a name and its count in a line."""
    rows = [line.split() for line in Path(path).read_text(encoding="ascii").splitlines()]
    if not group:
        return next((int(row[1]) for row in rows if row[0] == name), 0)
    names, counts = (row for row in rows if row[0] == f"{group}:")
    return int(counts[names.index(name)])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
