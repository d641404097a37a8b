"""Seccomp filters: one holds back a program's system calls until a process outside of the sandbox has noted them.

The process outside lets each go on: the filter forbids nothing but `io_uring`, which could hide the others.
Another one, for checks, refuses to make links.
"""

import ctypes
import os
import socket
import struct
from collections.abc import Mapping

_LOAD, _EQUAL, _LEAST, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # classic BPF
_ALLOW, _HOLD, _MISSING, _REFUSED = 0x7FFF0000, 0x7FC00000, 0x00050026, 0x00050001  # errno ENOSYS, and EPERM
_URING, _FOREIGN = 425, 0x40000000  # io_uring_setup, and the numbers of x32
_FLAGS, _WAIT_KILLABLE = 8 | 4, 32  # NEW_LISTENER and SPEC_ALLOW; the last came with Linux 5.19
_READS_SINCE = (6, 6)  # from here on the kernel hands a call to who waits at once: 10 µs each instead of 200
_MACHINES = {"x86_64": (0xC000003E, 317), "aarch64": (0xC00000B7, 277)}  # architecture, number of `seccomp`
YES = b"y"
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# Kind, pairs of arguments with the folder (-1: the current one) and the name, the argument with flags or an address,
# and the numbers of the calls on x86-64 and on arm64.
_CALLS: tuple[tuple[str, tuple[tuple[int, int], ...], int, tuple[int, ...], tuple[int, ...]], ...] = (
    ("program", ((-1, 0),), -1, (59,), (221,)),  # execve
    ("program", ((0, 1),), -1, (322,), (281,)),  # execveat
    ("opened", ((-1, 0),), 1, (2,), ()),  # open
    ("opened", ((0, 1),), 2, (257,), (56,)),  # openat
    ("opened by structure", ((0, 1),), 2, (437,), (437,)),  # openat2
    ("written", ((-1, 0),), -1, (76, 83, 84, 85, 87), (45,)),  # truncate, mkdir, rmdir, creat, unlink
    ("written", ((-1, 1),), -1, (88,), ()),  # symlink
    ("written", ((0, 1),), -1, (258, 263), (34, 35)),  # mkdirat, unlinkat
    ("written", ((1, 2),), -1, (266,), (36,)),  # symlinkat
    ("written", ((-1, 0), (-1, 1)), -1, (82, 86), ()),  # rename, link
    ("written", ((0, 1), (2, 3)), -1, (264, 265, 316), (37, 38, 276)),  # renameat, linkat, renameat2
    ("address", (), 1, (42,), (203,)),  # connect
    ("address of data", (), 4, (44,), (206,)),  # sendto
    ("message", (), 1, (46, 307), (211, 269)),  # sendmsg, sendmmsg
)
_SYMBOLIC = {"x86_64": (88, 266), "aarch64": (36,)}  # symlink, symlinkat
_HARD = {"x86_64": (86, 265), "aarch64": (37,)}  # link, linkat
FORMS = {
    _MACHINES["x86_64"][0]: {number: call[:3] for call in _CALLS for number in call[3]},
    _MACHINES["aarch64"][0]: {number: call[:3] for call in _CALLS for number in call[4]},
}
"""How to read the calls that are held back, by architecture and number."""


def records_reads() -> bool:
    """Return whether opening a file only to read it is held back too, which older kernels make slow."""
    return tuple(int(part) for part in os.uname().release.split("-")[0].split(".")[:2]) >= _READS_SINCE


def become_recorded(outside: socket.socket, argv: list[str], environment: Mapping[bytes, bytes]) -> int:
    """Hand the filter's listener to the process outside, if that can take it, and become a command."""
    if outside.recv(1) == YES:
        machine = _MACHINES.get(os.uname().machine)
        listener = _install(*machine) if machine else -1
        outside.sendall(struct.pack("i", listener))
        if listener >= 0 and outside.recv(1) != YES:  # every call would fail that nobody takes
            os._exit(1)
    os.execvpe(argv[0], argv, environment)  # noqa: S606 - no shell is wanted


def _install(architecture: int, seccomp: int) -> int:
    system = ctypes.CDLL(None, use_errno=True)
    code = ctypes.create_string_buffer(_filter(architecture, reads=records_reads()))
    system.prctl(38, 1, 0, 0, 0)  # no new privileges
    program = struct.pack("HP", len(code) // 8, ctypes.addressof(code))
    listener = system.syscall(seccomp, 1, _FLAGS | _WAIT_KILLABLE, program)
    return int(listener if listener >= 0 else system.syscall(seccomp, 1, _FLAGS, program))


def link_filter(*, hard: bool) -> bytes:
    """Write the filter that refuses to make symbolic links, and hard ones too; empty on another kind of machine."""
    machine = os.uname().machine
    if machine not in _MACHINES:
        return b""
    numbers = (*_SYMBOLIC[machine], *(_HARD[machine] if hard else ()))
    steps = [step for number in numbers for step in ((_EQUAL, 0, 1, number), (_RETURN, 0, 0, _REFUSED))]
    return _written(_MACHINES[machine][0], steps)


def _filter(architecture: int, *, reads: bool) -> bytes:
    """Write the filter that holds calls back."""
    steps: list[tuple[int, int, int, int]] = []
    for number, (kind, _, argument) in FORMS[architecture].items():
        # In struct seccomp_data arguments begin at 16, after the number at 0 and the architecture at 4.
        held, low = [(_RETURN, 0, 0, _HOLD)], (_LOAD, 0, 0, 16 + 8 * argument)
        if kind == "opened" and not reads:
            held = [low, (_BITS, 0, 1, WRITES), *held, (_RETURN, 0, 0, _ALLOW)]
        elif kind == "address of data":  # without one, the data is for whom the socket is connected to
            held = [low, (_EQUAL, 0, 1, 0), (_RETURN, 0, 0, _ALLOW), *held]
        steps += [(_EQUAL, 0, len(held), number), *held]
    return _written(architecture, steps)


def _written(architecture: int, rules: list[tuple[int, int, int, int]]) -> bytes:
    """Write rules in classic BPF: calls of another architecture are let through."""
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _ALLOW), (_LOAD, 0, 0, 0)]
    steps += [(_LEAST, 1, 0, _FOREIGN), (_EQUAL, 0, 1, _URING), (_RETURN, 0, 0, _MISSING)]
    return b"".join(struct.pack("HBBI", *step) for step in (*steps, *rules, (_RETURN, 0, 0, _ALLOW)))
