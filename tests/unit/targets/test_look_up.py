"""Whether a provider has a model is asked without a call that is paid for."""

import pytest

from skillopt.errors import FailureKind, ProviderError
from skillopt.targets.anthropic import AnthropicModel
from skillopt.targets.api_model import ApiModel
from skillopt.targets.openai import OpenAIModel
from skillopt.targets.openai_compatible import OpenAICompatibleModel
from tests.fakes.fake_chat import fake_chat
from tools.fake_providers.fake_openai import failure
from tools.fake_providers.loopback import Answer, Requested, as_json, serve

ENTRY = {"id": "there", "object": "model", "created": 0, "owned_by": "test"}


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "a-key-for-tests")


def entries(asked: Requested) -> Answer:
    """Answer as a provider with one model does."""
    return as_json(200, ENTRY) if asked.path.endswith("/models/there") else failure(404, "not_found", "no such model")


@pytest.mark.parametrize("kind", [AnthropicModel, OpenAIModel])
def test_a_provider_is_asked_for_the_entry_of_a_model(kind: type[ApiModel]) -> None:
    with serve(entries) as server:
        kind("there", base_url=server.url).look_up()
        with pytest.raises(ProviderError) as failed:
            kind("nope", base_url=server.url).look_up()
    assert failed.value.kind is FailureKind.UNKNOWN_MODEL
    assert not [asked for asked in server.requests if asked.body]


def test_a_compatible_server_is_asked_for_its_list_where_a_tag_may_be_left_out() -> None:
    with fake_chat(models=("there:latest", "other")) as server:
        for name in ("there", "there:latest", "other"):
            OpenAICompatibleModel(name, base_url=f"{server.url}/v1").look_up()
        with pytest.raises(ProviderError, match="lists there:latest, other and no 'nope'"):
            OpenAICompatibleModel("nope", base_url=f"{server.url}/v1").look_up()


def test_a_compatible_server_without_a_list_may_have_the_model() -> None:
    with fake_chat() as server:
        OpenAICompatibleModel("any", base_url=f"{server.url}/v1").look_up()


@pytest.mark.parametrize("kind", [AnthropicModel, OpenAIModel, OpenAICompatibleModel])
def test_a_server_that_does_not_answer_is_told(kind: type[ApiModel]) -> None:
    with pytest.raises(ProviderError) as failed:
        kind("there", base_url="http://127.0.0.1:9/v1").look_up()
    assert failed.value.kind is FailureKind.NETWORK
