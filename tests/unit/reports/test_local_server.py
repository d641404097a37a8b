"""The loopback server: its own names only, GET and HEAD only, and nothing of a request in an answer."""

import http.client
import socket
from collections.abc import Iterator
from contextlib import closing
from threading import Thread
from urllib.parse import urlsplit

import pytest

from skillopt.errors import UsageError
from skillopt.reports.local_server import Answer, LoopbackServer

PAGES = {"/": Answer("<p>ä</p>"), "/text": Answer("plain", "plain", stamp="s1"), "/odd name": Answer("odd")}
NOTHING = "404: there is nothing here; open the whole address that was printed\n"


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    with closing(LoopbackServer(PAGES.get)) as made:
        thread = Thread(target=made.serve)
        thread.start()
        yield made
        made.stop()
        thread.join()


def ask(server: LoopbackServer, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    return ask_at(server, f"{urlsplit(server.address).path.rstrip('/')}{path}", method, **headers)


def ask_at(server: LoopbackServer, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], str]:
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as link:
        link.request(method, path, headers=headers)
        answer = link.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()


def test_ctrl_c_ends_it_also_while_a_thread_is_being_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken_into(_: Thread) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("cannot release un-acquired lock")

    with closing(LoopbackServer(PAGES.get)) as made, closing(socket.create_connection(("127.0.0.1", made.port))):
        monkeypatch.setattr(Thread, "start", broken_into)
        with pytest.raises(KeyboardInterrupt):
            made.serve()


def test_a_page_comes_with_headers_that_keep_it_to_itself(server: LoopbackServer) -> None:
    status, headers, body = ask(server, "/")
    assert (status, body) == (200, "<p>ä</p>")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Content-Security-Policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


def test_head_has_the_stamp_and_no_body(server: LoopbackServer) -> None:
    status, headers, body = ask(server, "/text?x=1", "HEAD")
    assert (status, headers["ETag"], body) == (200, '"s1"', "")
    assert headers["Content-Length"] == "5"


@pytest.mark.parametrize("path", ["http://[/", "http://[::1", "//[/"])
def test_what_is_no_address_is_answered_like_any_other_place_where_nothing_is(
    server: LoopbackServer, path: str
) -> None:
    assert ask_at(server, path, Host=f"127.0.0.1:{server.port}")[::2] == (404, NOTHING)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1.evil.example", ""])
def test_a_name_that_is_not_its_own_is_refused_as_rebinding_would_use_it(server: LoopbackServer, host: str) -> None:
    status, _, body = ask(server, "/", Host=host)
    assert status == 421
    assert "ä" not in body


def test_localhost_is_a_name_of_its_own(server: LoopbackServer) -> None:
    assert ask(server, "/", Host=f"localhost:{server.port}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_nothing_can_be_written(server: LoopbackServer, method: str) -> None:
    status, headers, _ = ask(server, "/", method)
    assert (status, headers["Allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/%2e%2e/etc/passwd", "/.skillopt/ledger.db", "/" + "a" * 5000])
def test_there_are_no_files_behind_the_paths(server: LoopbackServer, path: str) -> None:
    status, _, body = ask(server, path)
    assert (status, body) == (404, NOTHING)


@pytest.mark.parametrize("path", ["/", "", "/text", "//text", "/guess/text", "/%C3%A4/text", "/%00/", "*"])
def test_without_the_token_there_is_nothing(server: LoopbackServer, path: str) -> None:
    status, _, body = ask_at(server, path)
    assert (status, body) == (404, NOTHING)


def test_half_a_token_or_one_of_another_server_is_none(server: LoopbackServer) -> None:
    token = urlsplit(server.address).path.strip("/")
    assert len(token) == 32
    with closing(LoopbackServer(PAGES.get)) as other:
        paths = (f"/{token[:-1]}/", f"/{token}", f"/{token}x/", f"/x/{token}/", urlsplit(other.address).path)
    assert [ask_at(server, path)[0] for path in paths] == [404] * len(paths)


def test_escapes_in_a_path_are_read(server: LoopbackServer) -> None:
    assert ask(server, "/odd%20name")[2] == "odd"


def test_what_is_no_http_is_refused_without_repeating_it(server: LoopbackServer) -> None:
    with socket.create_connection(("127.0.0.1", server.port), timeout=30) as link:
        link.sendall(b"<script>alert(1)</script>\r\n\r\n")
        answer = link.makefile("rb").read()
    assert b"<script>" not in answer


def test_a_port_in_use_is_said_with_what_to_do(server: LoopbackServer) -> None:
    with pytest.raises(UsageError, match=rf"cannot listen on port {server.port}: .*choose another --port"):
        LoopbackServer(PAGES.get, server.port)
