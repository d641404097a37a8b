"""Record of what a program in the sandbox does, kept by a process outside: programs, files and hosts.

Each call that the filter holds back is read from the memory of its process, and let go on whatever was found: a mistake
costs a line of the record and never the rollout. What another thread changes between the reading and the call escapes.
A line is `KIND<tab>TEXT`, written when it first happens, with at most 100 of a kind.
"""

import ctypes
import fcntl
import os
import select
import socket
import struct
from collections.abc import Iterator
from contextlib import suppress

from skillopt.sandbox.act_filter import FORMS, WRITES, YES, records_reads

_RECEIVE, _ANSWER, _SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104  # ioctl numbers of a seccomp listener
_CALL, _REPLY, _GO_ON = struct.Struct("QIIiIQ6Q"), struct.Struct("QqiI"), 1
_HERE = -100  # AT_FDCWD
_MOST, _LONGEST, _MOST_KNOWN = 100, 200, 10_000
_SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin", "/nix", "/snap", "/sys", "/dev")
# What every program of the system reads by itself, by way of its loader and its C library.
_ITS_OWN = (
    *("/etc/ld.so", "/etc/nsswitch.conf", "/etc/host", "/etc/resolv.conf", "/etc/gai.conf", "/etc/local"),
    *("/etc/ssl/", "/etc/pki/", "/etc/ca-certificates"),
)
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")  # noqa: S108 - named, not used
_ITSELF = ("/dev/fd/", "/proc/self/", "/proc/thread-self/")
_HOME, _HOME_PARTS = ("config", "tmp", "net", "prompt.txt"), 2


class ActRecord:
    """The file of a record, outside of the sandbox."""

    def __init__(self, path: str, hosts: list[str]) -> None:
        self.kept = bool(path)
        self._file = os.open(path or os.devnull, os.O_WRONLY | os.O_APPEND)
        self._known = {"host": set(hosts)}

    def add(self, kind: str, text: str) -> None:
        """Write what was not written before."""
        known = self._known.setdefault(kind, set())
        if text not in known and len(known) <= _MOST:
            known.add(text)
            shown = text[:_LONGEST].encode("unicode_escape").decode() if len(known) <= _MOST else f"more than {_MOST}"
            os.write(self._file, f"{kind}\t{shown}\n".encode())


def asked_name(query: bytes) -> str:
    """Return the name that a query of DNS asks for; empty where it is none."""
    at, labels = 12, []
    while at < len(query) and 0 < query[at] < 64:  # noqa: PLR2004 - the longest label has 63 bytes
        labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
        at += 1 + query[at]
    return ".".join(labels).lower()


def proxied_host(data: bytes) -> str:
    """Return the host and port that a request asks a proxy for; empty where it asks for none."""
    method, _, rest = data[:_LONGEST].partition(b" ")
    target = rest.partition(b" ")[0] if method == b"CONNECT" else rest.partition(b"http://")[2].partition(b"/")[0]
    return target.decode("latin-1").lower() if method.isupper() and rest.startswith((target, b"http://")) else ""


class HeldCalls:
    """Notes the calls of a program that is held back by its filter, and lets each go on."""

    def __init__(self, record: ActRecord, home: str, workspace: str, programs: list[str]) -> None:
        self.record, self._home = record, f"{home}/"
        self._own = tuple(f"{place}/" for place in (workspace, "/run/nscd", *(f"{home}/{name}" for name in _HOME)))
        self._system = tuple(f"{place}/" for place in (*_SYSTEM, *programs))
        self._folders: dict[str, str] = {}
        self._reading = 0, os.open(os.devnull, os.O_RDONLY)

    def serve(self, program: socket.socket, pid: int) -> None:
        """Take the filter of the program at a socket, if it can be taken, and note until the program has ended."""
        with program:
            can = self.record.kept and _take_file(pid, 0) >= 0
            program.sendall(YES if can else b"n")
            if not can:
                return
            (number,) = struct.unpack("i", program.recv(4))
            held = _take_file(pid, number) if number >= 0 else -1
            if held < 0:
                return
            self.record.add("recorded", "with reads" if records_reads() else "without reads")
            program.sendall(YES)
        with suppress(OSError):  # before Linux 6.6
            fcntl.ioctl(held, _SET_FLAGS, 1)
        self._let_go(held)
        os.close(held)

    def _let_go(self, held: int) -> None:
        ended = select.poll()
        ended.register(held, select.POLLIN)
        while True:
            call = bytearray(_CALL.size)
            try:
                fcntl.ioctl(held, _RECEIVE, call)
            except OSError:
                if any(events & select.POLLHUP for _, events in ended.poll(0)):
                    return
                continue
            identity, pid, _, number, architecture, _, *arguments = _CALL.unpack(call)
            with suppress(Exception):  # whatever a program passes, it goes on: here alone it could wait for ever
                self._note_call(pid, FORMS[architecture][number], arguments)
            with suppress(OSError):  # it was killed meanwhile
                fcntl.ioctl(held, _ANSWER, _REPLY.pack(identity, 0, 0, _GO_ON))

    def _note_call(self, pid: int, form: tuple[str, tuple[tuple[int, int], ...], int], arguments: list[int]) -> None:
        kind, names, argument = form
        if not names:
            address = arguments[argument]
            self._address(pid, struct.unpack("Q", self._memory(pid, address, 8))[0] if kind == "message" else address)
            return
        if kind.startswith("opened"):
            flags = arguments[argument]
            flags = flags if kind == "opened" else struct.unpack("Q", self._memory(pid, flags, 8))[0]
            kind = "written" if flags & WRITES else "read"
        elif kind == "written":
            self._folders.clear()  # what was a folder can be a link from here on
            argument = 0
        for path in self._paths(pid, names, arguments):
            place = self._resolved(pid, path, last=argument != 0)
            if kind == "program":
                self._program(pid, place)
            elif not place.startswith("/proc/") or (place[6:7].isdigit() and not place.startswith(f"/proc/{pid}/")):
                self._file(kind, place)

    def _program(self, pid: int, path: str) -> None:
        self._reading = 0, self._reading[1]  # it will have another memory
        found = path.partition(" (deleted)")[0]
        if found.startswith("/memfd:") or os.access(f"/proc/{pid}/root{found}", os.X_OK):
            self.record.add("program", found.split("/")[-1] if found.startswith(self._system) else self._shape(found))

    def _address(self, pid: int, address: int) -> None:
        found = self._memory(pid, address, 110) if address else bytes(8)
        family, port = struct.unpack("=H", found[:2])[0], int.from_bytes(found[2:4], "big")
        if family == socket.AF_INET and found[4] not in (0, 127):
            self.record.add("host", f"{socket.inet_ntop(socket.AF_INET, found[4:8])}:{port}")
        elif family == socket.AF_INET6 and any(found[8:23]):
            self.record.add("host", f"[{socket.inet_ntop(socket.AF_INET6, found[8:24])}]:{port}")
        elif family == socket.AF_UNIX and found[2:3] == b"/":
            self._file("written", self._resolved(pid, os.fsdecode(found[2:].partition(b"\0")[0])))

    def _file(self, kind: str, path: str) -> None:
        own = (*self._own, *self._system, *_ITS_OWN) if kind == "read" else (*self._own, "/dev/")
        if not f"{path}/".startswith(own) or path.startswith(_TEMPORARY[2]):
            self.record.add(kind, self._shape(path))

    def _shape(self, path: str) -> str:
        """Leave out of a path what is another one in every rollout."""
        if path.startswith(self._home):
            return "/".join(["~", *path.removeprefix(self._home).split("/")[:_HOME_PARTS]])
        if path.startswith("/proc/"):
            return "/".join(["/proc/N", *path.split("/")[3:]])
        folders = () if path.startswith(self._own) else _TEMPORARY
        return next((place for place in folders if path.startswith(f"{place}/")), path)

    def _paths(self, pid: int, names: tuple[tuple[int, int], ...], arguments: list[int]) -> Iterator[str]:
        for folder, name in names:
            text, end, _ = self._memory(pid, arguments[name], 256).partition(b"\0")
            path = os.fsdecode(text if end else self._memory(pid, arguments[name], 4096).partition(b"\0")[0])
            if not path.startswith("/"):
                number = _HERE if folder < 0 else ctypes.c_int(arguments[folder]).value
                base = os.readlink(f"/proc/{pid}/cwd" if number == _HERE else f"/proc/{pid}/fd/{number}")  # noqa: PTH115 - pathlib takes long to load
                path = f"{base}/{path}".rstrip("/")
            yield path

    def _resolved(self, pid: int, path: str, *, last: bool = True) -> str:
        """Follow the links on the way to a file, where a program could have made them, and the system's to itself."""
        own = next((each for each in _ITSELF if path.startswith(each)), "")
        if own:
            path = f"/proc/{pid}/{path.removeprefix(own)}" if own != _ITSELF[0] else f"/proc/{pid}/fd/{path[8:]}"
        elif path.startswith(self._system) and "/../" not in path:
            return path
        folder, _, name = path.rpartition("/")
        if name in ("", ".", ".."):
            folder, name = path, ""
        if own or folder not in self._folders:
            if len(self._folders) > _MOST_KNOWN:
                self._folders.clear()
            self._folders[folder] = os.path.realpath(folder or "/").rstrip("/")
        path = f"{self._folders[folder]}/{name}" if name else self._folders[folder] or "/"
        made = own or path.startswith((*self._own, self._home))
        return os.path.realpath(path) if last and made and os.path.islink(path) else path  # noqa: PTH114 - as above

    def _memory(self, pid: int, address: int, size: int) -> bytes:
        number, memory = self._reading
        if number != pid or not (found := os.pread(memory, size, address)):
            self._reading = pid, os.open(f"/proc/{pid}/mem", os.O_RDONLY)
            os.close(memory)
            found = os.pread(self._reading[1], size, address)
        return found


def _take_file(pid: int, number: int) -> int:
    """Return a number of ours for an open file of a process; negative where the system does not allow it."""
    with suppress(OSError, AttributeError):
        # 438 is pidfd_getfd on every architecture.
        return int(ctypes.CDLL(None).syscall(438, os.pidfd_open(pid), number, 0))
    return -1
