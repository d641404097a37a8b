"""Loopback web server for this machine's own browser: read-only, no files.

Only GET and HEAD are answered, only under the server's own name (a page elsewhere can make a browser ask here under
another one), and only below a path that cannot be guessed (the port is open to every user of the machine). Every answer
states what a browser may do with it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from secrets import compare_digest, token_urlsafe
from typing import Final
from urllib.parse import unquote, urlsplit

from skillopt.errors import UsageError

__all__ = ["Answer", "LoopbackServer"]

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


class LoopbackServer:
    """Answers this machine's browser; use `serve`, and `close` in the end.

    Args:
        answer: Gives the answer for a path below the token, None where there is nothing. Called by several threads.
        port: Where; 0 for any that is free.

    Raises:
        UsageError: The port cannot be used.
    """

    def __init__(self, answer: Callable[[str], Answer | None], port: int = 0) -> None:
        try:
            self._server = _Server((_ADDRESS, port), _Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot listen on port {port}: {reason}; choose another --port, or 0 for any") from error
        self._server.answer = answer
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
    names: frozenset[str]
    token: str


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

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what is neither GET nor HEAD, or no HTTP at all, with nothing of the request in the answer."""
        del message, explain
        known = code == HTTPStatus.NOT_IMPLEMENTED
        status = HTTPStatus.METHOD_NOT_ALLOWED if known else HTTPStatus(code)
        self.close_connection = True
        self._send(_refusal(status, "only GET and HEAD are answered" if known else status.phrase))

    def log_message(self, *_: object) -> None:
        """Keep the terminal quiet."""

    def version_string(self) -> str:
        """Say who answers, without versions."""
        return self.server_version

    def _found(self) -> Answer:
        if self.headers.get("Host", "") not in self.server.names:
            return _refusal(
                HTTPStatus.MISDIRECTED_REQUEST, f"expected the address {_ADDRESS} or localhost and the port"
            )
        try:
            path = unquote(urlsplit(self.path).path) if len(self.path) <= _LONGEST else ""
        except ValueError:  # no address at all, such as `http://[/`
            path = ""
        token, slash, rest = path.removeprefix("/").partition("/")
        known = compare_digest(token.encode(), self.server.token.encode())
        found = self.server.answer(f"/{rest}") if known and slash else None
        return found or _refusal(HTTPStatus.NOT_FOUND, "there is nothing here; open the whole address that was printed")

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
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if body and self.command != "HEAD":
            self.wfile.write(data)


def _refusal(status: HTTPStatus, why: str) -> Answer:
    return Answer(f"{status.value}: {why}\n", "plain", status=status)
