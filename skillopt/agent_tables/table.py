"""What a table `[agents.NAME]` says: how an agent's command line is run, and how its output is read."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from skillopt.safety.forge_tokens import FORGE_TOKENS

__all__ = [
    "PLACEHOLDERS",
    "AgentTable",
    "AnswerRule",
    "Condition",
    "ErrorRule",
    "ExitStatuses",
    "OutputFormat",
    "Place",
    "Places",
    "ResultRule",
    "ToolRule",
    "UsageRule",
    "fill_placeholders",
    "unknown_placeholders",
]

OutputFormat = Literal["text", "json", "lines"]
"""All that is printed is the answer; or it is one JSON document; or lines of JSON."""

PLACEHOLDERS: Final = ("prompt", "prompt_file", "model", "url", "project", "workspace", "home", "config", "turns")
"""What may stand in braces in commands, environment and files of a table."""

_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL: Final = re.compile(r"https?://[^\s/?#@]+(?:/\S*)?")


def _relative(path: str) -> str:
    parts = path.split("/")
    if not path or {"", ".", ".."} & set(parts) or "\\" in path or "\0" in path:
        raise ValueError("expected a relative path like '.agents/skills' without '..'")
    return path


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError("expected the name of an environment variable")
    return name


def _key(name: str) -> str:
    if name in FORGE_TOKENS:
        raise ValueError("expected a key of the agent's own, found a token of a forge, which no agent is given")
    return _variable(name)


def _url(address: str) -> str:
    if not _URL.fullmatch(address):
        raise ValueError("expected an address like 'https://api.example.com' without a name and password in it")
    return address


def _path(path: str) -> str:
    if not all(path.split(".")):
        raise ValueError("expected names joined by dots, like 'part.text'")
    return path


def _several(found: object) -> object:
    return (found,) if isinstance(found, str) else found


Place = Annotated[str, AfterValidator(_path)]
"""Where a value stands in a JSON object: names joined by dots; a number is a place in a list."""

Places = Annotated[tuple[Place, ...], BeforeValidator(_several)]
"""One place, or several."""

Condition = dict[Place, str | bool | tuple[str, ...]]
"""Values that a JSON object must have, by their places; of a list one is enough."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Rule(_Part):
    when: Annotated[Condition, Field(description="Values that a JSON object must have to count, by their places.")] = {}


class AnswerRule(_Rule):
    """Where the model's words stand; the last of them are the answer."""

    text: Annotated[Place, Field(description="Where the words stand.")]
    joined: Annotated[bool, Field(description="Whether they come in pieces that belong together.")] = False


class ToolRule(_Rule):
    """Where a use of a tool stands."""

    name: Annotated[Place, Field(description="Where the tool's name stands.")]
    input: Annotated[Place, Field(description="Where its arguments stand.")]
    result: Annotated[Places, Field(description="Where its result stands, the first that is there, if anywhere.")] = ()
    failed: Annotated[Condition, Field(description="Values by which it is known that the tool failed.")] = {}
    id: Annotated[Place | None, Field(description="Where its number stands, by which its result is found.")] = None


class ResultRule(_Rule):
    """Where the result of a tool stands, when it comes in an object of its own."""

    id: Annotated[Place, Field(description="Where the number of the tool's use stands.")]
    text: Annotated[Places, Field(description="Where the result stands, the first that is there.")]
    failed: Annotated[Condition, Field(description="Values by which it is known that the tool failed.")] = {}


class UsageRule(_Rule):
    """Where consumption stands; all objects that have it are added up."""

    input: Annotated[Places, Field(description="Where tokens read stand, summed.")] = ()
    cached: Annotated[Places, Field(description="Which of these came from a cache.")] = ()
    output: Annotated[Places, Field(description="Where tokens written stand, summed.")] = ()
    usd: Annotated[Place | None, Field(description="Where US dollars stand; else the model's price is used.")] = None


class ErrorRule(_Rule):
    """Where the words of a failure stand, which is missing data and no score."""

    text: Annotated[Place, Field(description="Where the words stand.")]
    status: Annotated[Place | None, Field(description="Where the HTTP status of the provider stands.")] = None


class ExitStatuses(_Part):
    """What exit statuses other than 0 mean; those that are not listed are failures of the agent: missing data."""

    ok: Annotated[tuple[int, ...], Field(description="It ended by itself.")] = ()
    limit: Annotated[tuple[int, ...], Field(description="It reached a limit of its own; what is left is scored.")] = ()
    refusal: Annotated[tuple[int, ...], Field(description="The model refused.")] = ()


class AgentTable(_Part):
    """A table `[agents.NAME]`."""

    command: Annotated[
        tuple[str, ...],
        Field(
            description="Program and arguments. `{prompt}` in it is the task's prompt, `{prompt_file}` a file with it; "
            "without either the prompt is the standard input.",
            min_length=1,
        ),
    ]
    model: Annotated[
        tuple[str, ...],
        Field(description='Arguments that choose a model, as in `["--model", "{model}"]`, for `NAME/MODEL`.'),
    ] = ()
    version: Annotated[
        tuple[str, ...] | None,
        Field(
            description="Command that prints the version. Without it: the program with `--version`; for a program of "
            "the project the digest of its file. `[]` for none."
        ),
    ] = None
    skills: Annotated[
        str, AfterValidator(_relative), Field(description="Where in the workspace the agent looks for skill folders.")
    ] = ".agents/skills"
    keys: Annotated[
        tuple[Annotated[str, AfterValidator(_key)], ...],
        Field(
            description="Environment variables that it may see: the one key it needs. Their values are never recorded."
        ),
    ] = ()
    url: Annotated[
        tuple[Annotated[str, AfterValidator(_url)], ...],
        Field(description="Addresses of its provider, all that it can reach from the sandbox; the first is `{url}`."),
    ] = ()
    environment: Annotated[
        dict[Annotated[str, AfterValidator(_variable)], str],
        Field(description="Environment variables that are set for it, beside a HOME of its own."),
    ] = {}
    files: Annotated[
        dict[Annotated[str, AfterValidator(_relative)], str],
        Field(description="Files of its home, such as its configuration: path → text."),
    ] = {}
    turns: Annotated[
        int,
        Field(description="Most requests of a rollout; the agent must keep to it, as by `{turns}` in `files`.", ge=0),
    ] = 0
    output: Annotated[
        OutputFormat,
        Field(
            description="`text`: all it prints is the answer; `json`: one JSON object; `lines`: a JSON object a line."
        ),
    ] = "text"
    answer: Annotated[AnswerRule | None, Field(description="Where the model's words stand in the JSON.")] = None
    tool: Annotated[ToolRule | None, Field(description="Where uses of tools stand.")] = None
    result: Annotated[ResultRule | None, Field(description="Where results of tools stand.")] = None
    usage: Annotated[UsageRule | None, Field(description="Where consumption stands.")] = None
    error: Annotated[ErrorRule | None, Field(description="Where words of failures stand.")] = None
    exits: Annotated[ExitStatuses, Field(description="What exit statuses mean.")] = ExitStatuses()

    @property
    def takes_model(self) -> bool:
        """Tell whether a model can be chosen."""
        return bool(self.model) or any("{model}" in text for text in self._texts)

    @property
    def needs_model(self) -> bool:
        """Tell whether one has to be chosen."""
        return any("{model}" in word for word in self.command)

    @property
    def needs_turns(self) -> bool:
        """Tell whether it is told how many requests it may make."""
        return any("{turns}" in text for text in self._texts)

    @property
    def _texts(self) -> Iterator[str]:
        yield from (*self.command, *self.model, *self.environment.values(), *self.files.values())


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of names in braces; other braces stay, as those of JSON.

    >>> fill_placeholders('{"model": "{model}"}', {"model": "small"})
    '{"model": "small"}'
    """
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def unknown_placeholders(table: AgentTable) -> Iterator[str]:
    """Yield what stands in braces in the commands of a table and is no placeholder."""
    for word in (*table.command, *table.model, *(table.version or ())):
        yield from (name for name in _PLACEHOLDER.findall(word) if name not in PLACEHOLDERS)
