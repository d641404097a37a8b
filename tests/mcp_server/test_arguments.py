"""What a tool does not take is said in one plain sentence, and nothing is done."""

from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field

from skillopt.errors import UsageError
from skillopt_mcp.server import read_arguments, strict_schema

pytestmark = pytest.mark.process


class Line(BaseModel):
    model_config = ConfigDict(extra="forbid")
    text: Annotated[str, Field(description="What it says.", min_length=2)]
    times: int = 1


class Arguments(BaseModel):
    name: Annotated[str, Field(description="Whose.", max_length=8)]
    lines: list[Line] = []
    max_usd: Annotated[float | None, Field(gt=0)] = None


SCHEMA = strict_schema(Arguments)


def refused(**arguments: object) -> str:
    with pytest.raises(UsageError) as told:
        read_arguments("write", Arguments, SCHEMA, arguments)
    return str(told.value)


def test_what_fits_is_read() -> None:
    read = read_arguments("write", Arguments, SCHEMA, {"name": "rows", "lines": [{"text": "ab"}], "max_usd": 1})
    assert read == Arguments(name="rows", lines=[Line(text="ab")], max_usd=1.0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"name": "rows", "max_cost_usd": 1}, "there is no argument 'max_cost_usd', did you mean 'max_usd'?"),
        ({"name": "rows", "q": 1}, "there is no argument 'q', its arguments are name, lines, max_usd"),
        ({}, "expected 'name' (Whose), found none"),
        ({"name": 7}, "expected 'name' to be a text, found 7"),
        ({"name": "r" * 9}, "expected 'name' to be a text of at most 8 characters, found 'rrrrrrrrr'"),
        (
            {"name": "rows", "max_usd": 0},
            "expected 'max_usd' to be a number above 0, found 0; leave it out for no cap beside the project's",
        ),
        ({"name": "rows", "max_usd": "$5"}, "expected 'max_usd' to be a number, found '$5'"),
        ({"name": "rows", "lines": "a"}, "expected 'lines' to be a list, found 'a'"),
        ({"name": "rows", "lines": [{}]}, "expected 'text' of lines 1 (What it says), found none"),
        ({"name": "rows", "lines": [{"text": "ab", "txet": 1}]}, "'txet' in lines 1, did you mean 'text'?"),
        ({"name": "rows", "lines": [{"text": "ab"}, 3]}, "expected lines 2 to be an object, found 3"),
        ({"nam": "rows"}, "did you mean 'name'?; expected 'name' (Whose), found none"),
    ],
)
def test_what_is_wrong_is_named_with_what_would_be_right(arguments: dict[str, object], told: str) -> None:
    assert refused(**arguments).removeprefix("write did nothing: ").endswith(told)


def test_of_many_mistakes_the_first_are_told_and_the_rest_counted() -> None:
    assert refused(a=1, b=2, c=3, d=4).endswith("; 2 more are wrong")


@given(st.dictionaries(st.text(max_size=8), st.recursive(st.none() | st.text() | st.integers(), st.lists)))
def test_whatever_is_sent_is_read_or_refused_in_one_line(arguments: dict[str, Any]) -> None:
    told = ""
    try:
        read_arguments("write", Arguments, SCHEMA, arguments)
    except UsageError as error:
        told = str(error)
    assert "\n" not in told
    assert "pydantic" not in told
