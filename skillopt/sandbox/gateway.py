"""Network gateway of the sandbox: forwards connections to the provider only, and keeps the record of acts.

    gateway outside FOLDER HOST:PORT,... RECORD WORKSPACE PROGRAMS bwrap ...
    gateway border FOLDER ADDRESS:PORT,... bwrap ... gateway inside FOLDER "" program ...

At the border, in a network with nothing but loopback, it listens for each endpoint and for look-ups of names, as low
ports need a capability, which the inside shall not have, and hands the listeners out through a socket file. Outside, it
connects each caller to the endpoint of its listener only; an interrupt goes to the program: it would end the sandbox.
Inside, it becomes the program, with an environment from a file there: keys shall not act on these processes, nor stand
in argv. It uses only what loads at once, as each rollout starts it. TLS stays between client and provider.
"""

import ctypes
import os
import signal
import socket
import struct
import threading
from contextlib import suppress

from skillopt.sandbox.act_filter import become_recorded
from skillopt.sandbox.act_recorder import ActRecord, HeldCalls, asked_name, proxied_host

_CHUNK = 1 << 16
_AMBIENT, _CLEAR_ALL = 47, 4  # of prctl, from <linux/prctl.h>
_FAILED = b"\x81\x82"  # flags of an answer of DNS: the server failed, as where there is no network
ENVIRONMENT = "environment"
"""File of the folder with the program's environment, `NAME=VALUE` with a zero byte behind each."""


def outside(folder: str, endpoints: list[tuple[str, int]], argv: list[str]) -> int:
    """Serve the endpoints to the inside while a command runs; give its exit status as a shell would."""
    path, workspace, programs, *argv = argv
    record, stop = ActRecord(path, [f"{host}:{port}" for host, port in endpoints]), threading.Event()
    home, own = os.path.dirname(folder), programs.split("\n")  # noqa: PTH120 - pathlib takes long to load
    meeting = socket.socket(socket.AF_UNIX)
    meeting.bind(_short(folder))
    meeting.listen(2)
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    calls = HeldCalls(record, home, workspace, own)
    threading.Thread(target=_meet, args=(meeting, endpoints, calls, stop), daemon=True).start()
    pid = os.posix_spawnp(argv[0], argv, os.environb, setsigdef=[signal.SIGINT])
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return code if code >= 0 else 128 - code


def border(folder: str, endpoints: list[tuple[str, int]], argv: list[str]) -> int:
    """Open the listeners and hand them out, drop the capability that this took, and become a command."""
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 53))
    listeners = [names, *(socket.create_server(endpoint, backlog=128) for endpoint in endpoints)]
    with _connect(folder) as meeting:
        socket.send_fds(meeting, [b"x"], [listener.fileno() for listener in listeners])
    if ctypes.CDLL(None, use_errno=True).prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "could not give up capabilities")
    os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted


def inside(folder: str, _: list[tuple[str, int]], argv: list[str]) -> int:
    """Become a command, of which the outside records what it does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with open(f"{folder}/{ENVIRONMENT}", "rb") as file:  # noqa: PTH123 - pathlib takes long to load
        pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if pair]
    os.unlink(f"{folder}/{ENVIRONMENT}")  # noqa: PTH108 - as above
    return become_recorded(_connect(folder), argv, {**os.environb, **{name: value for name, _, value in pairs}})


def _meet(meeting: socket.socket, endpoints: list[tuple[str, int]], calls: HeldCalls, stop: threading.Event) -> None:
    """Take the listeners from the border and serve them; then take the program, and note what it does."""
    with meeting.accept()[0] as border_side:
        _, files, _, _ = socket.recv_fds(border_side, 1, 1 + len(endpoints))
    names, *listeners = (socket.socket(fileno=file) for file in files)
    threading.Thread(target=_answer_names, args=(names, calls.record), daemon=True).start()
    for listener, endpoint in zip(listeners, endpoints, strict=True):
        threading.Thread(target=_serve, args=(listener, endpoint, calls.record), daemon=True).start()
    program, _ = meeting.accept()
    pid, _, _ = struct.unpack("3i", program.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))

    def interrupt() -> None:
        stop.wait()
        os.kill(pid, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    calls.serve(program, pid)


def _answer_names(asked: socket.socket, record: ActRecord) -> None:
    """Record each name that is looked up but this machine's own, and answer as where there is no network."""
    while True:
        query, caller = asked.recvfrom(_CHUNK)
        name = asked_name(query)
        if name not in ("", socket.gethostname().lower()):
            record.add("host", name)
        with suppress(OSError):
            asked.sendto(query[:2] + _FAILED + query[4:], caller)


def _connect(folder: str) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(_short(folder))
    return connected


def _short(folder: str) -> str:
    """Name the socket file through its folder's number: the system takes no more than 107 bytes of an address."""
    return f"/proc/self/fd/{os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)}/meeting"


def _serve(listener: socket.socket, endpoint: tuple[str, int], record: ActRecord) -> None:
    while True:
        caller, _ = listener.accept()
        threading.Thread(target=_join, args=(caller, endpoint, record), daemon=True).start()


def _join(caller: socket.socket, endpoint: tuple[str, int], record: ActRecord) -> None:
    try:
        other = socket.create_connection(endpoint)
    except OSError:
        caller.close()
        return
    back = threading.Thread(target=_pump, args=(other, caller, None), daemon=True)
    back.start()
    _pump(caller, other, record)
    back.join()
    for side in (caller, other):
        side.close()


def _pump(source: socket.socket, target: socket.socket, record: ActRecord | None) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            if record and (host := proxied_host(data)):
                record.add("host", host)
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def run_gateway(arguments: list[str]) -> int:
    """Run one of the three sides and give its exit status."""
    side, folder, listed, *argv = arguments
    endpoints = [(host, int(port)) for host, _, port in (pair.rpartition(":") for pair in listed.split(",") if pair)]
    return {"outside": outside, "border": border, "inside": inside}[side](folder, endpoints, argv)
