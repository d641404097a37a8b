"""Running the agent's code for a check that asks for it: in a sandbox of its own that holds nothing of the check's.

The check's program starts `run-agent COMMAND...`. A socket takes the command and its input out of the check's sandbox;
output and status come back, and nothing else does.
"""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from socket import AF_UNIX, socket
from threading import BoundedSemaphore, Thread
from time import monotonic

from skillopt.errors import InfrastructureError
from skillopt.sandbox.bubblewrap import Sandbox
from skillopt.sandbox.check_run import CheckProgram, run_check
from skillopt.sandbox.workspace import Workspace
from skillopt.tasks import RUN_AGENT, File

_AT_ONCE, _INPUT, _LINE, _TIMED_OUT, _NOT_STARTED = 4, ".input", "line", 124, 126
_CLIENT = """
import json, socket, sys
given = sys.stdin.buffer.read().decode("latin-1")
with socket.socket(socket.AF_UNIX) as line:
    line.connect(sys.argv[1])
    line.sendall(json.dumps([sys.argv[2:], given]).encode())
    line.shutdown(socket.SHUT_WR)
    status, *texts = json.load(line.makefile(encoding="utf-8"))
for stream, text in zip((sys.stdout, sys.stderr), texts):
    stream.buffer.write(text.encode())
    stream.flush()
sys.exit(status)
"""
_Ended = tuple[int, str, str]
_Copy = Callable[[File], AbstractContextManager[Workspace]]
"""Copies the agent's code, and a file beside it."""


@contextmanager
def agent_runner(copy: _Copy, deadline: float, box: Sandbox) -> Iterator[str]:
    """Offer `run-agent` in a folder of tools; each call gets a fresh copy of the code."""
    client = shlex.join([sys.executable, "-I", "-S", "-c", _CLIENT])
    program = File(RUN_AGENT, f'#!/bin/sh\nexec {client} "${{0%/*}}/{_LINE}" "$@"\n'.encode())
    with Workspace.create([program]) as tools, socket(AF_UNIX) as listener:
        listener.bind(f"{tools.path}/{_LINE}")
        listener.listen()
        thread = Thread(target=_serve, args=(listener, partial(_run, copy, deadline, box)))
        thread.start()
        try:
            yield tools.path
        finally:
            with socket(AF_UNIX) as last:
                last.connect(f"{tools.path}/{_LINE}")
            thread.join()


def _serve(listener: socket, run: Callable[[list[str], str], _Ended]) -> None:
    """Answer calls, some at a time, until one asks for nothing."""
    at_once, threads = BoundedSemaphore(_AT_ONCE), list[Thread]()

    def answer(line: socket, asked: bytes) -> None:
        with at_once, line, suppress(OSError):
            try:
                ended = run(*json.loads(asked))
            except (InfrastructureError, OSError, TypeError, ValueError) as error:
                ended = _NOT_STARTED, "", f"{RUN_AGENT}: {error}\n"
            line.sendall(json.dumps(ended).encode())

    while True:
        line, _ = listener.accept()
        with line.makefile("rb") as sent:
            asked = sent.read()
        if not asked:
            break
        threads.append(Thread(target=answer, args=(line, asked)))
        threads[-1].start()
    line.close()
    for thread in threads:
        thread.join()


def _run(copy: _Copy, deadline: float, box: Sandbox, argv: list[str], given: str) -> _Ended:
    words = [sys.executable if at == 0 and word == "python" else word for at, word in enumerate(argv)]
    started = ("/bin/sh", "-c", f'exec "$@" <{_INPUT}', "sh", *words)
    with copy(File(_INPUT, given.encode("latin-1"))) as code:
        left = deadline - monotonic()
        if left <= 0:
            return _TIMED_OUT, "", ""
        ended = run_check(CheckProgram(started, left, (code.path,)), code.path, box)
    status = ended.status if ended.status >= 0 else 128 - ended.status
    return _TIMED_OUT if ended.timed_out else status, ended.stdout, ended.stderr
