"""Whatever line a client sends, it gets an answer: else it would wait for ever."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt_mcp.transports import LONGEST, find_fault
from tests.fakes.mcp_clients import pipe

PARSE, INVALID = -32700, -32600
FAULTS = [
    (b"{broken", None, PARSE),
    (b"\xff\xfe", None, PARSE),
    (b"[" * 100_000, None, PARSE),
    (b'{"a":' * 100_000, None, PARSE),
    (rb'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"\ud800"}}', 7, PARSE),
    (rb'{"jsonrpc":"2.0","id":"\ud800","method":"ping"}', None, PARSE),
    (b"[]", None, INVALID),
    (b"null", None, INVALID),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', None, INVALID),
    (b'{"id":3,"method":"ping"}', 3, INVALID),
    (b'{"jsonrpc":"2.0","id":"a","method":5}', "a", INVALID),
    (b'{"jsonrpc":"2.0","id":9,"method":"ping","params":[1]}', 9, INVALID),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, INVALID),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, INVALID),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, INVALID),
]


@pytest.mark.process
def test_each_line_that_is_no_message_is_answered_in_turn(project: Path) -> None:
    with pipe(project) as server:
        server.shake("2025-11-25")
        for line, number, code in FAULTS:
            server.write(line)
            answer = server.read()
            assert (answer["id"], answer["error"]["code"]) == (number, code), line[:80]
        assert "result" in server.ask("tools/list")


@pytest.mark.process
def test_a_line_that_is_too_long_is_answered_and_the_next_one_too(project: Path) -> None:
    with pipe(project) as server:
        server.shake("2025-11-25")
        server.write(b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * (2 * LONGEST) + b'"}')
        assert "at most" in server.read()["error"]["message"]
        assert "result" in server.ask("tools/list")


@given(st.text(min_size=1))
def test_whatever_the_text_its_fault_can_be_sent(text: str) -> None:
    fault = find_fault(text)
    assert fault is None or json.loads(fault.model_dump_json())["error"]["code"] in {PARSE, INVALID}


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":1,"method":"ping"}',
        '{"jsonrpc":"2.0","method":"notifications/initialized"}',
        '{"jsonrpc":"2.0","id":"a","result":{}}',
        '{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}',
    ],
)
def test_messages_have_no_fault(line: str) -> None:
    assert find_fault(line) is None
