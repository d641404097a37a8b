"""Loopback web server for this machine's own browser: no files; what changes something is asked for by POST alone.

Answers only under the server's own name (a page elsewhere can make a browser ask here under another one), and only
below a path that cannot be guessed (the port is open to every user of the machine). Every answer states what a browser
may do with it.

A POST is taken only from a page of this server (its origin), as JSON of bounded size: a page elsewhere cannot send that
without asking first, and asking is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import loads
from secrets import compare_digest, token_urlsafe
from socket import socket
from typing import Final
from urllib.parse import unquote, urlsplit

from skillopt.errors import UsageError

__all__ = ["Answer", "LoopbackServer", "PageAction"]

_ADDRESS: Final = "127.0.0.1"
_HEADERS: Final = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_POLICY: Final = "default-src 'none'; frame-ancestors 'none'"
_LONGEST: Final = 1000
_THIS_ADDRESS: Final = f"the address {_ADDRESS} or localhost and the port"
_JSON, _SAME = "application/json", "same-origin"
_ONCE: Final = ("Host", "Origin", "Content-Type", "Content-Length", "Sec-Fetch-Site")
_TOO_LARGE: Final = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
_LARGEST_POST: Final = 1_000_000
"""Bytes that a page may send: a task with its files, as a person edits it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered.

    Args:
        body: The page or text.
        kind: `html` or `plain`.
        stamp: Changes when the body does; made from the body when empty.
        policy: What a browser may do with it, when that is more than nothing.
        status: The HTTP status.
    """

    body: str
    kind: str = "html"
    stamp: str = ""
    policy: str = _POLICY
    status: HTTPStatus = HTTPStatus.OK


PageAction = Callable[[str, Mapping[str, object]], Answer | None]
"""Does what a page asks for at a path below the token; None where there is nothing."""


class LoopbackServer:
    """Answers this machine's browser; use `serve`, and `close` in the end.

    Args:
        answer: Gives the answer for a path below the token, None where there is nothing. Called by several threads.
        port: Where; 0 for any that is free.
        act: Does what a page asks for; None for a server that changes nothing. Called by several threads.

    Raises:
        UsageError: The port cannot be used.
    """

    def __init__(self, answer: Callable[[str], Answer | None], port: int = 0, act: PageAction | None = None) -> None:
        try:
            self._server = _Server((_ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot listen on port {port}: {reason}; choose another --port, or 0 for any") from error
        self._server.answer = answer
        self._server.act = act
        self._server.token = token_urlsafe(24)
        self.port: int = self._server.server_address[1]
        self._server.names = frozenset(f"{name}:{self.port}" for name in (_ADDRESS, "localhost"))

    @property
    def address(self) -> str:
        """Give the URL to open, with the secret path; whoever knows it may read."""
        return f"http://{_ADDRESS}:{self.port}/{self._server.token}/"

    def serve(self) -> None:
        """Answer until `stop` is called or Ctrl-C comes."""
        self._server.serve_forever(poll_interval=0.1)

    def stop(self) -> None:
        """End `serve`, from another thread."""
        self._server.shutdown()

    def close(self) -> None:
        """Give the port back."""
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    answer: Callable[[str], Answer | None]
    act: PageAction | None
    names: frozenset[str]
    token: str

    def process_request(self, request: socket | tuple[bytes, socket], client_address: object) -> None:
        """Answer on a thread; Ctrl-C that comes while that is started ends the server, too."""
        try:
            super().process_request(request, client_address)
        except RuntimeError as error:
            # It broke into the handling of a lock, whose error has taken its place (CPython's Condition.wait).
            if isinstance(error.__context__, KeyboardInterrupt):
                raise error.__context__ from None
            raise


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 30
    server_version = "skillopt"
    sys_version = ""

    def handle_one_request(self) -> None:
        """Answer a request; a browser that has gone is no error."""
        try:
            super().handle_one_request()
        except ConnectionError:
            self.close_connection = True

    def do_GET(self) -> None:
        """Answer with a body."""
        self._send(self._found())

    def do_HEAD(self) -> None:
        """Answer without one."""
        self._send(self._found(), body=False)

    def do_POST(self) -> None:
        """Do what a page of this server asks for; what was sent is not read before all else is right."""
        if self.server.act is None:
            self.send_error(HTTPStatus.NOT_IMPLEMENTED)
            return
        # What may still come of a refused request is never read as the next one.
        self.close_connection = True
        refused = self._refused()
        path = None if refused else self._path()
        if refused or path is None:
            self._send(refused or _NOTHING)
            return
        try:
            asked = loads(self.rfile.read(int(self.headers["Content-Length"])))
        except (ValueError, RecursionError, OSError):
            asked = None
        if not isinstance(asked, dict):
            self._send(_refusal(HTTPStatus.BAD_REQUEST, "expected a JSON object"))
            return
        self._send(self.server.act(path, asked) or _NOTHING)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a method that is not answered, or no HTTP at all, with nothing of the request in the answer."""
        del message, explain
        known = code == HTTPStatus.NOT_IMPLEMENTED
        status = HTTPStatus.METHOD_NOT_ALLOWED if known else HTTPStatus(code)
        self.close_connection = True
        self._send(_refusal(status, f"only {self._methods} are answered" if known else status.phrase))

    def log_message(self, *_: object) -> None:
        """Keep the terminal quiet."""

    def version_string(self) -> str:
        """Say who answers, without versions."""
        return self.server_version

    @property
    def _methods(self) -> str:
        return "GET and HEAD" if self.server.act is None else "GET, HEAD and POST"

    def _found(self) -> Answer:
        if self.headers.get("Host", "") not in self.server.names:
            return _STRANGE_HOST
        path = self._path()
        return (self.server.answer(path) if path is not None else None) or _NOTHING

    def _path(self) -> str | None:
        """Give the path below the token, None without it."""
        try:
            path = unquote(urlsplit(self.path).path) if len(self.path) <= _LONGEST else ""
        except ValueError:  # no address at all, such as `http://[/`
            path = ""
        token, slash, rest = path.removeprefix("/").partition("/")
        known = compare_digest(token.encode(), self.server.token.encode())
        return f"/{rest}" if known and slash else None

    def _refused(self) -> Answer | None:
        """Say why what a page sends is not even read; None where nothing speaks against it."""
        heads = self.headers
        host, length = heads.get("Host", ""), heads.get("Content-Length", "")
        number = length.isascii() and length.isdigit()
        # In this order: who asks and from where, before what.
        checks = (
            (all(len(heads.get_all(name, [])) <= 1 for name in _ONCE), HTTPStatus.BAD_REQUEST, "each header once"),
            (host in self.server.names, _STRANGE_HOST.status, _THIS_ADDRESS),
            (heads.get("Origin") == f"http://{host}", HTTPStatus.FORBIDDEN, "a page of this server to ask"),
            (heads.get("Sec-Fetch-Site", _SAME) == _SAME, HTTPStatus.FORBIDDEN, "a page of this server to ask"),
            (heads.get("Content-Type") == _JSON, HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type {_JSON}"),
            (number and "Transfer-Encoding" not in heads, HTTPStatus.LENGTH_REQUIRED, "a Content-Length"),
            (number and int(length[:20]) <= _LARGEST_POST, _TOO_LARGE, f"at most {_LARGEST_POST:,} bytes"),
        )
        return next((_refusal(status, f"expected {what}") for right, status, what in checks if not right), None)

    def _send(self, answer: Answer, *, body: bool = True) -> None:
        data = answer.body.encode("utf-8", "replace")
        stamp = answer.stamp or sha256(data).hexdigest()
        self.send_response(answer.status)
        self.send_header("Content-Type", f"text/{answer.kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Content-Security-Policy", answer.policy)
        self.send_header("ETag", f'"{stamp}"')
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        if answer.status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", self._methods.replace(" and", ","))
        self.end_headers()
        if body and self.command != "HEAD":
            self.wfile.write(data)


def _refusal(status: HTTPStatus, why: str) -> Answer:
    return Answer(f"{status.value}: {why}\n", "plain", status=status)


_NOTHING: Final = _refusal(HTTPStatus.NOT_FOUND, "there is nothing here; open the whole address that was printed")
_STRANGE_HOST: Final = _refusal(HTTPStatus.MISDIRECTED_REQUEST, f"expected {_THIS_ADDRESS}")
