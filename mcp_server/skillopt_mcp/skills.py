"""The Skills extension of MCP (SEP-2640): skills as resources.

The methods `skills/list` and `skills/get`, and the ordinary resource methods over the same files, for clients that do
not know the extension.
"""

from base64 import b64encode
from hashlib import sha256
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
from skillopt.tasks import File
from skillopt_mcp.catalogue import (
    Address,
    ServedSkill,
    catalogue_of,
    read_address,
    served_page,
    short,
    skill_address,
)

EXTENSION = "io.modelcontextprotocol/skills"
SETTINGS: dict[str, object] = {}
CACHED_MS = 60_000
"""How long a client may take a listing for current: nobody is told when a version is accepted."""

_META = "io.github.skillopt/"
_SKILLS_A_PAGE = 20  # some 5,000 tokens where a skill has a few files
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
            "skills": [_entry(skill) for skill in skills if not skill.problem],
            **more,
            **_cached(ctx),
        }

    async def get_skill(self, ctx: _Context, params: SkillParams) -> dict[str, object]:
        """Answer `skills/get`."""
        address = read_address(params.uri)
        skill = await self._found(address)
        if address is None or skill is None or skill.problem or address.path != SKILL_FILE:
            raise _unknown("skill", params.uri)
        return {"skill": _entry(skill), **_cached(ctx)}

    async def list_resources(self, _: _Context, params: PaginatedRequestParams | None) -> ListResourcesResult:
        """Answer `resources/list`: every file that is served, so many skills on a page."""
        first = _first_name(params.cursor if params else None)
        skills, following = await to_thread.run_sync(served_page, self._folder, first, _SKILLS_A_PAGE)
        return ListResourcesResult(
            resources=[_resource(skill, file) for skill in skills for file in skill.files],
            next_cursor=None if following is None else str(Address(following)),
        )

    async def read_resource(self, _: _Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        """Answer `resources/read`: a file's bytes, as text where they are text."""
        address = read_address(params.uri)
        skill = await self._found(address)
        files = skill.files if skill else ()
        file = next((file for file in files if address and skill_address("", file.path).path == address.path), None)
        if file is None or address is None:
            raise _unknown("resource", params.uri)
        kind, text = _type(file), _text(file)
        content = (
            BlobResourceContents(uri=params.uri, mime_type=kind, blob=b64encode(file.content).decode("ascii"))
            if text is None
            else TextResourceContents(uri=params.uri, mime_type=kind, text=text)
        )
        return ReadResourceResult(contents=[content], ttl_ms=CACHED_MS)

    async def _found(self, address: Address | None) -> ServedSkill | None:
        if address is None:
            return None
        try:
            return await to_thread.run_sync(lambda: catalogue_of(self._folder).newest(address.skill))
        except UsageError:
            return None


def _unknown(kind: str, uri: str) -> MCPError:
    return MCPError(INVALID_PARAMS, f"no {kind} is served at {short(uri)}", {"uri": uri[:200]})


def _cached(ctx: _Context) -> dict[str, object]:
    """Return the cache hints, which older protocol versions do not know."""
    if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return {}
    return {"ttlMs": CACHED_MS, "cacheScope": "private"}


def _entry(skill: ServedSkill) -> dict[str, object]:
    resources = [
        {"uri": str(skill_address(skill.name, file.path)), "digest": _digest(file), "size": len(file.content)}
        for file in skill.files
    ]
    uri = str(skill_address(skill.name, SKILL_FILE))
    return {"uri": uri, "frontmatter": skill.frontmatter, "resources": resources}


def _resource(skill: ServedSkill, file: File) -> Resource:
    main, name = file.path == SKILL_FILE, file.path.rpartition("/")[2]
    return Resource(
        uri=str(skill_address(skill.name, file.path)),
        # git allows any bytes in a name
        name=skill.name if main else name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"),
        description=skill.description if main else None,
        mime_type=_type(file),
        size=len(file.content),
        _meta={f"{_META}digest": _digest(file), f"{_META}version": skill.version, f"{_META}trained": skill.trained},
    )


def _digest(file: File) -> str:
    return f"sha256:{sha256(file.content).hexdigest()}"


def _text(file: File) -> str | None:
    """Return a file as text when its bytes come back the same from it."""
    try:
        text = file.content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _type(file: File) -> str:
    suffix = Path(file.path).suffix.lower()
    guessed = _TEXT_TYPES.get(suffix) or _TYPES.guess_type(f"file{suffix}")[0]
    return guessed or ("application/octet-stream" if _text(file) is None else "text/plain")


def _first_name(cursor: str | None) -> str:
    """Read a cursor, which is an address in the first skill of the page."""
    address = read_address(cursor) if cursor is not None else Address("")
    if address is None:
        raise MCPError(INVALID_PARAMS, "expected a cursor that an earlier answer gave; begin again without one")
    return address.skill
