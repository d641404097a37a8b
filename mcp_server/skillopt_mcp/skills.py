"""The Skills extension of MCP (SEP-2640): skills as resources.

The methods `skills/list` and `skills/get`, and the ordinary resource methods over the same files, for clients that do
not know the extension.
"""

from base64 import b64encode
from mimetypes import MimeTypes
from pathlib import Path
from typing import Any

from anyio import to_thread
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    BlobResourceContents,
    ListResourcesResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    RequestParams,
    Resource,
    TextResourceContents,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from skillopt.errors import UsageError
from skillopt.skills.folder import SKILL_FILE
from skillopt_mcp.catalogue import (
    Address,
    ServedFile,
    ServedSkill,
    read_address,
    served_page,
    served_skill,
    skill_address,
)

EXTENSION = "io.modelcontextprotocol/skills"
SETTINGS: dict[str, object] = {}
CACHED_MS = 60_000
"""How long a client may take a listing for current; it is notified when a version is accepted."""

_META = "io.github.skillopt/"
_FOREVER_MS = 24 * 60 * 60 * 1000  # a version never changes
_SKILLS_A_PAGE = 20
_SKILLS_READ = 100  # at once; those that the page has no room for are kept for the next one
_RESOURCES_A_PAGE = 200
_TYPES = MimeTypes(filenames=())
_TEXT_TYPES = {".md": "text/markdown", ".yaml": "application/yaml", ".yml": "application/yaml"}

_Context = ServerRequestContext[Any, Any]


class SkillParams(RequestParams):
    """Parameters of `skills/get`."""

    uri: str


class SkillResources:
    """Answers about the skills of a project."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def list_skills(self, ctx: _Context, params: PaginatedRequestParams) -> dict[str, object]:
        """Answer `skills/list`: what is served of every skill that hosts take for one."""
        first = _first_name(params.cursor)
        skills, following = await to_thread.run_sync(served_page, self._folder, first, _SKILLS_A_PAGE)
        more = {} if following is None else {"nextCursor": str(Address(following))}
        return {
            "skills": [_entry(skill, None) for skill in skills if not skill.problem],
            **more,
            **_cached(ctx, CACHED_MS),
        }

    async def get_skill(self, ctx: _Context, params: SkillParams) -> dict[str, object]:
        """Answer `skills/get`, for older versions too."""
        address = read_address(params.uri)
        skill = await self._found(address)
        if address is None or skill is None or skill.problem or address.path != SKILL_FILE:
            raise _unknown("skill", params.uri)
        return {"skill": _entry(skill, address.version), **_cached(ctx, _lifetime(address))}

    async def list_resources(self, _: _Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Answer `resources/list`: every file that is served, skill by skill."""
        cursor = params.cursor if params else None
        shown, more = await to_thread.run_sync(_some_resources, self._folder, cursor)
        return ListResourcesResult(resources=shown, next_cursor=more)

    async def read_resource(self, _: _Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Answer `resources/read`: a file's bytes, as text where they are text."""
        address = read_address(params.uri)
        skill = await self._found(address)
        found = (file for file in skill.files if _path(file) == address.path) if skill and address else iter(())
        file = next(found, None)
        if file is None or address is None:
            raise _unknown("resource", params.uri)
        return ReadResourceResult(contents=[_contents(params.uri, file)], ttl_ms=_lifetime(address))

    async def _found(self, address: Address | None) -> ServedSkill | None:
        if address is None:
            return None
        try:
            return await to_thread.run_sync(served_skill, self._folder, address.skill, address.version)
        except UsageError:
            return None


def _some_resources(folder: Path, cursor: str | None) -> tuple[list[Resource], str | None]:
    """Return a page of resources, and the address of the first one of the next page."""
    found: list[Resource] = []
    name: str | None = _first_name(cursor)
    while name is not None and len(found) <= _RESOURCES_A_PAGE:
        skills, name = served_page(folder, name, _SKILLS_READ)
        for skill in skills:
            own = sorted((_resource(skill, file, None) for file in skill.files), key=lambda resource: resource.uri)
            found += [each for each in own if _comes_after(skill.name, each.uri, cursor)]
    shown = found[:_RESOURCES_A_PAGE]
    return shown, found[_RESOURCES_A_PAGE].uri if len(found) > len(shown) else None


def _comes_after(name: str, uri: str, cursor: str | None) -> bool:
    """Return whether a file belongs to a page: of the skill with which it begins, a part may be on the page before."""
    return not cursor or name != _first_name(cursor) or uri >= cursor


def _unknown(kind: str, uri: str) -> MCPError:
    shown = uri if len(uri) <= 200 else f"{uri[:200]}…"  # noqa: PLR2004 - enough to recognize it by
    return MCPError(INVALID_PARAMS, f"no {kind} is served at {shown!r}", {"uri": shown})


def _cached(ctx: _Context, milliseconds: int) -> dict[str, object]:
    """Return the cache hints, which older protocol versions do not know."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return {}
    return {"ttlMs": milliseconds, "cacheScope": "private"}


def _lifetime(address: Address) -> int:
    return _FOREVER_MS if address.version else CACHED_MS


def _entry(skill: ServedSkill, version: str | None) -> dict[str, object]:
    resources = [
        {"uri": str(skill_address(skill.name, file.path, version)), "digest": file.digest, "size": len(file.content)}
        for file in skill.files
    ]
    uri = str(skill_address(skill.name, SKILL_FILE, version))
    return {"uri": uri, "frontmatter": skill.frontmatter, "resources": resources}


def _resource(skill: ServedSkill, file: ServedFile, version: str | None) -> Resource:
    main = file.path == SKILL_FILE
    return Resource(
        uri=str(skill_address(skill.name, file.path, version)),
        name=skill.name if main else _readable(file.path.rpartition("/")[2]),
        description=skill.description if main else None,
        mime_type=_type(file),
        size=len(file.content),
        _meta={f"{_META}digest": file.digest, f"{_META}version": skill.version, f"{_META}trained": skill.trained},
    )


def _path(file: ServedFile) -> str:
    """Write a file's path as its URI does."""
    return skill_address("", file.path).path


def _readable(name: str) -> str:
    """Return a file's name as text; git allows any bytes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _contents(uri: str, file: ServedFile) -> TextResourceContents | BlobResourceContents:
    text = _text(file)
    if text is None:
        return BlobResourceContents(uri=uri, mime_type=_type(file), blob=b64encode(file.content).decode("ascii"))
    return TextResourceContents(uri=uri, mime_type=_type(file), text=text)


def _text(file: ServedFile) -> str | None:
    """Return a file as text when its bytes come back the same from it."""
    try:
        text = file.content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _type(file: ServedFile) -> str:
    suffix = Path(file.path).suffix.lower()
    guessed = _TEXT_TYPES.get(suffix) or _TYPES.guess_type(f"file{suffix}")[0]
    return guessed or ("application/octet-stream" if _text(file) is None else "text/plain")


def _first_name(cursor: str | None) -> str:
    """Read a cursor, which is an address in the first skill of the page."""
    address = read_address(cursor) if cursor is not None else Address("")
    if address is None:
        raise MCPError(INVALID_PARAMS, "expected a cursor that an earlier answer gave; begin again without one")
    return address.skill
