"""What was sent elsewhere, told where there is nothing but the loopback device.

Owns the network namespace that `unshare --net` made. Does not own what is done in it.
"""

import fcntl
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["enter_loopback", "lost", "lost_on_purpose"]

_DEVICE = b"lo"
_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 1
# What a process sent to where no way leads, and what it sent to a port of loopback where nobody is.
_LOST = (
    *(("/proc/net/snmp", "Ip", "OutNoRoutes"), ("/proc/net/snmp", "Udp", "NoPorts")),
    *(("/proc/net/snmp", "Icmp", "OutDestUnreachs"), ("/proc/net/snmp6", "", "Ip6OutNoRoutes")),
)


def enter_loopback() -> None:
    """Switch the loopback device on; end the program where there is another device."""
    devices = [name for _, name in socket.if_nameindex()]
    if devices != [_DEVICE.decode()]:
        sys.exit(f"expected only the loopback device, found {devices}")
    _raise_loopback()


def lost() -> dict[str, int]:
    """Count what was sent to where nobody is, by the kernel's counters; those at zero are left out."""
    return {name: count for path, group, name in _LOST if (count := _counted(path, group, name))}


def lost_on_purpose() -> dict[str, int]:
    """Show that the counters count: send to an address that documentation has to itself."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket, suppress(OSError):
        any_socket.sendto(b"x", ("192.0.2.1", 53))
    return lost()


def _raise_loopback() -> None:
    """Switch the loopback device on, which a new namespace has off."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        asked = struct.pack("16sh14x", _DEVICE, 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(any_socket, _GET_FLAGS, asked))
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", _DEVICE, flags | _UP))


def _counted(path: str, group: str, name: str) -> int:
    """Read a counter of this namespace: `Group: names` over `Group: counts`, or a name and its count in a line."""
    rows = [line.split() for line in Path(path).read_text(encoding="ascii").splitlines()]
    if not group:
        return next((int(row[1]) for row in rows if row[0] == name), 0)
    names, counts = (row for row in rows if row[0] == f"{group}:")
    return int(counts[names.index(name)])
