"""Ask the optimizer model to say a section of a skill in fewer words, and read its reply."""

from typing import Annotated, Final

from pydantic import BaseModel, Field

from skillopt.prompts import fill
from skillopt.prompts.evidence import fence
from skillopt.prompts.json_replies import read_object, schema_of


class _Shorter(BaseModel):
    reasoning: str = ""
    text: Annotated[str, Field(max_length=20_000)]


SHORTER_SCHEMA: Final = schema_of(_Shorter)


def ask_shorter(text: str) -> str:
    """Ask for the text below a heading in fewer words; `read_shorter` reads it."""
    return fill("shorten", section=fence("section", text))


def read_shorter(reply: str) -> str:
    """Read the shorter text; empty where the model has none."""
    return read_object(reply, _Shorter, "text").text.strip("\n")
