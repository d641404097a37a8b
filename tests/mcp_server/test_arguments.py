"""What a tool or prompt does not take is said in one plain sentence; pages, quotes and addresses for any text."""

import re
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import TextContent
from pydantic import BaseModel, ConfigDict, Field

from skillopt.errors import UsageError
from skillopt_mcp.catalogue import read_address, skill_address
from skillopt_mcp.pages import paginate, quoted
from skillopt_mcp.prompts import PROMPTS, get_prompt
from skillopt_mcp.server import read_arguments, strict_model
from tests.fakes.mcp_clients import EVERY_PROTOCOL

pytestmark = pytest.mark.process


class Line(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: Annotated[str, Field(description="What it says.", min_length=2)]
    times: int = 1


class Arguments(BaseModel):
    name: Annotated[str, Field(description="Whose.", max_length=8)]
    lines: list[Line] = []
    max_usd: Annotated[float | None, Field(gt=0)] = None


STRICT = strict_model(Arguments)


def refused(**arguments: object) -> str:
    with pytest.raises(UsageError) as told:
        read_arguments("write", STRICT, arguments)
    return str(told.value)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "rows", "max_cost_usd": 1}, "unknown argument 'max_cost_usd'; did you mean 'max_usd'?"),
        ({"name": "rows", "q": 1}, "unknown argument 'q'; known arguments: name, lines, max_usd"),
        ({}, "expected the argument 'name', found none; add it"),
        ({"name": "r" * 9}, "name: expected a text of at most 8 characters, found 'rrrrrrrrr'"),
        ({"name": "rows", "max_usd": 0}, "max_usd: expected a number above 0, found 0"),
        ({"name": "rows", "max_usd": "$5"}, "max_usd: expected a number, found '$5'"),
        ({"name": "rows", "lines": "a"}, 'lines: expected a list, as in ["one", "two"], found \'a\''),
        ({"name": "rows", "lines": [{}]}, "expected the argument 'lines.0.text', found none; add it"),
        ({"name": "rows", "lines": [{"text": "ab"}, 3]}, "lines.1: expected an object, found 3"),
        ({"name": "rows", "lines": [{"text": "ab", "time": 2}]}, "argument 'lines.0.time'; did you mean 'times'?"),
        ({"nam": "rows"}, "did you mean 'name'?; expected the argument 'name', found none; add it"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(arguments: dict[str, object], told: str) -> None:
    assert refused(**arguments).removeprefix("write did nothing: ").endswith(told)


def test_of_many_mistakes_the_first_are_told_and_the_rest_counted() -> None:
    assert refused(a=1, b=2, c=3, d=4).endswith("; 2 more are wrong")


@settings(max_examples=30)
@given(st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.text() | st.integers(), st.lists)))
def test_whatever_is_sent_is_read_or_refused_in_one_line(arguments: dict[str, Any]) -> None:
    told = ""
    try:
        read_arguments("write", STRICT, arguments)
    except UsageError as error:
        told = str(error)
    assert "\n" not in told
    assert "pydantic" not in told


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


SKILLS = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,8})?", fullmatch=True)
PATHS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


def test_a_line_longer_than_a_page_is_cut() -> None:
    pages = [paginate("😀" * 20_000, number) for number in (1, 2, 3, 4)]
    assert sum(page.count("😀") for page in pages) == 20_000
    assert all(len(page.encode()) < 30_000 for page in pages)


@given(st.text(alphabet="`a \n", max_size=60))
def test_nothing_in_a_quoted_text_ends_the_quote(text: str) -> None:
    first, *_, last = quoted(text).split("\n")
    assert first == last
    assert re.fullmatch("`{3,}", first)
    assert first not in text


@given(SKILLS, PATHS, st.text(max_size=60))
def test_an_address_is_read_back_and_any_text_is_read(name: str, path: str, text: str) -> None:
    address = skill_address(name, path)
    assert read_address(str(address)) == address
    assert str(address).isascii()
    read_address(text)
    read_address(f"skill://rows/{text}")
