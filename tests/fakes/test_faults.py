"""The failing providers fail as they say, in every wire format, for streams and for whole answers."""

import http.client
import json
from urllib.parse import urlsplit

import pytest

from tests.fakes.faults import CHAT, FAULTS, MESSAGES, NO_SUCH_TOOL, REFUSED, RESPONSES, WORDS, Wire, provider

PATHS = {"Anthropic Messages": "/v1/messages", "OpenAI Responses": "/v1/responses"}
WIRES = [
    pytest.param(wire, stream, id=f"{wire.name}, {'stream' if stream else 'whole'}")
    for wire, stream in ((MESSAGES, True), (MESSAGES, False), (RESPONSES, True), (RESPONSES, False), (CHAT, False))
]


def post(url: str, wire: Wire, *, stream: bool, seconds: float = 5.0) -> tuple[int, str, str]:
    """Return status, `retry-after` and body."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=seconds)
    try:
        asked = json.dumps({"model": "m", "messages": [], **({"stream": True} if stream else {})})
        connection.request("POST", PATHS.get(wire.name, "/v1/chat/completions"), asked)
        answer = connection.getresponse()
        return answer.status, answer.headers.get("retry-after", ""), answer.read().decode()
    finally:
        connection.close()


def objects(content: str, *, stream: bool) -> list[object]:
    """Parse a body, or the data of its events."""
    texts = [line[6:] for line in content.splitlines() if line.startswith("data: ")] if stream else [content]
    return [json.loads(text) for text in texts]


@pytest.mark.parametrize(("wire", "stream"), WIRES)
@pytest.mark.parametrize("fault", WORDS)
def test_an_error_has_its_status_its_words_and_its_header(wire: Wire, fault: str, *, stream: bool) -> None:
    with provider(wire, fault) as server:
        status, retry_after, content = post(server.url, wire, stream=stream)
    assert status == int(fault[:3])
    assert json.loads(content)["error"]["message"] == WORDS[fault]
    assert retry_after == ("1" if fault == "429 with retry-after" else "")


@pytest.mark.parametrize(("wire", "stream"), WIRES)
@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (REFUSED, ConnectionRefusedError),
        ("hangs up", http.client.RemoteDisconnected),
        ("never answers", TimeoutError),
        ("truncated", http.client.IncompleteRead),
    ],
)
def test_a_broken_connection_is_one(wire: Wire, fault: str, error: type[Exception], *, stream: bool) -> None:
    with provider(wire, fault) as server, pytest.raises(error):
        post(server.url, wire, stream=stream, seconds=0.2 if fault == "never answers" else 5)


@pytest.mark.parametrize(("wire", "stream"), WIRES)
def test_what_is_malformed_does_not_parse(wire: Wire, *, stream: bool) -> None:
    with provider(wire, "malformed") as server:
        status, _, content = post(server.url, wire, stream=stream)
    assert status == 200
    with pytest.raises(json.JSONDecodeError):
        objects(content, stream=stream)


@pytest.mark.parametrize(("wire", "stream"), WIRES)
@pytest.mark.parametrize(("fault", "called"), [("empty", False), ("wrong tool call", True)])
def test_what_is_well_formed_parses_and_holds_no_text(wire: Wire, fault: str, *, called: bool, stream: bool) -> None:
    with provider(wire, fault) as server:
        status, _, content = post(server.url, wire, stream=stream)
    assert status == 200
    assert objects(content, stream=stream)
    assert (NO_SUCH_TOOL in content) == called
    assert "text" not in content


def test_every_fault_is_tried() -> None:
    assert {*WORDS, REFUSED, "hangs up", "never answers", "truncated", "malformed", "empty", "wrong tool call"} == {
        *FAULTS
    }
