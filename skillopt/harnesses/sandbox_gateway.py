"""The one way out of the sandbox: a program of its own, run once outside of it and once inside.

    python sandbox_gateway.py outside FOLDER HOST:PORT,HOST:PORT bwrap ... python sandbox_gateway.py inside ...

Outside, it listens on one socket file for each endpoint and connects each caller to that endpoint only.
Inside, where there is no network but loopback, it listens on the endpoints' ports and passes callers on to
the socket files. Each starts the rest of its command line and ends as that ends. An interrupt, which would
end the sandbox, is passed on as a word through a socket file instead.

It uses only the standard library and starts within the time of a bare Python, because it is started for
each rollout. TLS, where there is any, stays between client and provider.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

__all__ = ["inside", "main", "outside"]

_CHUNK = 1 << 16
_CONTROL = "control"


def outside(folder: str, endpoints: list[tuple[str, int]], argv: list[str]) -> int:
    """Serve the endpoints as socket files in a folder while a command runs; give its exit status."""
    for number, endpoint in enumerate(endpoints):
        _serve(_listen(f"{folder}/{number}"), lambda endpoint=endpoint: socket.create_connection(endpoint))  # type: ignore[misc]  # default binds the loop variable
    control = _listen(f"{folder}/{_CONTROL}")
    stop = threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    threading.Thread(target=_interrupt, args=(control, stop), daemon=True).start()
    return _run(argv)


def inside(folder: str, endpoints: list[tuple[str, int]], argv: list[str]) -> int:
    """Serve the endpoints on loopback from the socket files while a command runs; give its exit status."""
    for number, (_, port) in enumerate(endpoints):
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
        _serve(listener, lambda path=f"{folder}/{number}": _connect(path))  # type: ignore[misc]  # as above
    return _run(argv, lambda pid: _obey(_connect(f"{folder}/{_CONTROL}"), pid))


def _run(argv: list[str], watch: Callable[[int], None] | None = None) -> int:
    """Start a command and wait for it; give its exit status as a shell would."""
    pid = os.posix_spawnp(argv[0], argv, os.environ, setsigdef=[signal.SIGINT])
    if watch is not None:
        threading.Thread(target=watch, args=(pid,), daemon=True).start()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _interrupt(control: socket.socket, stop: threading.Event) -> None:
    """Tell the inside when it is time to stop."""
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
    listener.bind(path)
    listener.listen(128)
    return listener


def _connect(path: str) -> socket.socket:
    connected = socket.socket(socket.AF_UNIX)
    connected.connect(path)
    return connected


def _serve(listener: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """Connect every caller of a listener, each on a thread."""

    def accept() -> None:
        while True:
            caller, _ = listener.accept()
            threading.Thread(target=_join, args=(caller, connect), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()


def _join(caller: socket.socket, connect: Callable[[], socket.socket]) -> None:
    """Pass on what either side says until both have finished; hang up where nobody can be reached."""
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


def main(arguments: list[str]) -> int:
    """Run one of the two sides."""
    side, folder, listed, *argv = arguments
    endpoints = [(host, int(port)) for host, _, port in (pair.rpartition(":") for pair in listed.split(",") if pair)]
    return (outside if side == "outside" else inside)(folder, endpoints, argv)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    os._exit(code)
