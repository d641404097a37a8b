"""The MCP server: which handler answers which method, with skills, tools and prompts put together.

Of an error only our own words reach a client. Built on the low-level server of the SDK because the resources come from
git, request by request. It is served on standard input and output.
"""

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio import to_thread
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.mcpserver.utilities.func_metadata import FuncMetadata, func_metadata
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
)
from mcp_types import Tool as ListedTool
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic.json_schema import GenerateJsonSchema

from skillopt import __version__
from skillopt.errors import SkilloptError, UsageError, describe_field
from skillopt.execution.installation import check_unchanged
from skillopt_mcp.prompts import PROMPTS, get_prompt
from skillopt_mcp.skills import CACHED_MS, EXTENSION, SETTINGS, SkillParams, SkillResources

if TYPE_CHECKING:
    from skillopt_mcp.tools import ToolDefinition


_MOST_TOLD: Final = 3  # mistakes: a model mends a few at a time


class _Untitled(GenerateJsonSchema):
    """Leaves out titles, which say what the names say and are paid for in every session."""

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - the base's signature
        return False


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


def strict_model(model: type[BaseModel]) -> type[BaseModel]:
    """Make of the arguments of a tool those that take no other ones."""
    return create_model(model.__name__, __base__=(model, _Strict))


def read_arguments(tool: str, model: type[BaseModel], given: Mapping[str, object]) -> BaseModel:
    """Read the arguments of a call; a name that is unknown inside of a list is compared with those of its objects."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        # What nobody knows comes first: a misspelt name is missing, too.
        mistakes = sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden")
        inside = model.model_json_schema().get("$defs", {}).values()
        known = [*model.model_fields, *(name for one in inside for name in one.get("properties", ()))]
        wrong = [
            describe_field(one, "argument", known if len(one["loc"]) > 1 else model.model_fields) for one in mistakes
        ]
        more = f"; {len(wrong) - _MOST_TOLD} more are wrong" if len(wrong) > _MOST_TOLD else ""
        raise UsageError(f"{tool} did nothing: {'; '.join(wrong[:_MOST_TOLD])}{more}") from error


_log = logging.getLogger(__name__)
_Context = ServerRequestContext[None, Any]
_META = {"anthropic/alwaysLoad": True}
_STATIC = CacheHint(ttl_ms=60 * 60 * 1000, scope="private")
_CHANGES = CacheHint(ttl_ms=CACHED_MS, scope="private")


def make_server(folder: Path) -> Server[None]:
    """Make the server of a project."""
    skills, tools = SkillResources(folder), _Tools(folder)
    server = Server[None](
        "skillopt",
        version=__version__,
        title="SkillOpt",
        instructions=files(__package__).joinpath("instructions.md").read_text(encoding="utf-8"),
        cache_hints={"tools/list": _STATIC, "prompts/list": _STATIC, "resources/list": _CHANGES},
        lifespan=partial(_running, tools),
        get_tool_input_schema=tools.schema,
        on_list_tools=tools.list,
        on_call_tool=tools.call,
        on_list_resources=skills.list_resources,
        on_read_resource=skills.read_resource,
        on_list_prompts=_list_prompts,
        on_get_prompt=_get_prompt,
    )
    server.extensions[EXTENSION] = SETTINGS
    server.middleware.append(_guard)
    server.add_request_handler("skills/list", PaginatedRequestParams, skills.list_skills)
    server.add_request_handler("skills/get", SkillParams, skills.get_skill)
    return server


class _Tools:
    """The tools, bound to the project's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._told: dict[str, int] = {}

    @cached_property
    def _tools(self) -> "Mapping[str, ToolDefinition]":
        """The tools by name. What they work with is imported while the handshake is made, and with them last."""
        from skillopt_mcp.tools import TOOLS  # noqa: PLC0415 - two thirds of what the server imports of its own

        return {tool.name: tool for tool in TOOLS}

    @cached_property
    def _arguments(self) -> Mapping[str, FuncMetadata]:
        """What each tool takes; the descriptions of its function's arguments make the schema."""
        return {
            name: func_metadata(tool.call, skip_names=["folder"], structured_output=False)
            for name, tool in self._tools.items()
        }

    @cached_property
    def _models(self) -> Mapping[str, type[BaseModel]]:
        return {name: strict_model(taken.arg_model) for name, taken in self._arguments.items()}

    @cached_property
    def _schemas(self) -> Mapping[str, dict[str, Any]]:
        made = {
            name: model.model_json_schema(by_alias=True, schema_generator=_Untitled)
            for name, model in self._models.items()
        }
        return {name: {key: part for key, part in one.items() if key != "title"} for name, one in made.items()}

    def schema(self, name: str) -> dict[str, Any] | None:
        """Return what a tool takes; the first request imports the tools, and others wait for that."""
        return self._schemas.get(name)

    async def list(self, _ctx: _Context, _params: PaginatedRequestParams | None) -> ListToolsResult:
        """Answer `tools/list`."""
        listed = [
            ListedTool(
                name=name,
                title=tool.title,
                description=tool.description,
                input_schema=self._schemas[name],
                annotations=tool.annotations,
                _meta=_META,
            )
            for name, tool in self._tools.items()
        ]
        return ListToolsResult(tools=listed)

    async def call(self, ctx: _Context, params: CallToolRequestParams) -> CallToolResult:
        """Answer `tools/call`; other calls are answered meanwhile."""
        if (tool := self._tools.get(params.name)) is None:
            raise MCPError(INVALID_PARAMS, f"expected one of {sorted(self._schemas)}, found {params.name[:80]!r}")
        try:
            if tool.annotations.open_world_hint:  # it starts a process, which loads what is installed now
                check_unchanged(__version__)
            arguments = self._arguments[tool.name]
            given = arguments.pre_parse_json(params.arguments or {})  # some clients send a list as text
            read = read_arguments(tool.name, self._models[tool.name], given)
            taken = {name: getattr(read, name) for name in type(read).model_fields}
            answer = await to_thread.run_sync(partial(tool.call, self._folder, **taken))
            if not isinstance(answer, str):
                answer = await tool.follow(answer, ctx.session.report_progress, self._told)
        except SkilloptError as error:
            return _told(str(error), is_error=True)
        return _told(answer)


def _told(text: str, *, is_error: bool = False) -> CallToolResult:
    """Return a text as an answer; JSON cannot carry all that git allows in the name of a file."""
    plain = text.encode("utf-8", "replace").decode("utf-8")
    return CallToolResult(content=[TextContent(text=plain)], is_error=is_error)


async def _guard(ctx: _Context, call_next: CallNext) -> HandlerResult:
    """Let nothing of an unforeseen error reach a client but that there was one."""
    try:
        return await call_next(ctx)
    except (MCPError, ValidationError):
        raise
    except SkilloptError as error:
        raise MCPError(INTERNAL_ERROR, str(error)) from error
    except Exception as error:
        _log.exception("the request %s failed", ctx.method)
        raise MCPError(INTERNAL_ERROR, "the server failed; its log on stderr says more") from error


@asynccontextmanager
async def _running(offered: _Tools, _: Server[None]) -> AsyncIterator[None]:
    """Load the tools while the handshake is made."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(partial(to_thread.run_sync, offered.schema, "", abandon_on_cancel=True))
        yield
        tasks.cancel_scope.cancel()


async def _list_prompts(_ctx: _Context, _params: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=list(PROMPTS))


async def _get_prompt(_: _Context, params: GetPromptRequestParams) -> GetPromptResult:
    return get_prompt(params.name, params.arguments or {})


async def serve_stdio(server: Server[None]) -> None:
    """Serve the process that started this one, until it closes the pipe."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
