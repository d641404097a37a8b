"""A loopback forwarder that adds the server's token to each request, for clients that cannot send it."""

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

_OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding"}
_PIECE = 65_536


@contextmanager
def forward(port: int, token: str) -> Iterator[str]:
    """Forward to a port of this machine for the length of a `with` block, and give the address that does."""
    with _Forwarder(port, token) as server:
        thread = Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class _Forwarder(ThreadingHTTPServer):
    daemon_threads = True
    # Streams stay open until the server at the other end is stopped, which is after this one.
    block_on_close = False

    def __init__(self, port: int, token: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.port = port
        self.token = token

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up first."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Forwarder

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.close_connection = True
        with closing(HTTPConnection("127.0.0.1", self.server.port)) as connection:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in _OF_THE_CONNECTION:
                    connection.putheader(name, value)
            connection.putheader("Authorization", f"Bearer {self.server.token}")
            connection.endheaders(body)
            # The server may end first, with a stream still open.
            with suppress(OSError, ValueError), connection.getresponse() as answer:
                self._return(answer)

    def _return(self, answer: HTTPResponse) -> None:
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in _OF_THE_CONNECTION:
                self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()
        while piece := answer.read1(_PIECE):
            self.wfile.write(piece)
            self.wfile.flush()

    def do_GET(self) -> None:
        self.do_POST()

    def do_DELETE(self) -> None:
        self.do_POST()
