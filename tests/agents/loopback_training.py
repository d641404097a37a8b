"""Train a skill where there is nothing but the loopback device; the providers are there too.

    unshare --net python -m tests.agents.loopback_training claude|codex FOLDER

Prints as JSON what the command line said, which paths were requested, and what was sent elsewhere.
It refuses to run where there is another device.
"""

import fcntl
import json
import os
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

from tests.projects import make_project, skillopt
from tests.servers.fake_anthropic import fake_anthropic
from tests.servers.fake_openai import fake_openai

__all__ = ["main"]

_DEVICE = b"lo"
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
_OPTIONS = ("epochs=1", "batch_size=4", "confidence=0.7", "slow_tasks=0")
# What a process sent to where no way leads, and what it sent to a port of loopback where nobody is.
_LOST = (
    *(("/proc/net/snmp", "Ip", "OutNoRoutes"), ("/proc/net/snmp", "Udp", "NoPorts")),
    *(("/proc/net/snmp", "Icmp", "OutDestUnreachs"), ("/proc/net/snmp6", "", "Ip6OutNoRoutes")),
)


def main(client: str, folder: Path) -> None:
    """Train with a client through command line and loopback providers."""
    devices = [name for _, name in socket.if_nameindex()]
    if devices != [_DEVICE.decode()]:
        sys.exit(f"expected only the loopback device, found {devices}")
    _raise_loopback()
    make_project(folder, tasks=6)
    name = {"claude": "claude-code", "codex": "codex/fake-model"}[client]
    settings = [part for option in _OPTIONS for part in ("--set", option)]
    with fake_anthropic() as anthropic, fake_openai() as openai:
        os.environ |= {"ANTHROPIC_BASE_URL": anthropic.url, "OPENAI_BASE_URL": f"{openai.url}/v1"}
        ended = skillopt(folder, "optimize", "rows", "--json", "--harness", name, "--model", name, *settings)
        requested = sorted({f"{asked.method} {asked.path}" for asked in (*anthropic.requests, *openai.requests)})
    print(  # noqa: T201 - it is a program whose output the test reads
        json.dumps(
            {
                "status": ended.returncode,
                "stdout": ended.stdout,
                "stderr": ended.stderr,
                "requested": requested,
                "lost": _lost(),
                "lost when something is sent elsewhere": _lost_on_purpose(),
            }
        )
    )


def _raise_loopback() -> None:
    """Switch the loopback device on, which a new namespace has off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh14x", _DEVICE, 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, _GET_FLAGS, asked))
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", _DEVICE, flags | _UP))


def _lost() -> dict[str, int]:
    return {name: count for path, group, name in _LOST if (count := _counted(path, group, name))}


def _lost_on_purpose() -> dict[str, int]:
    """Show that the counters count: send to an address that documentation has to itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket, suppress(OSError):
        any_socket.sendto(b"x", ("192.0.2.1", 53))
    return _lost()


def _counted(path: str, group: str, name: str) -> int:
    """Read a counter of this namespace: `Group: names` over `Group: counts`, or a name and its count in a line."""
    rows = [line.split() for line in Path(path).read_text(encoding="ascii").splitlines()]
    if not group:
        return next((int(row[1]) for row in rows if row[0] == name), 0)
    names, counts = (row for row in rows if row[0] == f"{group}:")
    return int(counts[names.index(name)])


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
