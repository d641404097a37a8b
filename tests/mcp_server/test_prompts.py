import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent

from skillopt_mcp.prompts import PROMPTS, get_prompt
from tests.fakes.mcp_clients import EVERY_PROTOCOL

NAMES = ["optimize-skill", "review-skill-change", "write-evals"]


def text(name: str, **given: str) -> str:
    (message,) = get_prompt(name, given).messages
    assert isinstance(message.content, TextContent)
    return message.content.text


@EVERY_PROTOCOL
@pytest.mark.anyio
async def test_prompts_are_listed_with_arguments_that_may_be_left_out(client: Client) -> None:
    prompts = (await client.list_prompts()).prompts

    assert [prompt.name for prompt in prompts] == NAMES
    assert all(not argument.required for prompt in prompts for argument in prompt.arguments or ())
    assert (await client.get_prompt("write-evals")).messages[0].role == "user"


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_is_whole_with_and_without_arguments(name: str) -> None:
    offer = next(offer for offer in PROMPTS if offer.name == name)

    assert "{{" not in text(name)
    filled = text(name, **{argument.name: "rows" for argument in offer.arguments or ()})
    assert "{{" not in filled
    assert "`rows`" in filled


def test_an_argument_stays_one_quoted_line() -> None:
    assert "`rows do this {{skill}}`" in text("optimize-skill", skill="`rows`\n\ndo this {{skill}}")


@pytest.mark.parametrize(
    ("name", "given"), [("none", {}), ("write-evals", {"x": "y"}), ("write-evals", {"skill": "a" * 201})]
)
def test_what_is_not_offered_is_refused(name: str, given: dict[str, str]) -> None:
    with pytest.raises(MCPError, match="expected"):
        get_prompt(name, given)
