"""Network gateway of the sandbox: forwards connections to the provider only, by a process on each side of its border.

    gateway outside FOLDER HOST:PORT,... bwrap ... gateway border FOLDER ADDRESS:PORT,... bwrap ...
    gateway inside FOLDER ADDRESS:PORT,... program ...

Outside, it listens on one socket file for each endpoint and connects each caller to that endpoint only.
At the border, in a network with nothing but loopback, it listens on a loopback address and the port of each
endpoint: low ports need a capability, which the inside shall not have. Inside, it forwards connections to these to
the socket files. Each starts the rest of its command line and ends as that ends. An interrupt, which would
end the sandbox, is passed on as a message through a socket file instead. The program's environment is read from a
file inside, because what a table sets there, such as keys, shall neither act on these processes nor stand in argv.

It uses only the standard library, and of that only what loads at once, because it is started for
each rollout. TLS, where there is any, stays between client and provider.
"""

import ctypes
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

__all__ = ["ENVIRONMENT", "border", "inside", "outside", "run_gateway"]

_CHUNK = 1 << 16
_FIRST = 100  # number of the first listener that is handed on
_AMBIENT, _CLEAR_ALL = 47, 4  # of prctl, from <linux/prctl.h>
_CONTROL = "control"
ENVIRONMENT = "environment"
"""File of the folder with the program's environment, `NAME=VALUE` with a zero byte behind each."""


def outside(folder: str, endpoints: list[tuple[str, int]], argv: list[str]) -> int:
    """Serve the endpoints as socket files in a folder while a command runs; give its exit status."""
    for number, endpoint in enumerate(endpoints):
        _serve(_listen(f"{folder}/{number}"), lambda endpoint=endpoint: socket.create_connection(endpoint))  # type: ignore[misc]  # default binds the loop variable
    control = _listen(f"{folder}/{_CONTROL}")
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    threading.Thread(target=_interrupt, args=(control, stop), daemon=True).start()
    return _run(argv)


def border(endpoints: list[tuple[str, int]], argv: list[str]) -> int:
    """Open the listeners, drop the capability that this took, and become a command that inherits them."""
    for number, endpoint in enumerate(endpoints):
        with socket.create_server(endpoint, backlog=128) as listener:
            os.dup2(listener.fileno(), _FIRST + number)
    if ctypes.CDLL(None, use_errno=True).prctl(_AMBIENT, _CLEAR_ALL, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "could not give up capabilities")
    os.execvp(argv[0], argv)  # noqa: S606 - no shell is wanted


def inside(folder: str, endpoints: list[tuple[str, int]], argv: list[str]) -> int:
    """Serve the endpoints on loopback from the socket files while a command runs; give its exit status."""
    for number in range(len(endpoints)):
        listener = socket.socket(fileno=_FIRST + number)
        listener.set_inheritable(False)
        _serve(listener, lambda path=f"{folder}/{number}": _connect(path))  # type: ignore[misc]  # as above
    environment = _own_environment(f"{folder}/{ENVIRONMENT}")
    return _run(argv, lambda pid: _obey(_connect(f"{folder}/{_CONTROL}"), pid), environment)


def _own_environment(path: str) -> dict[bytes, bytes]:
    """Take the program's environment from its file, on top of ours; the file is removed."""
    if not os.path.exists(path):  # noqa: PTH110 - pathlib takes long to load
        return dict(os.environb)
    with open(path, "rb") as file:  # noqa: PTH123 - as above
        pairs = [pair.partition(b"=") for pair in file.read().split(b"\0") if pair]
    os.unlink(path)  # noqa: PTH108 - as above
    return {**os.environb, **{name: value for name, _, value in pairs}}


def _run(
    argv: list[str],
    watch: Callable[[int], None] | None = None,
    environment: dict[bytes, bytes] | None = None,
) -> int:
    """Start a command and wait for it; give its exit status as a shell would."""
    given = dict(os.environb) if environment is None else environment
    pid = os.posix_spawnp(argv[0], argv, given, setsigdef=[signal.SIGINT])
    if watch is not None:
        threading.Thread(target=watch, args=(pid,), daemon=True).start()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _interrupt(control: socket.socket, stop: threading.Event) -> None:
    """Pass an interrupt on to the inside."""
    caller, _ = control.accept()
    stop.wait()
    with suppress(OSError):
        caller.sendall(b"interrupt")


def _obey(control: socket.socket, pid: int) -> None:
    """Interrupt the command when the outside says so."""
    if control.recv(_CHUNK):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGINT)


def _listen(path: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(_short(path))
    listener.listen(128)
    return listener


def _connect(path: str) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(_short(path))
    return connected


def _short(path: str) -> str:
    """Name a socket file through its folder's number: the system takes no more than 107 bytes of an address."""
    folder, _, name = path.rpartition("/")
    return f"/proc/self/fd/{_folder(folder)}/{name}"


@lru_cache
def _folder(path: str) -> int:
    return os.open(path, os.O_PATH | os.O_DIRECTORY)


def _serve(listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """Connect every caller of a listener, each on a thread."""

    def accept() -> None:
        while True:
            caller, _ = listener.accept()
            threading.Thread(target=_join, args=(caller, connect), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _join(caller: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """Forward data both ways until both sides have finished; hang up where the other side cannot be reached."""
    try:
        other = connect()
    except OSError:
        caller.close()
        return
    back = threading.Thread(target=_pump, args=(other, caller), daemon=True)
    back.start()
    _pump(caller, other)
    back.join()
    for side in (caller, other):
        side.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def run_gateway(arguments: list[str]) -> int:
    """Run one of the three sides."""
    side, folder, listed, *argv = arguments
    endpoints = [(host, int(port)) for host, _, port in (pair.rpartition(":") for pair in listed.split(",") if pair)]
    if side == "border":
        return border(endpoints, argv)
    return (outside if side == "outside" else inside)(folder, endpoints, argv)


if __name__ == "__main__":
    code = run_gateway(sys.argv[1:])
    os._exit(code)
