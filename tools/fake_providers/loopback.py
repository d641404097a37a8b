"""A loopback HTTP server whose answers a function gives; it keeps what it was asked."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qsl

Body = dict[str, Any]
"""A JSON object on the wire."""


@dataclass(frozen=True, slots=True)
class Requested:
    """A request as it came in; an array in its body stands under `items`."""

    method: str
    path: str
    headers: dict[str, str]
    body: Body
    query: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back."""

    status: int
    content: bytes
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    hang_up: bool = False
    cut: bool = False
    hang: bool = False


def as_json(status: int, body: object, headers: dict[str, str] | None = None) -> Answer:
    """Answer with a JSON document."""
    return Answer(status, json.dumps(body).encode(), headers=headers or {})


def as_events(events: Iterable[tuple[str, Body]]) -> Answer:
    """Answer with a stream of server-sent events, each named in its data too."""
    lines = [f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n" for kind, data in events]
    return Answer(200, "".join(lines).encode(), "text/event-stream")


class LoopbackServer(ThreadingHTTPServer):
    """One thread per request, on a free port."""

    daemon_threads = True

    def __init__(self, answer: Callable[[Requested], Answer], *, listening: bool = True) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=listening)
        if not listening:
            self.server_bind()
        self.answer = answer
        self.requests: list[Requested] = []
        self.ending = Event()

    @property
    def url(self) -> str:
        """Where clients are to connect."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up first; tests see what they need in the client."""


@contextmanager
def serve(answer: Callable[[Requested], Answer]) -> Iterator[LoopbackServer]:
    """Run a server for the length of a `with` block."""
    with LoopbackServer(answer) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.ending.set()
            server.shutdown()
            thread.join()


@contextmanager
def refuse() -> Iterator[LoopbackServer]:
    """Keep a port on which every connection is refused, for the length of a `with` block."""
    with LoopbackServer(lambda _: Answer(503, b""), listening=False) as server:
        yield server


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LoopbackServer

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        path, _, query = self.path.partition("?")
        asked = Requested(self.command, path, dict(self.headers), _object(content), dict(parse_qsl(query)))
        self.server.requests.append(asked)
        answer = self.server.answer(asked)
        self.close_connection = True
        if answer.hang:
            self.server.ending.wait()
        if answer.hang or answer.hang_up:
            return
        self.send_response(answer.status)
        headers = {"content-type": answer.content_type, "content-length": str(len(answer.content) + answer.cut)}
        for name, value in {**headers, "connection": "close", **answer.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.content)

    def do_GET(self) -> None:
        self.do_POST()

    def do_PUT(self) -> None:
        self.do_POST()

    def do_PATCH(self) -> None:
        self.do_POST()

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()


def _object(content: bytes) -> Body:
    try:
        body = json.loads(content)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {"items": body} if isinstance(body, list) else {}
