"""MCP transports: standard input and output, and HTTP on this machine alone.

An HTTP request is checked for its host and origin (by the SDK), so that no web page reaches the server through a
browser, and for a token, so that no other user of the machine does.
"""

import socket
import sys
from hmac import compare_digest

import uvicorn
from mcp.server.stdio import stdio_server
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from skillopt_mcp.server import SkillServer

__all__ = ["TokenCheck", "serve_http", "serve_stdio"]

_HOST = "127.0.0.1"


class TokenCheck:
    """Refuses requests that do not carry the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        given = Headers(scope=scope).get("authorization", "") if scope["type"] == "http" else None
        if given is None or compare_digest(given.encode("latin-1"), self._expected):
            await self._app(scope, receive, send)
            return
        refused = PlainTextResponse("expected the server's token", 401, {"WWW-Authenticate": "Bearer"})
        await refused(scope, receive, send)


async def serve_stdio(server: SkillServer) -> None:
    """Serve the process that started this one, until it closes the pipe."""
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def serve_http(server: SkillServer, port: int, token: str) -> None:
    """Serve this machine until the process is stopped."""
    app = server.streamable_http_app(host=_HOST)
    app.user_middleware.insert(0, Middleware(TokenCheck, token))
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((_HOST, port))
        listener.listen()
        sys.stderr.write(f"serving http://{_HOST}:{listener.getsockname()[1]}/mcp\n")
        sys.stderr.flush()
        config = uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=2)
        await uvicorn.Server(config).serve(sockets=[listener])
