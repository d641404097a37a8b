"""The record of what an agent does, as far as it needs no sandbox: what is written, and whom it is refused."""

import os
import socket
from pathlib import Path

from skillopt.sandbox.act_recorder import ActRecord, HeldCalls, asked_name, proxied_host


def test_a_record_has_each_act_once_at_most_a_hundred_of_a_kind_and_no_host_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "acts").touch()
    record = ActRecord(str(tmp_path / "acts"), ["model:443"])
    for name in ("model:443", "tab\tbed", "tab\tbed", *map(str, range(120))):
        record.add("host", name)
    lines = (tmp_path / "acts").read_text().splitlines()
    assert (len(lines), lines[0], lines[-1]) == (100, "host\ttab\\tbed", "host\tmore than 100")


def test_names_are_read_out_of_queries_and_requests_to_a_proxy() -> None:
    assert asked_name(bytes(12) + b"\x04Evil\x07example\0") == "evil.example"
    assert asked_name(b"short") == ""
    requests = (b"CONNECT evil.example:443 HTTP/1.1", b"GET http://evil.example/x HTTP/1.1", b"GET /x", b"hello")
    assert [*map(proxied_host, requests)] == ["evil.example:443", "evil.example", "", ""]


def test_without_a_file_to_write_to_no_filter_is_asked_for() -> None:
    outside, inside = socket.socketpair()
    with inside:
        HeldCalls(ActRecord("", []), "/home", "/work", []).serve(outside, os.getpid())
        assert inside.recv(9) == b"n"
