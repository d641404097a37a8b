"""The API models against loopback servers: what they ask, what they read, and every way it can fail."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import pytest

from skillopt.errors import FailureKind, ProviderError, SettingsError
from skillopt.prompts.stages import EDITS_SCHEMA
from skillopt.protocols import Model
from skillopt.rollouts import Status, Usage
from skillopt.settings import Price, make_settings
from skillopt.targets.anthropic import AnthropicModel
from skillopt.targets.api_model import retry_after_seconds
from skillopt.targets.drivers import load_model
from skillopt.targets.openai import OpenAICompatibleModel, OpenAIModel
from tests.contracts.model_contract import ModelContract
from tests.fakes.fake_chat import fake_chat
from tests.fakes.faults import CHAT, FAULTS, KINDS, MESSAGES, RETRY_AFTER, WORDS, Wire, provider
from tools.fake_providers.fake_anthropic import fake_anthropic
from tools.fake_providers.loopback import Answer, Body, LoopbackServer, Requested, as_json, serve

PRICES = {"fake": Price(input=1_000_000, output=2_000_000, cache_read=0, cache_write=3_000_000)}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "key-for-loopback-only")
    for name in ("ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "OPENAI_BASE_URL", "OPENAI_COMPATIBLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def anthropic(url: str, timeout: float = 30.0) -> Model:
    return AnthropicModel("fake", base_url=url, timeout=timeout, prices=PRICES)


def openai(url: str, timeout: float = 30.0) -> Model:
    return OpenAIModel("fake", base_url=f"{url}/v1", timeout=timeout, prices=PRICES)


def compatible(url: str, timeout: float = 30.0) -> Model:
    return OpenAICompatibleModel("fake", base_url=f"{url}/v1", timeout=timeout, prices=PRICES)


Make = Callable[..., Model]
APIS: list[tuple[Wire, Make]] = [(MESSAGES, anthropic), (CHAT, openai), (CHAT, compatible)]
NAMES = ["anthropic", "openai", "openai-compatible"]
"""Each API as its wire format and its driver."""
DEFAULTS: dict[str, Callable[[], AbstractContextManager[LoopbackServer]]] = {
    MESSAGES.name: fake_anthropic,
    CHAT.name: fake_chat,
}


def _parts(schema: object) -> Iterator[Body]:
    if isinstance(schema, dict):
        yield schema
    inner = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    for part in inner:
        yield from _parts(part)


@pytest.mark.parametrize(("wire", "make"), APIS, ids=NAMES)
@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_has_its_kind_and_the_provider_s_words(wire: Wire, make: Make, fault: str) -> None:
    with provider(wire, fault) as server, pytest.raises(ProviderError) as caught:
        make(server.url, timeout=0.5 if fault == "never answers" else 30.0).reply("Say something.")
    assert caught.value.kind is KINDS[fault]
    assert str(caught.value).startswith(f"{KINDS[fault]}: ")
    assert WORDS.get(fault, "") in str(caught.value)
    assert caught.value.retry_after == (RETRY_AFTER if fault == "429 with retry-after" else None)
    assert "key-for-loopback-only" not in str(caught.value)


@pytest.mark.parametrize(("wire", "make"), APIS, ids=NAMES)
def test_who_cannot_be_reached_is_named_without_what_stands_around_the_host(wire: Wire, make: Make) -> None:
    with provider(wire, "connection refused") as server, pytest.raises(ProviderError) as caught:
        make(server.url.replace("://", "://robin:hidden@"), timeout=30.0).reply("Say something.")
    assert f"({server.url.removeprefix('http://')}" in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(("wire", "make"), APIS, ids=NAMES)
@pytest.mark.parametrize("status", [301, 307, 308])
def test_a_redirect_is_named_and_neither_key_nor_prompt_goes_there(wire: Wire, make: Make, status: int) -> None:
    with DEFAULTS[wire.name]() as other:
        place = f"{other.url}/v1/elsewhere"
        moved = Answer(status, b"", headers={"location": place})
        with serve(lambda _: moved) as server, pytest.raises(ProviderError, match=place) as caught:
            make(server.url).reply("Say something.")
        assert (caught.value.kind, other.requests) == (FailureKind.BAD_REQUEST, [])


class _Served(ModelContract):
    api: tuple[Wire, Make]

    @pytest.fixture
    def model(self) -> Iterator[Model]:
        wire, make = self.api
        with DEFAULTS[wire.name]() as server:
            yield make(server.url)


class TestAnthropicModel(_Served):
    api = APIS[0]


class TestOpenAIModel(_Served):
    api = APIS[1]


class TestOpenAICompatibleModel(_Served):
    api = APIS[2]


del _Served


def asked_of(make: Make, answer: Body, **options: str) -> tuple[Body, Requested]:
    """Return the body and the request of one call that is answered so."""
    with serve(lambda _: as_json(200, answer)) as server:
        reply = make(server.url).reply("Head.\n## Evidence\nTail.", **options)
        (request,) = server.requests
    return {"text": reply.text, "status": reply.status, "usage": reply.usage}, request


def messages(stop: str, **usage: int) -> Body:
    counted = {"input_tokens": 10, "output_tokens": 5, **usage}
    return {"content": [{"type": "text", "text": "Yes."}], "stop_reason": stop, "usage": counted}


def completion(finish: str, *, refusal: str | None = None, cached: int | None = 4) -> Body:
    counted = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": cached}}
    usage = {} if cached is None else {"usage": counted}
    return {"choices": [{"message": {"content": "Yes.", "refusal": refusal}, "finish_reason": finish}], **usage}


ENDINGS = [
    *((anthropic, messages("end_turn"), Status.OK), (anthropic, messages("max_tokens"), Status.LIMIT)),
    *((anthropic, messages("refusal"), Status.REFUSAL), (compatible, completion("stop"), Status.OK)),
    *((compatible, completion("length"), Status.LIMIT), (compatible, completion("content_filter"), Status.REFUSAL)),
    (compatible, completion("stop", refusal="Yes."), Status.REFUSAL),
]


@pytest.mark.parametrize(("make", "answer", "status"), ENDINGS)
def test_an_answer_says_how_it_ended(make: Make, answer: Body, status: Status) -> None:
    reply, _ = asked_of(make, answer)
    assert (reply["text"], reply["status"]) == ("Yes.", status)
    assert (reply["usage"].input_tokens, reply["usage"].output_tokens) == (10, 5)


def test_tokens_are_priced_by_kind() -> None:
    cached = messages("end_turn", cache_read_input_tokens=100, cache_creation_input_tokens=7)
    reply, _ = asked_of(anthropic, cached)
    assert reply["usage"] == Usage(1, 117, 5, 10.0 + 10.0 + 21.0)
    reply, _ = asked_of(openai, completion("stop"))
    assert reply["usage"] == Usage(1, 10, 5, 6.0 + 10.0)


def test_a_server_that_does_not_count_is_estimated_and_an_unlisted_model_has_no_price() -> None:
    with serve(lambda _: as_json(200, completion("stop", cached=None))) as server:
        usage = OpenAICompatibleModel("own", base_url=f"{server.url}/v1").reply("a").usage
    assert 0 < usage.output_tokens < 5
    assert usage.usd is None


@pytest.mark.parametrize("count", [-1, 10**15, "many"])
@pytest.mark.parametrize("make", [anthropic, compatible])
def test_an_absurd_count_of_tokens_is_a_malformed_answer(make: Make, count: object) -> None:
    body, name = (messages("end_turn"), "input_tokens") if make is anthropic else (completion("stop"), "prompt_tokens")
    with pytest.raises(ProviderError, match="malformed"):
        asked_of(make, {**body, "usage": {**body["usage"], name: count}})


def test_a_server_that_is_paid_and_does_not_count_is_refused() -> None:
    with pytest.raises(ProviderError, match="price, found 'none'"):
        asked_of(compatible, completion("stop", cached=None))


def test_anthropic_caches_what_many_prompts_begin_with_and_holds_replies_to_a_schema() -> None:
    _, request = asked_of(anthropic, messages("end_turn"), system="Rules.", schema=EDITS_SCHEMA)
    head, tail = request.body["messages"][0]["content"]
    assert head["text"] + tail["text"] == "Head.\n## Evidence\nTail."
    assert head["cache_control"] == request.body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in tail
    assert request.body["output_config"]["format"]["schema"] == json.loads(EDITS_SCHEMA)


def test_openai_stores_nothing_and_holds_replies_to_a_schema() -> None:
    _, request = asked_of(openai, completion("stop"), system="Rules.", schema=EDITS_SCHEMA)
    assert request.body["store"] is False
    assert request.body["max_completion_tokens"] == 32_000
    wanted = request.body["response_format"]["json_schema"]
    assert (wanted["strict"], wanted["schema"]) == (True, json.loads(EDITS_SCHEMA))


def test_a_compatible_server_is_asked_for_nothing_that_it_may_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_COMPATIBLE_API_KEY", "key-of-the-server")
    _, request = asked_of(compatible, completion("stop"), system="Rules.")
    assert request.body.keys() == {"model", "messages", "max_tokens"}
    assert [turn["role"] for turn in request.body["messages"]] == ["system", "user"]
    assert request.headers["authorization"] == "Bearer key-of-the-server"


def test_a_compatible_server_is_asked_for_json_where_a_reply_is_to_be_json() -> None:
    _, request = asked_of(compatible, completion("stop"), schema=EDITS_SCHEMA)
    assert request.body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("status", [400, 422])
def test_a_server_that_refuses_json_mode_is_asked_without_it_from_then_on(status: int) -> None:
    def answer(asked: Requested) -> Answer:
        if "response_format" in asked.body:
            return as_json(status, {"error": {"message": "unknown field response_format", "type": "invalid"}})
        return as_json(200, completion("stop"))

    with serve(answer) as server:
        model = compatible(server.url)
        assert [model.reply(text, schema=EDITS_SCHEMA).text for text in ("a", "b")] == ["Yes.", "Yes."]
        assert ["response_format" in request.body for request in server.requests] == [True, False, False]


def test_the_length_of_the_answers_of_a_target_is_asked_for() -> None:
    with serve(lambda _: as_json(200, completion("stop"))) as server:
        settings = make_settings(("t", {"base_url": f"{server.url}/v1", "rollout_tokens": "40"}))
        target = load_model("openai-compatible/small", settings, target=True)
        optimizer = load_model("openai-compatible/small", settings)
        assert [model.reply("a").text for model in (target, optimizer)] == ["Yes.", "Yes."]
        first, second = (request.body for request in server.requests)
    assert first["max_tokens"] == 40
    assert second["max_tokens"] == 16_000
    assert target.worst_case("a").output_tokens == 40


@pytest.mark.parametrize("part", list(_parts(json.loads(EDITS_SCHEMA))))
def test_schemas_are_in_the_subset_that_providers_enforce(part: Body) -> None:
    if "properties" in part:
        assert part["additionalProperties"] is False
        assert part["required"] == list(part["properties"])


@pytest.mark.parametrize(("make", "name"), [(anthropic, "ANTHROPIC_API_KEY"), (openai, "OPENAI_API_KEY")])
def test_a_missing_key_is_refused_before_sending(make: Make, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name)
    with pytest.raises(SettingsError, match=f"{name}, found none; set"):
        make("http://127.0.0.1:9").reply("a")


@pytest.mark.parametrize(("_", "make"), APIS, ids=NAMES)
def test_a_call_is_bounded_before_it_is_made(_: Wire, make: Make) -> None:
    bound = make("http://127.0.0.1:9").worst_case("ä" * 1000, system="b" * 10)
    assert bound.input_tokens >= 2010
    assert bound.usd is not None
    assert bound.usd > bound.output_tokens * 2


@pytest.mark.parametrize(("header", "seconds"), [("7", 7.0), ("0.5", 0.5), ("soon", None), ("", None)])
def test_the_wait_that_is_asked_for_is_read_in_every_form(header: str, seconds: float | None) -> None:
    assert retry_after_seconds({"retry-after": header}) == seconds


@pytest.mark.parametrize(
    ("answer", "said"), [(as_json(404, {"detail": "Not Found"}), "HTTP 404"), (as_json(200, {}), "")]
)
def test_an_address_without_a_version_that_answers_otherwise_is_named(answer: Answer, said: str) -> None:
    with serve(lambda _: answer) as server:
        with pytest.raises(ProviderError, match=rf"{said}.*the version"):
            OpenAICompatibleModel("own", base_url=server.url).reply("a")
        with pytest.raises(ProviderError) as raised:
            OpenAICompatibleModel("own", base_url=f"{server.url}/v1").reply("a")
    assert "most servers" not in str(raised.value)
