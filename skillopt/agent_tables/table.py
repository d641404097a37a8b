"""What a table `[agents.NAME]` says: how an agent's command line is run, and how its output is read."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from skillopt.safety.credentials import FORGE_TOKENS

__all__ = [
    "ALLOWED_AGENTS",
    "OF_VERSIONS",
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

ALLOWED_AGENTS: Final = "SKILLOPT_ALLOW_AGENTS"
"""Variable with the names of agents that may run although nobody was asked, separated by commas."""

OutputFormat = Literal["text", "json", "lines"]
"""All that is printed is the answer; or it is one JSON document; or lines of JSON."""

PLACEHOLDERS: Final = ("prompt", "prompt_file", "model", "url", "project", "workspace", "home", "config", "turns")
"""What may stand in braces in commands, environment and files of a table."""

OF_VERSIONS: Final = ("project", "model", "url", "turns")
"""What may stand in braces in `version`."""

_PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_OF_PROJECT: Final = re.compile(r"\{project\}(?:(?!\{project\}).)*", re.DOTALL)
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_URL: Final = re.compile(r"https?://[^\s/?#@]+(?:/\S*)?")


_LOADERS: Final = re.compile(
    r"PATH|HOME|TMPDIR|TMP|TEMP|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELLOPTS|BASHOPTS|PS4|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH"
    r"|GLIBC_TUNABLES|PYTHON(STARTUP|PATH|HOME|INSPECT|BREAKPOINT)|NODE_OPTIONS|NODE_PATH|PERL5?(LIB|OPT|DB)|RUBY(OPT|LIB)"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|SKILLOPT_.*"
)
"""Variables that make programs load or find other code."""

_FORGE: Final = re.compile(
    r"(GH|GITHUB|GITLAB|ACTIONS|GITEA|FORGEJO|BITBUCKET)_.*|NPM_TOKEN|NODE_AUTH_TOKEN|SSH_AUTH_SOCK"
)
"""Variables by which somebody could write to a forge, beside those that are listed in FORGE_TOKENS."""

_OURS: Final = ("task.txt", "prompt.txt", "net", "hosts", "tmp", ".git")
"""Names in its home that are taken."""


def _text(text: str) -> str:
    if "\0" in text:
        raise ValueError("expected a text without a zero byte")
    return text


def _word(text: str) -> str:
    if not text:
        raise ValueError("expected a word, found an empty one; leave it out")
    return _text(text)


def _own_file(path: str) -> str:
    if _relative(path).partition("/")[0] in _OURS or path == "config":
        raise ValueError(f"expected another name, this one is taken ({', '.join(_OURS)}, and config is a folder)")
    return path


def _relative(path: str) -> str:
    parts = path.split("/")
    if not path or {"", ".", ".."} & set(parts) or "\\" in path or "\0" in path:
        raise ValueError("expected a relative path like '.agents/skills' without '..'")
    return path


def _variable(name: str) -> str:
    if not _VARIABLE.fullmatch(name):
        raise ValueError("expected the name of an environment variable")
    if _LOADERS.fullmatch(name):
        raise ValueError("expected a variable of the agent's own, found one by which programs find or load others")
    return name


def _key(name: str) -> str:
    if name in FORGE_TOKENS or _FORGE.fullmatch(name):
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


_Text = Annotated[str, AfterValidator(_text)]
_Word = Annotated[str, AfterValidator(_word)]

Place = Annotated[str, AfterValidator(_path)]
"""Where a value stands in a JSON object: names joined by dots; a number is a place in a list."""

Places = Annotated[tuple[Place, ...], BeforeValidator(_several)]
"""One place, or several."""

Condition = dict[Place, str | bool | int | tuple[str, ...]]
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
        tuple[_Word, ...],
        Field(
            description="Program and arguments. `{prompt}` in it is the task's prompt, `{prompt_file}` a file with it; "
            "without either the prompt is the standard input.",
            min_length=1,
        ),
    ]
    model: Annotated[
        tuple[_Text, ...],
        Field(description='Arguments that choose a model, as in `["--model", "{model}"]`, for `NAME/MODEL`.'),
    ] = ()
    version: Annotated[
        tuple[_Word, ...] | None,
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
        dict[Annotated[str, AfterValidator(_variable)], _Text],
        Field(description="Environment variables that are set for it, beside a HOME of its own."),
    ] = {}
    files: Annotated[
        dict[Annotated[str, AfterValidator(_own_file)], _Text],
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
        """Whether a model can be chosen."""
        return bool(self.model) or any("{model}" in text for text in self._texts)

    @property
    def needs_model(self) -> bool:
        """Whether one has to be chosen."""
        return any("{model}" in word for word in self.command)

    @property
    def needs_turns(self) -> bool:
        """Whether it is told how many requests it may make."""
        return any("{turns}" in text for text in self._texts)

    @property
    def project_words(self) -> Iterator[tuple[str, str]]:
        """Yield the field and the text of what stands from each `{project}` to the end of its word."""
        fields = {"command": self.command, "model": self.model, "environment": tuple(self.environment.values())}
        for field, words in {**fields, "version": self.version or ()}.items():
            yield from ((field, found) for word in words for found in _OF_PROJECT.findall(word))

    @property
    def _texts(self) -> Iterator[str]:
        yield from (*self.command, *self.model, *self.environment.values(), *self.files.values())


def fill_placeholders(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of names in braces; other braces stay, as those of JSON.

    >>> fill_placeholders('{"model": "{model}"}', {"model": "small"})
    '{"model": "small"}'
    """
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def unknown_placeholders(table: AgentTable) -> Iterator[tuple[str, str]]:
    """Yield what stands in braces where it is not filled in: the field, and the name."""
    fields = {
        "command": (table.command, PLACEHOLDERS),
        "model": (table.model, PLACEHOLDERS),
        "environment": (tuple(table.environment.values()), PLACEHOLDERS),
        "version": (table.version or (), OF_VERSIONS),
    }
    for field, (texts, known) in fields.items():
        yield from ((field, name) for text in texts for name in _PLACEHOLDER.findall(text) if name not in known)
