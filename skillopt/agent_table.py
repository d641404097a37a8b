"""Agents that a table `[agents.NAME]` of skillopt.toml describes: what it says, how it is read, and those shipped.

Running them is in targets.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, Final

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    ValidationError,
    model_validator,
)

from skillopt.errors import SettingsError, describe_field

ALLOWED_AGENTS: Final = "SKILLOPT_ALLOW_AGENTS"
"""Variable with the names of agents that may run although nobody was asked, separated by commas."""

_PLACEHOLDERS: Final = ("prompt", "prompt_file", "model", "url", "project", "workspace", "home", "config", "turns")
"""What may stand in braces in commands, environment and files of a table."""

PLACEHOLDER: Final = re.compile(r"\{([a-z_]+)\}")
_OF_PROJECT: Final = re.compile(r"\{project\}(?:(?!\{project\}).)*", re.DOTALL)
_LOADERS: Final = re.compile(
    r"PATH|HOME|TMPDIR|TMP|TEMP|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELLOPTS|BASHOPTS|PS4|LD_.*|DYLD_.*|GCONV_PATH|LOCPATH"
    r"|GLIBC_TUNABLES|PYTHON(STARTUP|PATH|HOME|INSPECT|BREAKPOINT)|NODE_OPTIONS|NODE_PATH|PERL5?(LIB|OPT|DB)|RUBY(OPT|LIB)"
    r"|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|SKILLOPT_.*"
)
"""Variables that make programs load or find other code."""

FORGE_TOKENS: Final = (
    *("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITHUB_PAT"),
    *("GITLAB_TOKEN", "GITLAB_PRIVATE_TOKEN", "CI_JOB_TOKEN", "CI_JOB_JWT", "CI_REPOSITORY_URL"),
    *("INPUT_GITHUB_TOKEN", "INPUT_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN"),
)
"""Environment variables with a token of a forge. No process that runs models, agents or verifiers is given one."""

_FORGE: Final = re.compile(
    r"(GH|GITHUB|GITLAB|ACTIONS|GITEA|FORGEJO|BITBUCKET)_.*|NPM_TOKEN|NODE_AUTH_TOKEN|SSH_AUTH_SOCK"
)
"""Variables by which somebody could write to a forge, beside those that are listed in FORGE_TOKENS."""

_OURS: Final = ("task.txt", "prompt.txt", "net", "hosts", "tmp", ".git")
"""Names in its home that are taken."""


def _checked(expected: str, is_right: Callable[[str], object]) -> AfterValidator:
    def check(text: str) -> str:
        if not is_right(text):
            raise ValueError(f"expected {expected}")
        return text

    return AfterValidator(check)


_Text = Annotated[str, _checked("a text without a zero byte", lambda text: "\0" not in text)]
_Word = Annotated[_Text, _checked("a word, found an empty one; leave it out", bool)]
_RelativePath = Annotated[
    str,
    _checked(
        "a relative path like '.agents/skills' without '..'",
        lambda path: bool(path) and not {"", ".", ".."} & set(path.split("/")) and not {"\\", "\0"} & set(path),
    ),
]
_TAKEN: Final = f"another name, this one is taken ({', '.join(_OURS)}, and config is a folder)"
_OwnFile = Annotated[
    _RelativePath, _checked(_TAKEN, lambda path: path.partition("/")[0] not in _OURS and path != "config")
]
_Variable = Annotated[
    str,
    _checked("the name of an environment variable", re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch),
    _checked(
        "a variable of the agent's own, found one by which programs find or load others",
        lambda name: not _LOADERS.fullmatch(name),
    ),
]
_Key = Annotated[
    _Variable,
    _checked(
        "a key of the agent's own, found a token of a forge, which no agent is given",
        lambda name: name not in FORGE_TOKENS and not _FORGE.fullmatch(name),
    ),
]
_Address = Annotated[
    str,
    _checked(
        "an address like 'https://api.example.com' without a name and password in it",
        re.compile(r"https?://[^\s/?#@]+(?:/\S*)?").fullmatch,
    ),
]

Place = Annotated[str, _checked("names joined by dots, like 'part.text'", lambda path: all(path.split(".")))]
"""Where a value stands in a JSON object: names joined by dots; a number is a place in a list."""

Places = Annotated[tuple[Place, ...], BeforeValidator(lambda found: (found,) if isinstance(found, str) else found)]
"""One place, or several."""

Condition = dict[Place, str | StrictBool]
"""Values that a JSON object must have, by their places."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Rule(_Part):
    when: Condition = Field({}, description="Values that a JSON object must have to count, by their places.")


class AnswerRule(_Rule):
    """Where the model's words stand; the last of them are the answer."""

    text: Place = Field(description="Where the words stand.")
    joined: bool = Field(default=False, description="Whether they come in pieces that belong together.")


class ToolRule(_Rule):
    """Where a use of a tool stands."""

    name: Place = Field(description="Where the tool's name stands.")
    input: Place = Field(description="Where its arguments stand.")
    result: Places = Field((), description="Where its result stands, the first that is there, if anywhere.")
    failed: Condition = Field({}, description="Values by which it is known that the tool failed.")
    id: Place | None = Field(None, description="Where its number stands, by which its result is found.")


class ResultRule(_Rule):
    """Where the result of a tool stands, when it comes in an object of its own."""

    id: Place = Field(description="Where the number of the tool's use stands.")
    text: Places = Field(description="Where the result stands, the first that is there.")
    failed: Condition = Field({}, description="Values by which it is known that the tool failed.")


class UsageRule(_Rule):
    """Where consumption stands; all objects that have it are added up."""

    input: Places = Field((), description="Where tokens read stand, summed.")
    cached: Places = Field((), description="Which of these came from a cache.")
    output: Places = Field((), description="Where tokens written stand, summed.")
    usd: Place | None = Field(None, description="Where US dollars stand; else the model's price is used.")


class ErrorRule(_Rule):
    """Where the words of a failure stand, which is missing data and no score."""

    text: Place = Field(description="Where the words stand.")
    status: Place | None = Field(None, description="Where the HTTP status of the provider stands.")


class AgentTable(_Part):
    """A table `[agents.NAME]`."""

    command: tuple[_Word, ...] = Field(
        description="Program and arguments. `{prompt}` in it is the task's prompt, `{prompt_file}` a file with it; "
        "without either the prompt is the standard input.",
        min_length=1,
    )
    model: tuple[_Text, ...] = Field(
        (), description='Arguments that choose a model, as in `["--model", "{model}"]`, for `NAME/MODEL`.'
    )
    skills: _RelativePath = Field(
        ".agents/skills", description="Where in the workspace the agent looks for skill folders."
    )
    keys: tuple[_Key, ...] = Field(
        (), description="Environment variables that it may see: the one key it needs. Their values are never recorded."
    )
    url: tuple[_Address, ...] = Field(
        (), description="Addresses of its provider, all that it can reach from the sandbox; the first is `{url}`."
    )
    environment: dict[_Variable, _Text] = Field(
        {}, description="Environment variables that are set for it, beside a HOME of its own."
    )
    files: dict[_OwnFile, _Text] = Field({}, description="Files of its home, such as its configuration: path → text.")
    turns: int = Field(
        0, description="Most requests of a rollout; the agent must keep to it, as by `{turns}` in `files`.", ge=0
    )
    answer: AnswerRule | None = Field(
        None,
        description="Where the model's words stand in what it prints, one JSON object or one a line. Without it all "
        "that it prints is the answer.",
    )
    tool: ToolRule | None = Field(None, description="Where uses of tools stand.")
    result: ResultRule | None = Field(None, description="Where results of tools stand.")
    usage: UsageRule | None = Field(None, description="Where consumption stands.")
    error: ErrorRule | None = Field(None, description="Where words of failures stand.")
    limit_statuses: tuple[int, ...] = Field(
        (), description="Exit statuses by which it says that it reached a limit of its own; what is left is scored."
    )

    @property
    def takes_model(self) -> bool:
        """Whether a model can be chosen."""
        return bool(self.model) or any("{model}" in text for text in self._texts)

    @property
    def needs_model(self) -> bool:
        """Whether one has to be chosen."""
        return any("{model}" in word for word in self.command)

    @property
    def project_words(self) -> Iterator[tuple[str, str]]:
        """Yield the field and the text of what stands from each `{project}` to the end of its word."""
        fields = {"command": self.command, "model": self.model, "environment": tuple(self.environment.values())}
        for field, words in fields.items():
            yield from ((field, found) for word in words for found in _OF_PROJECT.findall(word))

    @property
    def _texts(self) -> Iterator[str]:
        yield from (*self.command, *self.model, *self.environment.values(), *self.files.values())

    @model_validator(mode="after")
    def _fits_together(self) -> "AgentTable":
        """Refuse what does not go together."""
        if problem := next(self._problems(), ""):
            raise ValueError(problem)
        return self

    def _problems(self) -> Iterator[str]:
        texts = (*self.command, *self.model, *self.environment.values())
        for name in (found for text in texts for found in PLACEHOLDER.findall(text) if found not in _PLACEHOLDERS):
            near = get_close_matches(name, _PLACEHOLDERS, n=1, cutoff=0.5)
            hint = f"did you mean '{{{near[0]}}}'?" if near else f"known: {', '.join(_PLACEHOLDERS)}"
            yield f"unknown placeholder '{{{name}}}'; {hint}"
        for _, word in self.project_words:
            if ".." in word.split("/"):
                yield f"expected a file of the project without '..', found {word!r}"
        needs_turns = any("{turns}" in text for text in self._texts)
        if needs_turns and not self.turns:
            yield "expected turns of at least 1, found 0; {turns} stands in its files or command"
        if self.turns and not needs_turns:
            yield "expected {turns} in its command, environment or files, by which it keeps to turns, found none"
        rules = [name for name in ("tool", "result", "usage", "error") if getattr(self, name) is not None]
        if rules and self.answer is None:
            where = 'say where the words of the model stand, as in answer = { text = "result" }'
            yield f"expected answer beside {rules[0]}, found none; {where}"
        if self.result is not None and (self.tool is None or self.tool.id is None):
            yield "expected tool with an id beside result, by which they belong together; add it"


_OPENCODE: Final = AgentTable(
    command=("opencode", "run", "--format", "json", "--pure", "--auto", "--title", "task"),
    model=("--model", "{model}"),
    keys=("ANTHROPIC_API_KEY",),
    url=("https://api.anthropic.com/v1",),
    environment={
        "OPENCODE_CONFIG": "{config}/opencode.json",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    },
    files={
        "config/opencode.json": json.dumps(
            {
                "autoupdate": False,
                "share": "disabled",
                "snapshot": False,
                "permission": {"*": "allow"},
                "provider": {"anthropic": {"options": {"baseURL": "{url}", "apiKey": "{env:ANTHROPIC_API_KEY}"}}},
            }
        )
    },
    answer=AnswerRule(when={"type": "text"}, text="part.text"),
    tool=ToolRule(
        when={"type": "tool_use"},
        name="part.tool",
        input="part.state.input",
        result=("part.state.output", "part.state.error"),
        failed={"part.state.status": "error"},
    ),
    usage=UsageRule(
        when={"type": "step_finish"},
        input=("part.tokens.input", "part.tokens.cache.read", "part.tokens.cache.write"),
        cached=("part.tokens.cache.read",),
        output=("part.tokens.output", "part.tokens.reasoning"),
        usd="part.cost",
    ),
    error=ErrorRule(when={"type": "error"}, text="error.data.message", status="error.data.statusCode"),
)

_GEMINI: Final = AgentTable(
    command=("gemini", "--output-format", "stream-json", "--approval-mode", "yolo", "--skip-trust"),
    model=("--model", "{model}"),
    keys=("GEMINI_API_KEY",),
    url=("https://generativelanguage.googleapis.com",),
    environment={"GOOGLE_GEMINI_BASE_URL": "{url}"},
    files={
        ".gemini/settings.json": json.dumps(
            {
                "security": {"auth": {"selectedType": "gemini-api-key"}},
                "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 2},
                "privacy": {"usageStatisticsEnabled": False},
                "model": {"maxSessionTurns": "{turns}"},
            }
        ).replace('"{turns}"', "{turns}")
    },
    turns=30,
    answer=AnswerRule(when={"type": "message", "role": "assistant"}, text="content", joined=True),
    tool=ToolRule(when={"type": "tool_use"}, name="tool_name", input="parameters", id="tool_id"),
    result=ResultRule(
        when={"type": "tool_result"}, id="tool_id", text=("output", "error.message"), failed={"status": "error"}
    ),
    usage=UsageRule(
        when={"type": "result"}, input="stats.input_tokens", cached="stats.cached", output="stats.output_tokens"
    ),
    error=ErrorRule(when={"type": "result", "status": "error"}, text="error.message"),
    limit_statuses=(53,),
)

_COPILOT: Final = AgentTable(
    command=("copilot", "--output-format", "json", "--allow-all", "--no-ask-user", "--no-auto-update"),
    model=("--model", "{model}"),
    keys=("COPILOT_GITHUB_TOKEN", "COPILOT_PROVIDER_API_KEY"),
    url=("https://api.githubcopilot.com", "https://api.github.com"),
    environment={"COPILOT_AUTO_UPDATE": "false"},
    answer=AnswerRule(when={"type": "assistant.message"}, text="data.content"),
    tool=ToolRule(
        when={"type": "tool.execution_start"}, name="data.toolName", input="data.arguments", id="data.toolCallId"
    ),
    result=ResultRule(
        when={"type": "tool.execution_complete"},
        id="data.toolCallId",
        text=("data.result.content", "data.error.message"),
        failed={"data.success": False},
    ),
    error=ErrorRule(when={"type": "model.call_failure"}, text="data.errorMessage", status="data.statusCode"),
)

SHIPPED: Final = MappingProxyType({"copilot": _COPILOT, "gemini": _GEMINI, "opencode": _OPENCODE})
"""Name of the harness → table. A table of the same name in skillopt.toml replaces the fields that it has."""


RESERVED: Final = (*("claude-code", "codex", "chat", "handoff", "demo"), *("anthropic", "openai", "openai-compatible"))
"""Names that harnesses and models have that are built in."""

_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_KNOWN: Final = sorted(
    {
        name
        for part in (AgentTable, AnswerRule, ToolRule, ResultRule, UsageRule, ErrorRule)
        for name in part.model_fields
    }
)


def read_agent_tables(found: object, file: str) -> dict[str, AgentTable]:
    """Read the tables; one of a shipped agent has the fields that it does not name from there."""
    if not isinstance(found, Mapping) or not all(isinstance(table, Mapping) for table in found.values()):
        raise SettingsError(f"{file}: expected [agents.NAME] tables, found {found!r}")
    return {name: _read(name, table, f"{file}: [agents.{name}]") for name, table in found.items()}


def _read(name: str, values: Mapping[str, object], place: str) -> AgentTable:
    if name in RESERVED:
        raise SettingsError(f"{place} this name is built in; choose another one")
    if not _NAME.fullmatch(name):
        raise SettingsError(f"{place} expected a name of small letters, digits and hyphens; rename it")
    shipped = SHIPPED[name].model_dump(exclude_defaults=True) if name in SHIPPED else {}
    merged = {**shipped, **values}
    for key in ("environment", "files"):
        own = values.get(key)
        if isinstance(own, Mapping):
            merged[key] = {**shipped.get(key, {}), **own}
    try:
        return AgentTable.model_validate(merged)
    except ValidationError as error:
        # A field that is misspelt is missing, too, and its own name tells more.
        first = min(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
        named = {**first, "loc": [part for part in first["loc"] if isinstance(part, str)]}
        raise SettingsError(f"{place} {describe_field(named, 'field', _KNOWN).removeprefix('the file: ')}") from error


def find_agent_table(harness: str, own: Mapping[str, AgentTable]) -> AgentTable | None:
    """Find the table of a harness, the user's own first; None for a harness that has none."""
    kind = harness.partition("/")[0]
    return own.get(kind) or SHIPPED.get(kind)
